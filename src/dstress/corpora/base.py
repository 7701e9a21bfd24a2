"""The contract of a corpus importer, and what a loaded corpus is."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from dstress.dialogue import Dialogue, Schema
from dstress.errors import CorpusError
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
        self.language = ENGLISH
        """What its utterances are written in: stressors that know the words of other languages only refuse it."""
        self.stressed = False
        """Whether a stressor made it."""
        self.finder: Callable[[], Finder] | None = None
        """Makes a function that finds a dialogue by its id; a stored split has one."""
        self.lines: Callable[[], Iterator[bytes]] | None = None
        """Its dialogues as they are stored, a line each; a stored split has them."""
        self.made: dict[str, str] = {}
        """What a signature says of how it was made: `made_by` of a stressed corpus's description."""
        self.whole: Corpus | None = None
        """The corpus that it is a part of: stressors are fitted on that, so that a part is stressed as in the whole."""
        self.part = ""
        """Which part, in a signature: `first60`, `draw60`."""
        self._content = b""

    @property
    def signature(self) -> str:
        """What a score's signature calls it: `multiwoz21.test`, of a part `multiwoz21.test.first60`."""
        return ".".join(filter(None, (self.name, self.split, self.part)))

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
        return self._read() if self._content or self.lines else self._read_hashing()

    def _read_hashing(self) -> Iterator[Dialogue]:
        """The first to read all of it knows what it holds."""
        content, size = _Content(), 0
        for size, dialogue in enumerate(self._read(), start=1):  # noqa: B007  counted to the end
            content.add(msgspec.json.encode(dialogue))
            yield dialogue
        self._content, self.size = content.digest(), size

    def __repr__(self) -> str:
        return f"Corpus({self.name}:{self.split}, {len(self.schema.services)} services)"


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
