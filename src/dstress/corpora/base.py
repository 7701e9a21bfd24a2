"""The contract of a corpus importer, and what a loaded corpus is."""

from __future__ import annotations

import hashlib
import inspect
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, overload

import msgspec

from dstress.corpora.database import TABLE_ENDING, Database, read_table
from dstress.dialogue import Dialogue, Schema
from dstress.display import Displayed
from dstress.errors import CorpusError, DstressError
from dstress.storage.sources import Source

ENGLISH = "en"
"""Languages go by their ISO 639 codes."""

LocatedDialogue = tuple[str, Dialogue]
"""A dialogue with the file that it came from, so that every message can name the place."""


class Split:
    """One split of a source, read as it is iterated: a schema, and dialogues that stream."""

    def __init__(
        self,
        name: str,
        schema: Schema,
        dialogues: Callable[[], Iterator[LocatedDialogue]],
        language: str = ENGLISH,
    ) -> None:
        self.name, self.schema, self.dialogues, self.language = name, schema, dialogues, language


class Importer(ABC):
    """One layout of corpus files.

    Dialogues stream, one file at a time. What a person got wrong raises a CorpusError with file, dialogue and turn;
    what every layout must hold (unique ids, slots of the schema, user utterances ...) is checked once for all by
    `dstress.corpora.checks`, not here.
    """

    name: ClassVar[str]
    by_name: ClassVar[bool] = False
    """It is another view of files that another importer reads, taken where the corpus gets this importer's name."""

    @classmethod
    @abstractmethod
    def matches(cls, source: Source) -> bool:
        """Whether the source has this layout. Must be cheap and must not raise on other layouts."""

    @abstractmethod
    def splits(self, source: Source) -> Iterator[Split]:
        """The splits of the source, in the order train, dev, test where they go by such names."""

    def database(self, source: Source) -> Database | None:
        """The tables behind the services, where the source has them: files such as `hotel_db.json`."""
        files = source.ending(TABLE_ENDING)
        tables = {file.stem.removesuffix(TABLE_ENDING): read_table(file.read(), file.label) for file in files}
        return Database(tables) if tables else None

    def write(self, corpus: Corpus, folder: Path) -> None:
        """Write a split in this layout, for trackers that read it; never leaves a half-written file."""
        raise CorpusError(
            f"the layout {self.name!r} can be read but not written",
            fix="write dstress, multiwoz, sgd, trade or unified",
        )


