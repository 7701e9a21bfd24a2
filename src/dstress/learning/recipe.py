"""A recipe: what learns, from what, and how. A training can be repeated from it, its seed and its data.

about = "one line that says what it is"
family = "copy"                       # a tracker that learns
train = "mwz21-trade:train"
dev = "mwz21-trade:dev"               # what the best checkpoint is chosen by
start = "prefinetuned"                # left out: from scratch, or from what the family has

[augment]                             # left out: the training data as they are
stressor = "values(dictionary=train-O)"

[model]                               # the family's own settings
width = 400

[training]                            # see TrainingOptions
epochs = 20
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from dstress.errors import SpecError, unknown
from dstress.text.tables import read_table, read_table_file

_RECIPES = f"{__package__}.recipes"
_HOW = "docs/training.md shows what a recipe may say"
LOWER_IS_BETTER = ("loss", "perplexity")

Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
ProperShare = Annotated[float, Meta(ge=0, lt=1)]
"""A share that leaves something over."""


class AdversarialOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far adversarial training moves the embeddings of what is read, and what the loss there counts."""

    epsilon: Positive = 0.05
    """The radius of the ball around an embedding that it stays in, as a share of its length."""
    step: Positive = 0.03
    """How far one step goes, as a share of the same."""
    steps: Count = 2
    weight: Annotated[float, Meta(ge=0)] = 1.0
    """What the loss of the moved embeddings counts beside that of those that were read."""


class TrainingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to train, whatever it is that learns."""

    epochs: Count = 10
    batch: Count = 32
    """Examples of a batch, at most."""
    tokens: Natural = 0
    """Tokens of a batch with its padding, at most; 0: as many as there are."""
    accumulate: Count = 1
    """Batches of a step."""
    rate: Positive = 1e-3
    warmup: ProperShare = 0.05
    """The share of all steps in which the rate rises."""
    decay: Literal["cosine", "linear", "none"] = "cosine"
    weight_decay: Annotated[float, Meta(ge=0)] = 0.0
    clip: Positive = 1.0
    """The norm of the gradients, at most."""
    average: ProperShare = 0.0
    """Weights are averaged over steps, the newest with one minus this; 0: no average."""
    precision: Literal["bf16", "fp32"] = "bf16"
    """On a GPU; a CPU always computes in full."""
    metric: str = "jga"
    """What the best checkpoint is chosen by."""
    convention: str = "exact"
    evaluate_every: Natural = 0
    """Steps between evaluations; 0: one after each epoch."""
    evaluate_on: Natural = 0
    """Dialogues of the development data, drawn by the seed; 0: all."""
    patience: Natural = 0
    """Evaluations without a better one after which it ends; 0: it never does."""
    keep_every: Natural = 0
    """Of so many evaluations one leaves its checkpoint for good; 0: only the best and the last stay."""
    log_every: Count = 20
    """Steps between lines of the log."""
    compile: bool = False
    """Whether layers are compiled first, which takes a while and pays in long trainings."""
    seed: Natural = 1
    adversarial: AdversarialOptions | msgspec.UnsetType = msgspec.UNSET
    """Adversarial training; left out: none."""


class AugmentOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is added to the training data: stressed versions of their dialogues, as `dstress augment` makes them."""

    stressor: str | tuple[str, ...]
    """One, or several, each of which makes versions of its own."""
    times: Count = 1
    """Versions of each stressor, each with a seed of its own."""
    seed: Natural = 1
    """Of the first version; the next count up."""
    keep_out: str = "O"
    """The dictionary of the tests, of which no value may come in; `none` lets everything in."""

    @property
    def stressors(self) -> tuple[str, ...]:
        """All of them."""
        return (self.stressor,) if isinstance(self.stressor, str) else self.stressor


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What learns, from what, and how."""

    family: str
    train: str
    dev: str
    about: str = ""
    start: str = ""
    """A checkpoint of the family to go on from, with all that it knows; `model` then says nothing."""
    prefinetune: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Tasks that are learned in place of tracking: those that the corpora give, by name, or task files."""
    augment: AugmentOptions | msgspec.UnsetType = msgspec.UNSET
    model: dict[str, Any] = {}
    training: TrainingOptions = TrainingOptions()


def read_recipe(name: str, settings: Sequence[str] = ()) -> Recipe:
    """A recipe by its name, or from a TOML file of your own; `training.epochs=2` changes a setting."""
    path = Path(name)
    if path.suffix == ".toml":
        table, where = read_table_file(path, "recipe"), name
    elif name in (names := list(recipe_names())):
        table, where = deepcopy(read_table(_RECIPES, f"{name}.toml")), f"{name}.toml"  # settings change it
    else:
        raise unknown("recipe", name, names, fix=f"or give the path of a TOML file; {_HOW}")
    for setting in settings:
        key, is_set, value = setting.partition("=")
        *tables, last = key.split(".")
        place = table
        for part in tables:
            place = place.setdefault(part, {})
        if not is_set or not isinstance(place, dict):
            raise SpecError(f"{setting!r} is no setting", where="--set", fix="write it as training.epochs=2")
        place[last] = value
    return read_settings(table, Recipe, where)


S = TypeVar("S", bound=msgspec.Struct)


def read_settings(table: Mapping[str, Any], kind: type[S], where: str) -> S:
    """Settings as what they are; one that is not known, or does not fit, is named."""
    if wrong := next((key for key in table if key not in kind.__struct_fields__), None):
        raise unknown("setting", wrong, kind.__struct_fields__, where=where, fix=_HOW)
    for field in msgspec.structs.fields(kind):
        for part in (field.type, *get_args(field.type)):
            if (
                isinstance(table.get(field.name), Mapping)
                and isinstance(part, type)
                and issubclass(part, msgspec.Struct)
            ):
                read_settings(table[field.name], part, f"{where}, [{field.name}]")
    try:
        settings = msgspec.convert(table, kind, strict=False)  # what --set says is text
    except msgspec.ValidationError as error:
        raise SpecError(str(error), where=where, fix=_HOW) from None
    for name, value in msgspec.structs.asdict(settings).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"{name} = {value}: not a finite number", where=where, fix=_HOW)
    return settings


def recipe_names() -> Iterator[str]:
    """The recipes that come with dstress."""
    parts = (part.name for part in files(_RECIPES).iterdir())
    return (name.removesuffix(".toml") for name in sorted(parts) if name.endswith(".toml"))
