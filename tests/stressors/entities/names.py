"""What the tests of both stressors that rename entities share: small dialogues, and a page's examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks import reminder
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.errors import CorpusError
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.entities import unseen
from tests.stressors.samples import in_memory

EXAMPLE = re.compile(r"^(\S.*?) \| (\S+), turn (\d+)\n((?:  [SU][-+] .*\n)+)", re.MULTILINE)
SCHEMA = Schema(
    (
        Service("hotel", slots=(Slot("name"), Slot("area", categorical=True, values=("west",)))),
        Service("restaurant", slots=(Slot("name"), Slot("food"))),
        Service("train", slots=(Slot("departure"), Slot("destination"))),
        Service("taxi", slots=(Slot("destination"),)),
    )
)


def nothing(name: str) -> Corpus:
    raise CorpusError(f"no corpus {name}")


def load_reminder(name: str) -> Corpus:
    split = name.partition(":")[2]
    return in_memory(list(reminder.generate(split)), reminder.schema(split))


def stressed(spec: str, dialogues: list[Dialogue], schema: Schema = SCHEMA, seed: int = 1) -> list[Dialogue]:
    stressor = create(spec)
    stressor.prepare(Resources(schema, dialogues, load_reminder, Path()))
    return stressor.stress(dialogues, seed)


def dialogue(*turns: tuple[str, str, State]) -> Dialogue:
    """System, user, state."""
    return Dialogue("d", tuple(Turn(user, system, state) for system, user, state in turns))


def shown(page: Path) -> list[tuple[list[str], list[str]]]:
    """The examples of a page: what it says, and what happens."""
    corpus = {one.id: one for one in reminder.generate("test")}
    schema, found = reminder.schema("test"), []
    for spec, name, number, lines in EXAMPLE.findall(page.read_text("utf-8")):
        turn = stressed(spec, [corpus[name]], schema)[0].turns[int(number)]
        pairs = [("S", turn.original.system, turn.system), ("U", turn.original.user, turn.user)]
        real = [
            f"  {who}{mark} {text}" for who, *texts in pairs for mark, text in zip("-+", texts, strict=True) if text
        ]
        found.append((lines.rstrip("\n").split("\n"), real))
    return found


def all_names(kind: str, region: str) -> Iterator[str]:
    """Every name that can be drawn."""
    for pattern in unseen._patterns(kind, region):
        parts = unseen._PART.findall(pattern)
        for words in product(*(unseen._words(region, part) for part in parts)):
            left = iter(words)
            yield unseen._PART.sub(lambda _, left=left: next(left), pattern)  # type: ignore[misc]