class Corpus(Displayed):
    """A corpus split that can be iterated any number of times, without holding its dialogues.

    `corpus[0]` is a dialogue, `corpus[:20]` a corpus again, which is read when it is iterated.
    """

    def __init__(self, name: str, split: str, schema: Schema, read: Callable[[], Iterator[Dialogue]]) -> None:
        self.name, self.split, self.schema, self._read = name, split, schema, read
        self.seen: frozenset[str] | None = None
        """The services that the corpus's training data shows, where it is known: results are split by it."""

        self.train = ""
        """The name of the corpus's own training split, for what is fitted on it; empty where it has none."""

        self.size: int | None = None
        """How many dialogues there are, where it is known without reading them."""
        self.language = ENGLISH
        """What its utterances are written in: stressors that know the words of other languages only refuse it."""
        self.stressed = False
        """Whether a stressor made it."""
        self.open_database: Callable[[], Database | None] = lambda: None
        """Reads the tables behind its services."""
        self.made: dict[str, str] = {}
        """What a signature says of how it was made: `made_by` of a stressed corpus's description."""
        self.whole: Corpus | None = None
        """The corpus that it is a part of: stressors are fitted on that, so that a part is stressed as in the whole."""
        self.part = ""
        """Which part, in a signature: `first60`, `draw60`."""
        self.content: int | None = None
        """The sum of its dialogues' hashes, in any order: stored with it, or known once they have been read."""
        self._latest: tuple[weakref.ref[Generator[Dialogue, None, None]], list[Dialogue]] | None = None
        """The iterator that was made last, and what it shall give, if that has been read before it began."""

    @property
    def signature(self) -> str:
        """What a score's signature calls it: `multiwoz21.test`, of a part `multiwoz21.test.first60`."""
        return ".".join(filter(None, (self.name, self.split, self.part)))

    @cached_property
    def database(self) -> Database | None:
        """The tables behind its services, read at first use; None where the corpus has none."""
        return self.open_database()

    @property
    def data(self) -> str:
        """What it holds, hashed: dialogues in any order, and the schema. Corpora of one name are told apart by it."""
        if self.content is None:
            for _ in self:
                pass
        content = ((self.content or 0) % (1 << 256)).to_bytes(32)
        return hashlib.sha256(content + msgspec.json.encode(self.schema)).hexdigest()[:8]

    @property
    def identity(self) -> dict[str, str]:
        """The parts of a signature that tell which data it is: its content, and of a stressed corpus what made it."""
        stress = {name: text for name, text in self.made.items() if name == "stress"}
        return {"data": self.data} | stress

    def __iter__(self) -> Iterator[Dialogue]:
        buffered: list[Dialogue] = []
        reading = self._reading(buffered)
        self._latest = weakref.ref(reading), buffered
        return reading

    def _reading(self, buffered: list[Dialogue]) -> Generator[Dialogue, None, None]:
        if buffered:
            yield from buffered
        elif self.content is not None:
            yield from self._read()
        else:  # the first to read all of it knows what it holds
            content = size = 0
            for dialogue in self._read():
                content += hash_line(msgspec.json.encode(dialogue))
                size += 1
                yield dialogue
            self.content, self.size = content, size

    def __len__(self) -> int:
        """How many dialogues there are; where that is not known, they are read to count them.

        `list(corpus)` makes an iterator and asks for the length before it begins: then what is read here is what it
        gives, so that nothing is read twice.
        """
        if self.size is None:
            begun, buffered = self._latest or (lambda: None, [])
            waiting = begun()
            if waiting is not None and inspect.getgeneratorstate(waiting) == inspect.GEN_CREATED:
                buffered.extend(self._reading([]))
                self.size, self._latest = len(buffered), None  # from now on only the iterator holds them
            else:
                self.size = sum(1 for _ in self)
        return self.size

    def __bool__(self) -> bool:
        """True, however many dialogues there are: `corpus or other` must not read them."""
        return True

    @overload
    def __getitem__(self, place: int) -> Dialogue: ...

    @overload
    def __getitem__(self, place: slice) -> Corpus: ...

    def __getitem__(self, place: int | slice) -> Dialogue | Corpus:
        if isinstance(place, int):
            index = place if place >= 0 else len(self) + place
            for dialogue in islice(self, index, index + 1) if index >= 0 else ():
                return dialogue
            raise IndexError(f"{self.signature} has no dialogue {place}")
        if place.step is not None and place.step < 1:
            raise DstressError("a corpus is read forwards", fix="list(corpus)[::-1] holds it in memory and turns it")
        start, stop, step = place.start or 0, place.stop, place.step or 1
        if start < 0 or (stop is not None and stop < 0):
            start, stop, step = place.indices(len(self))
        if (start, stop, step) == (0, None, 1):
            return self
        name = f"first{stop}" if (start, step) == (0, 1) else f"{start}to{'end' if stop is None else stop}"
        size = None if self.size is None else len(range(*slice(start, stop, step).indices(self.size)))
        return self._part(name if step == 1 else f"{name}by{step}", size, lambda: islice(iter(self), start, stop, step))

    def take(self, limit: int = 0, draw: int = 0, seed: int = 1) -> Corpus:
        """The first `limit` dialogues, or `draw` of them at random, as a corpus; 0 of both is all of it.

        Those drawn stay in order; a larger draw with the same seed holds a smaller one.
        """
        if limit and draw:
            raise DstressError("limit and draw exclude each other", fix="the first N dialogues, or N at random")
        if limit < 0 or draw < 0:
            raise DstressError(f"{min(limit, draw)} dialogues cannot be", fix="give a number above 0, or none for all")
        if not draw:
            return self[:limit] if limit else self
        lots = ((draw_lot(seed, dialogue.id), place) for place, dialogue in enumerate(self))
        drawn = frozenset(place for _, place in nsmallest(draw, lots))
        return self._part(
            f"draw{draw}",
            len(drawn),
            lambda: (dialogue for place, dialogue in enumerate(self) if place in drawn),
        )

    def map(self, read: Callable[[], Iterator[Dialogue]]) -> Corpus:
        """A corpus of other dialogues, of which all else is known that is known of this one."""
        other = Corpus(self.name, self.split, self.schema, read)
        other.seen, other.train, other.stressed, other.made = self.seen, self.train, self.stressed, self.made
        other.language, other.size, other.open_database = self.language, self.size, lambda: self.database
        other.part = self.part
        return other

    def _part(self, name: str, size: int | None, read: Callable[[], Iterator[Dialogue]]) -> Corpus:
        part = self.map(read)
        part.size = size
        part.whole, part.part = self.whole or self, ".".join(filter(None, (self.part, name)))
        return part

    def _table(self, name: str) -> Any:
        """A table by its name; the first is that of all turns, for which every dialogue is read."""
        return super()._table(name) if name not in ("", "turns") else CorpusTurns(self)._table("turns")

    def __repr__(self) -> str:
        named = f"{self.name}:{self.split}".rstrip(":") + (f", {self.part}" if self.part else "")
        size = "" if self.size is None else f", {self.size:,} dialogues"
        return f"{type(self).__name__}({named}{size}, {len(self.schema.services)} services)"


class CorpusTurns(Displayed):
    """Every turn of a corpus: what `to_pandas` gives, and a display of the corpus does not read."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus


def draw_lot(seed: int, dialogue: str) -> bytes:
    """A dialogue's lot, by the seed and its id alone: whoever has the smallest lots is drawn."""
    return hashlib.sha256(f"{seed} {dialogue}".encode()).digest()


def made_by(description: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a signature that say how a corpus was stressed, from what is written beside it (`stress.json`)."""
    if not description.get("stressor"):
        return {}
    stress = f"{description['stressor']}/seed={description.get('seed')}/dstress={description.get('dstress')}"
    return {"stress": stress} | ({"plugins": plugins} if (plugins := description.get("plugins")) else {})


def hash_line(dialogue: bytes) -> int:
    """The hash of a dialogue as JSON."""
    return int.from_bytes(hashlib.sha256(dialogue).digest())
