"""The contract of a tracker: contexts in, states out, many at a time.

A context is all that a tracker may see of a turn: the schema, what was said before, and the current exchange. Any
class with `track` is a tracker; `dstress run --tracker my_module:MyTracker` finds it where Python does.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from dstress.dialogue import Dialogue, Schema, Tool, Turn
from dstress.interactive import encode_plain
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.storage.source_hash import hash_source
from dstress.text.placeholders import delexicalise_by_spans


class Exchange(NamedTuple):
    """What the system said (nothing at the start), and what the user answered."""

    system: str
    user: str


class Context:
    """One turn to track. A tracker that is `sequential` finds its own previous answer in `previous`.

    The history is the one that the turn follows on: under a stressor of single turns, the original words.
    """

    __slots__ = ("_dialogue", "previous", "schema", "turn")

    def __init__(
        self, dialogue: Dialogue, turn: int, schema: Schema, previous: Mapping[str, str] | None = None
    ) -> None:
        self._dialogue, self.turn, self.schema, self.previous = dialogue, turn, schema, previous

    @property
    def dialogue(self) -> str:
        """The dialogue's id."""
        return self._dialogue.id

    @property
    def system(self) -> str:
        """What the system said just before the user."""
        return self.gold.system

    @property
    def user(self) -> str:
        """The user's words to track."""
        return self.gold.user

    @property
    def history(self) -> list[Exchange]:
        """The exchanges before this one, the first first."""
        remembered = (turn.remembered for turn in self._dialogue.turns[: self.turn])
        return [Exchange(turn.system, turn.user) for turn in remembered]

    @property
    def exchanges(self) -> list[Exchange]:
        """The history and the exchange at hand, the first first."""
        return [*self.history, Exchange(self.system, self.user)]

    @property
    def services(self) -> tuple[str, ...]:
        """The services that the dialogue is about; empty where the corpus does not say. SGD gives them to trackers."""
        return self._dialogue.services

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that may be called; none where the corpus is not about calls."""
        return self._dialogue.tools

    @property
    def gold(self) -> Turn:
        """The turn with its labels: for fakes such as `gold` only. A tracker that looks here measures nothing."""
        return self._dialogue.turns[self.turn]

    @property
    def gold_response(self) -> tuple[str, tuple[str, ...]]:
        """What the corpus's system answers, with placeholders for values, and the services of it: for fakes only.

        An answer that names none, such as a plain "Booked.", is about what was spoken of last.
        """
        so_far = self._dialogue.first(self.turn + 1)
        spoken = [so_far.closing_frames]
        for turn in reversed(so_far.turns):
            spoken += [turn.frames, turn.system_frames]
        named = ([frame.service for frame in frames if frame.acts] for frames in spoken)
        services = (tuple(name for name in dict.fromkeys(names) if name in self.schema.by_name) for names in named)
        return delexicalise_by_spans(so_far.closing, so_far.closing_frames), next(filter(None, services), ())


class Failed(NamedTuple):
    """An answer that did not come, or could not be read. It is recorded, counted, and asked for again by `--resume`."""

    reason: str


Answer = Mapping[str, str] | Prediction | Failed
"""A state (slot id -> value), or a whole prediction with intents, requested slots or a response."""


class Tracker(ABC):
    """What a tracker declares. Constructor arguments become arguments of its spec."""

    sequential: bool = False
    """Whether it needs its own previous answer; turns of a dialogue are then tracked one after the other."""

    batch: int = 64
    """How many contexts it likes at once."""

    priced: bool = False
    """Whether answers cost money; `usage` then has `turns`, `requests`, `cached`, `tokens_in`, `tokens_out`, `cost`."""

    needs: ClassVar[tuple[str, ...]] = ()
    spec: str = ""
    """The text that makes it again."""

    schema: Schema = Schema()
    _made_with: str = ""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Remember what it was made with, as text: of a tracker that was made in Python no spec tells."""
        tracker = super().__new__(cls)
        tracker._made_with = " ".join(map(encode_plain, (*args, *sorted(options.items()))))
        return tracker

    def check(self, variants: Sequence[str]) -> None:
        """Raise a DstressError where it cannot answer one of these variants of a corpus; asked before any work."""
        return

    def check_corpus(self, resources: Resources) -> None:
        """Raise a DstressError where it cannot answer a variant's text; called for each before any turn is tracked."""
        return

    def prepare(self, resources: Resources) -> None:
        """Check needs and load what is to be loaded, once in each process, before any work."""
        self.schema = resources.schema

    @abstractmethod
    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """An answer for each context, in order."""

    def fingerprint(self) -> str:
        """What its answers depend on, hashed: a run never mixes the answers of two different trackers.

        Here the spec (or what the constructor was given, where that is plain data), the source of the class's module or
        cell and of the local modules that it imports, and their tables; a tracker with weights adds theirs.
        """
        return hashlib.sha256(f"{self.spec or self._made_with}\0{hash_source(type(self))}".encode()).hexdigest()[:16]

    def reads(self, train: str) -> tuple[str, ...]:
        """The other corpora that it learns from; `train` is the training split of the one at hand, if it has one.

        Their content is a part of what a run's answers depend on.
        """
        return ()

    def usage(self) -> dict[str, float]:
        """What its answers cost since the last call, such as tokens; added up over the run."""
        return {}

    def close(self) -> None:
        """Let go of processes and connections."""
        return


class StreamingTracker(Tracker, ABC):
    """A tracker whose answers come one by one, as a server gives them: each is recorded when it has come."""

    @abstractmethod
    def track_each(self, contexts: Sequence[Context]) -> Iterator[tuple[int, Answer]]:
        """The answers as they come, each with the place of its context."""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """An answer for each context, in order."""
        answers = dict(self.track_each(contexts))
        return [answers[place] for place in range(len(contexts))]
