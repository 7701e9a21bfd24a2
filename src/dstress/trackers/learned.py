"""The contract of a tracker that learns: one model class, which the loop trains and the tracker calls.

The tracker has no torch in it, so that the family can be listed without (the built-in ones are in `families.py`):

    class Copy(LearnedTracker):
        \"\"\"TRADE: one line that `dstress list` shows.\"\"\"

        family = "copy"
        model = "dstress.trackers.copy.model:CopyModel"

Another module holds the `Model`, with its network; `Model` says below what it must do, and `dstress.learning` does the
rest. A line in `trackers/__init__.py` and a recipe in `learning/recipes/` make it a tracker that can be trained.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from dstress.dialogue import Dialogue, Schema, first_forms
from dstress.errors import DstressError, SpecError
from dstress.learning.base import Learner
from dstress.learning.checkpoints import NOTES, WEIGHTS, find_checkpoint, load_weights, read_notes
from dstress.learning.devices import choose_device, require_torch
from dstress.learning.lessons import Lesson
from dstress.learning.pretrained import Pretrained
from dstress.learning.recipe import read_settings
from dstress.resources import Material, Resources
from dstress.storage.source_hash import hash_source
from dstress.text.placeholders import delexicalise_by_spans
from dstress.trackers.base import Answer, Context, Tracker


class Model(Learner):
    """A family's network with all that it knows: made for a corpus or from a checkpoint, trained, asked.

    Beside these methods it has those of a `Learner`: `module`, `collate`, `loss`, `embed`, and where wanted
    `parameter_groups`.
    """

    options_type: ClassVar[type[msgspec.Struct]]
    """The settings of a recipe's `[model]`, each with a default; a frozen struct."""

    knowledge_type: ClassVar[type[msgspec.Struct]]
    """What makes it again beside its weights, and the argument of its constructor; for `save` and `restore` below."""

    varies: ClassVar[bool] = False
    """Whether the examples of one epoch are not those of the next."""

    reads_schema: ClassVar[bool] = False
    """Whether it asks only for slots of the dialogue's services, by their names: one that has slots of its own cannot
    learn from a schema in other words."""

    knowledge: msgspec.Struct

    def __init__(self, knowledge: Any, *parts: Any) -> None:
        self.knowledge = knowledge

    @classmethod
    @abstractmethod
    def create(cls, options: Any, train: Material) -> Self:
        """A fresh one for a corpus; torch is seeded."""

    def save(self, folder: Path) -> dict[str, Any]:
        """What makes it again, as plain data; files (of a tokenizer ...) go into `folder`. Weights are kept for it."""
        saved: dict[str, Any] = msgspec.to_builtins(self.knowledge)
        return saved

    @classmethod
    def restore(cls, saved: Mapping[str, Any], folder: Path) -> Self:
        """Make it again from what `save` gave and wrote; the weights are put in afterwards."""
        return cls(read_settings(saved, cls.knowledge_type, str(folder)))

    @abstractmethod
    def examples(self, train: Material, random: Random) -> Sequence[Any]:
        """What there is to learn in an epoch, each with a `name` and a `length`; `labelled_turns` has the turns."""

    def learn(self, lessons: Sequence[Lesson]) -> Sequence[Any]:
        """Examples of tasks other than tracking, for a family that reads and writes any text."""
        raise SpecError(
            "this family writes no texts, and so learns nothing from other tasks",
            fix="leave `prefinetune` out, or train causal or seq2seq",
        )

    @abstractmethod
    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """An answer for each context, whatever else is in the batch, with `module` ready to track."""

    def connect(self, corpus: Iterable[Dialogue]) -> None:
        """Take what a corpus has beside its dialogues, such as its database, before any of its turns is tracked."""
        return

    def ready(self) -> None:
        """Make the module ready to track: in double precision, in which no answer hangs on what else is in the batch.

        A family for which that is too slow says something else here, and sees to it that answers stay the same.
        """
        self.module.double().eval()

    def check(self, schema: Schema) -> None:
        """Raise a DstressError where it was trained for something else than this corpus."""
        return


class PretrainedModel(Model):
    """A model around a tokenizer and a network of transformers: `Kind(knowledge, backbone)`."""

    backbone_type: ClassVar[type[Pretrained]] = Pretrained
    auto: ClassVar[str] = "AutoModel"
    """The class of transformers that reads a checkpoint of its kind."""

    backbone: Any

    def save(self, folder: Path) -> dict[str, Any]:
        """Its knowledge; the tokenizer and the network's configuration as files."""
        self.backbone.save(folder)
        return super().save(folder)

    @classmethod
    def restore(cls, saved: Mapping[str, Any], folder: Path) -> Self:
        """The checkpoint that it began with is not needed again."""
        knowledge = read_settings(saved, cls.knowledge_type, str(folder))
        return cls(knowledge, cls.backbone_type.remake(folder, cls.auto))


class LabelledTurn(NamedTuple):
    """A turn as a tracker sees it, and what is right: one value for each slot, and the system's answer.

    The answer has placeholders where the corpus knows the spans of values; it is empty where there is none.
    """

    context: Context
    state: dict[str, str]
    reply: str = ""

    @property
    def name(self) -> str:
        """Where it is, for messages."""
        return f"dialogue {self.context.dialogue}, turn {self.context.turn}"


