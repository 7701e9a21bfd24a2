"""The contract of a corpus importer, and what a loaded corpus is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from dstress.dialogue import Dialogue, Schema
from dstress.errors import CorpusError
from dstress.storage.sources import Source

LocatedDialogue = tuple[str, Dialogue]
"""A dialogue with the file that it came from, so that every message can name the place."""


Finder = Callable[[str], tuple[int, Dialogue] | None]
"""A dialogue's place in its split and the dialogue, by its id; None if there is none."""


class Split:
    """One split of a source, read as it is iterated: a schema, and dialogues that stream."""

    def __init__(self, name: str, schema: Schema, dialogues: Callable[[], Iterator[LocatedDialogue]]) -> None:
        self.name, self.schema, self.dialogues = name, schema, dialogues


class Importer(ABC):
    """One layout of corpus files.

    Dialogues stream, one file at a time. What a person got wrong raises a CorpusError with file, dialogue and turn;
    what every layout must hold (unique ids, slots of the schema, user utterances ...) is checked once for all by
    `dstress.corpora.checks`, not here.
    """

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def matches(cls, source: Source) -> bool:
        """Whether the source has this layout. Must be cheap and must not raise on other layouts."""

    @abstractmethod
    def splits(self, source: Source) -> Iterator[Split]:
        """The splits of the source, in the order train, dev, test where they go by such names."""

    def write(self, corpus: Corpus, folder: Path) -> None:
        """Write a split in this layout, for trackers that read it; never leaves a half-written file."""
        raise CorpusError(
            f"the layout {self.name!r} can be read but not written",
            fix="write dstress, multiwoz, sgd, trade or unified",
        )


class Corpus:
    """A corpus split that can be iterated any number of times, without holding its dialogues."""

    def __init__(self, name: str, split: str, schema: Schema, read: Callable[[], Iterator[Dialogue]]) -> None:
        self.name, self.split, self.schema, self._read = name, split, schema, read
        self.seen: frozenset[str] | None = None
        """The services that the corpus's training data shows, where it is known: results are split by it."""

        self.train = ""
        """The name of the corpus's own training split, for what is fitted on it; empty where it has none."""

        self.size: int | None = None
        """How many dialogues there are, where it is known without reading them."""
        self.stressed = False
        """Whether a stressor made it."""
        self.finder: Callable[[], Finder] | None = None
        """Makes a function that finds a dialogue by its id; a stored split has one."""

    @property
    def signature(self) -> str:
        """What a score's signature calls it: `multiwoz21.test`."""
        return f"{self.name}.{self.split}" if self.split else self.name

    def __iter__(self) -> Iterator[Dialogue]:
        return self._read()

    def __repr__(self) -> str:
        return f"Corpus({self.name}:{self.split}, {len(self.schema.services)} services)"
