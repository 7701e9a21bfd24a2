"""The contract of a prediction format: recognise a file by its shape, read it, and perhaps write it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import msgspec

from dstress.dialogue import Call, Schema, Span, State
from dstress.errors import PredictionError
from dstress.storage.sources import Source


class FramePrediction(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a tracker says of one service beside the state: DSTC8's other three tasks. None is "it does not say"."""

    service: str
    intent: str | None = None
    requested: tuple[str, ...] | None = None
    spans: tuple[Span, ...] | None = None


class Prediction(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A tracker's answer for one turn. As JSON, one a line, this is the dstress format.

    `state` is cumulative, slot id -> value. `turn` counts user turns from 0. `gold` is there when the file carries
    its own gold state. `utterance` is the user's, where the file has it. `stateless` says that the system tracks no
    state at all, which is not the same as an empty one: response metrics then fall back on gold. `domains` are those
    that the response is about. `informed` are slots whose value was taken over from the system's words or from
    another slot, with the turn of it: TripPy's script looks at that turn's gold. `context` is all that was said, where
    the file has it (CheckDST). `failed` says why the tracker gave no answer; its empty state then counts as wrong.
    `listed` are the slots that the file's gold state names, with or without a value (ConvLab); `emptied` those that the
    prediction says `none` of, which GCA counts as a change. `services` are those that the state names without a slot
    (mwzeval): to them, everything fits. `calls` are the tools that are called, none where the model calls nothing;
    `unparsed` says why no call could be read from an answer that tries to make one. `underscored` says whether the
    model was shown tool names with underscores in place of dots; where it is not known, either spelling will do.
    """

    dialogue: str
    turn: int
    state: dict[str, str]
    frames: tuple[FramePrediction, ...] = ()
    intent: str | None = None
    requested: tuple[str, ...] | None = None
    response: str | None = None
    ood: bool | None = None
    gold: State | None = None
    utterance: str | None = None
    stateless: bool = False
    domains: tuple[str, ...] | None = None
    informed: dict[str, int] = {}
    context: str | None = None
    failed: str = ""
    listed: tuple[str, ...] | None = None
    emptied: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    calls: tuple[Call, ...] | None = None
    unparsed: str = ""
    underscored: bool | None = None


class Format(ABC):
    """One layout of prediction files.

    Slots come out as the schema spells them (`text.slot_names.SlotNames`), dialogue ids as the file spells them but
    without a `.json` at the end. Whatever is wrong with a file raises a PredictionError with file, dialogue and turn.
    """

    name: ClassVar[str]
    carries_gold: ClassVar[bool] = False
    """The file holds gold states too, so it can be scored with nothing else."""

    convention: ClassVar[str] = "exact"
    """The convention of the script that reads such files, taken where none is asked for."""

    @classmethod
    @abstractmethod
    def matches(cls, source: Source) -> bool:
        """Whether the source has this format's shape. Cheap, and never raises on other shapes."""

    def choose(self, source: Source, split: str) -> None:
        """Keep the files of one split of the corpus, where a source has those of several."""
        return

    @abstractmethod
    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        """Every prediction, in the file's order. `schema` settles how slots are spelled."""

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        """Write predictions in this format; never leaves a half-written file."""
        raise PredictionError(f"the format {self.name!r} can be read but not written", fix="write dstress or trade")