def labelled_turns(corpus: Material) -> Iterator[LabelledTurn]:
    """Every turn of a corpus, with the gold state before it as the previous answer."""
    for dialogue in corpus:
        yield from label_turns(dialogue, corpus.schema)


def label_turns(dialogue: Dialogue, schema: Schema) -> Iterator[LabelledTurn]:
    """Every turn of a dialogue, likewise."""
    before: dict[str, str] = {}
    answers = zip(dialogue.responses, dialogue.response_frames, strict=True)
    for number, (turn, (said, frames)) in enumerate(zip(dialogue.turns, answers, strict=True)):
        # What the system said next does not answer a turn that was put in from elsewhere.
        reply = "" if turn.ood else delexicalise_by_spans(said, frames)
        yield LabelledTurn(Context(dialogue, number, schema, before), first_forms(turn.state), reply)
        before = first_forms(turn.remembered.state)


def require_some_slots(slots: Sequence[str], schema: Schema) -> None:
    """For families with slots of their own: refuse to track a corpus that has none of them."""
    if not set(slots) & set(schema.slots):
        raise DstressError(
            f"it was trained for another corpus: it knows {', '.join(slots[:3])} ..., and no slot of this one",
            fix="train one on this corpus: dstress train RECIPE --out DIR",
        )


def require_all_slots(slots: Collection[str], schema: Schema) -> None:
    """For the same families: refuse to go on learning from a corpus that has others."""
    if strange := next((slot for slot in schema.slots if slot not in slots), None):
        problem = f"the checkpoint to start from has no slot {strange!r}, which the training data have"
        raise DstressError(problem, fix="leave out `start`, or train on data with the slots that it knows")


def batch_by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """The places of inputs, of about one length together, so that a batch has at most `most` tokens with its padding.

    Those of the most tokens come first: where memory does not do, that is known at once.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        size = max(1, most // lengths[order[-1]])
        yield order[-size:]
        del order[-size:]


class LearnedTracker(Tracker):
    """A trained network, in the folder `path` that `dstress train` wrote or a checkpoint in it.

    `device` is torch's name for where it runs; by default a GPU where there is one.
    """

    family: ClassVar[str]
    """Its name in the registry, in recipes and in checkpoints."""
    model: ClassVar[str]
    """The family's model, `module:Class`."""
    needs: ClassVar[tuple[str, ...]] = ("models",)
    batch = 64
    gpu_batch: ClassVar[int] = 512
    """How many contexts it likes at once on a GPU."""

    def __init__(self, path: Path, device: str = "", batch: int = 0) -> None:
        self.path, self.device = path, device
        self.batch = batch or self.batch_on(device)
        self._model: Model | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Weights stay behind when it is sent to another process, and are read again there."""
        return {**self.__dict__, "_model": None}

    @classmethod
    def batch_on(cls, device: str) -> int:
        """How many contexts it likes at once."""
        return cls.gpu_batch if device.startswith("cuda") else cls.batch

    @classmethod
    def model_class(cls) -> type[Model]:
        """The family's model, which needs torch."""
        require_torch(f"the tracker {cls.family}")
        module, _, name = cls.model.partition(":")
        kind: type[Model] = getattr(importlib.import_module(module), name)
        return kind

    @classmethod
    def load_model(cls, path: Path, schema: Schema) -> Model:
        """The model of a checkpoint, if it was trained for such a corpus."""
        kind, folder = cls.model_class(), find_checkpoint(path)
        notes = read_notes(folder, cls.family)
        try:
            model = kind.restore(notes["model"], folder)
        except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
            raise DstressError(f"{NOTES} cannot be read: {error}", where=str(folder)) from error
        load_weights(model.module, folder)
        try:
            model.check(schema)
        except DstressError as error:
            error.where = error.where or f"{folder} (trained on {notes['corpus']})"
            raise
        return model

    def check(self, variants: Sequence[str]) -> None:
        """Whether there is a checkpoint of this family, before any work."""
        read_notes(find_checkpoint(self.path), self.family)

    def prepare(self, resources: Resources) -> None:
        """Read the checkpoint."""
        super().prepare(resources)
        self._model = self.load_model(self.path, resources.schema)
        self._model.connect(resources.corpus)
        self._model.module.to(choose_device(self.device))
        self._model.ready()

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The network's answers; where memory does not do for all at once, in halves."""
        import torch

        if self._model is None:
            raise DstressError("the tracker has not been prepared")
        try:
            with torch.inference_mode():
                return self._model.track(contexts)
        except torch.OutOfMemoryError:
            if len(contexts) < 2:
                raise
        half = len(contexts) // 2
        warnings.warn(f"out of memory with {len(contexts)} turns at once; tracking {half} at a time", stacklevel=2)
        torch.cuda.empty_cache()
        return [*self.track(contexts[:half]), *self.track(contexts[half:])]

    def fingerprint(self) -> str:
        """The spec, the source of the family, and the checkpoint."""
        digest = hashlib.sha256(super().fingerprint().encode())
        if (folder := find_checkpoint(self.path)).is_dir():
            digest.update(hash_source(self.model_class()).encode())
            for name in (NOTES, WEIGHTS):
                digest.update((folder / name).read_bytes() if (folder / name).is_file() else b"")
        return digest.hexdigest()[:16]
