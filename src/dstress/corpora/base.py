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


Finder = Callable[[str], tuple[int, Dialogue] | None]
"""A dialogue's place in its split and the dialogue, by its id; None if there is none."""


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

    _tabled_by = "dstress.reports.dialogues:corpus_tables"

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
        self.finder: Callable[[], Finder] | None = None
        """Makes a function that finds a dialogue by its id; a stored split has one."""
        self.lines: Callable[[], Iterator[bytes]] | None = None
        """Its dialogues as they are stored, a line each; a stored split has them."""
        self.open_database: Callable[[], Database | None] = lambda: None
        """Reads the tables behind its services."""
        self.made: dict[str, str] = {}
        """What a signature says of how it was made: `made_by` of a stressed corpus's description."""
        self.whole: Corpus | None = None
        """The corpus that it is a part of: stressors are fitted on that, so that a part is stressed as in the whole."""
        self.part = ""
        """Which part, in a signature: `first60`, `draw60`."""
        self._content = b""
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
        if not self._content:
            if self.lines is not None:
                self._content = _hash_lines(self.lines())
            else:
                for _ in self:
                    pass
        return hashlib.sha256(self._content + msgspec.json.encode(self.schema)).hexdigest()[:8]

    @property
    def identity(self) -> dict[str, str]:
        """The parts of a signature that tell which data it is: its content, and of a stressed corpus what made it."""
        stress = {name: text for name, text in self.made.items() if name == "stress"}
        return {"data": self.data} | stress

    def __iter__(self) -> Iterator[Dialogue]:
        held: list[Dialogue] = []
        reading = self._reading(held)
        self._latest = weakref.ref(reading), held
        return reading

    def _reading(self, held: list[Dialogue]) -> Generator[Dialogue, None, None]:
        yield from held or (self._read() if self._content or self.lines else self._read_hashing())

    def _read_hashing(self) -> Iterator[Dialogue]:
        """The first to read all of it knows what it holds."""
        content, size = _Content(), 0
        for size, dialogue in enumerate(self._read(), start=1):  # noqa: B007  counted to the end
            content.add(msgspec.json.encode(dialogue))
            yield dialogue
        self._content, self.size = content.digest(), size

    def __len__(self) -> int:
        """How many dialogues there are; where that is not known, they are read to count them.

        `list(corpus)` makes an iterator and asks for the length before it begins: then what is read here is what it
        gives, so that nothing is read twice.
        """
        if self.size is None:
            begun, held = self._latest or (lambda: None, [])
            waiting = begun()
            if waiting is not None and inspect.getgeneratorstate(waiting) == inspect.GEN_CREATED:
                held.extend(self._reading([]))
                self.size, self._latest = len(held), None  # from now on only the iterator holds them
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
        if isinstance(place, slice):
            return self._slice(place)
        wanted = place if place >= 0 else len(self) + place
        for dialogue in islice(self, wanted, wanted + 1) if wanted >= 0 else ():
            return dialogue
        raise IndexError(f"{self.signature} has no dialogue {place}")

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
        lots = (draw_lot(seed, dialogue.id) for dialogue in self)
        drawn = frozenset(place for _, place in nsmallest(draw, ((lot, place) for place, lot in enumerate(lots))))

        def read() -> Iterator[Dialogue]:
            return (dialogue for place, dialogue in enumerate(self) if place in drawn)

        return self._part(f"draw{draw}", len(drawn), read)

    def _slice(self, wanted: slice) -> Corpus:
        if wanted.step is not None and wanted.step < 1:
            raise DstressError("a corpus is read forwards", fix="list(corpus)[::-1] holds it in memory and turns it")
        start, stop, step = wanted.start or 0, wanted.stop, wanted.step or 1
        if start < 0 or (stop is not None and stop < 0):
            start, stop, step = wanted.indices(len(self))
        if (start, stop, step) == (0, None, 1):
            return self
        name = f"first{stop}" if (start, step) == (0, 1) else f"{start}to{'end' if stop is None else stop}"
        size = None if self.size is None else len(range(*slice(start, stop, step).indices(self.size)))
        return self._part(name if step == 1 else f"{name}by{step}", size, lambda: islice(iter(self), start, stop, step))

    def _part(self, name: str, size: int | None, read: Callable[[], Iterator[Dialogue]]) -> Corpus:
        part = Corpus(self.name, self.split, self.schema, read)
        part.seen, part.train, part.stressed, part.made = self.seen, self.train, self.stressed, self.made
        part.language, part.size, part.open_database = self.language, size, lambda: self.database
        part.whole, part.part = self.whole or self, ".".join(filter(None, (self.part, name)))
        return part

    def __repr__(self) -> str:
        named = f"{self.name}:{self.split}".rstrip(":") + (f", {self.part}" if self.part else "")
        size = "" if self.size is None else f", {self.size:,} dialogues"
        return f"{type(self).__name__}({named}{size}, {len(self.schema.services)} services)"


def draw_lot(seed: int, dialogue: str) -> bytes:
    """A dialogue's lot, by the seed and its id alone: whoever has the smallest lots is drawn."""
    return hashlib.sha256(f"{seed} {dialogue}".encode()).digest()


def made_by(description: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a signature that say how a corpus was stressed, from what is written beside it (`stress.json`)."""
    if not description.get("stressor"):
        return {}
    stress = f"{description['stressor']}/seed={description.get('seed')}/dstress={description.get('dstress')}"
    return {"stress": stress} | ({"plugins": plugins} if (plugins := description.get("plugins")) else {})


class _Content:
    """A hash of dialogues that does not depend on their order."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, line: bytes) -> None:
        self._sum += int.from_bytes(hashlib.sha256(line).digest())

    def digest(self) -> bytes:
        return (self._sum % (1 << 256)).to_bytes(32)


def _hash_lines(lines: Iterator[bytes]) -> bytes:
    content = _Content()
    for line in lines:
        content.add(line.rstrip(b"\n"))
    return content.digest()
