"""The simulated user and the simulated desk that made the embedded corpus `reminder`.

A dialogue depends on the seed, the split and its number only: any one can be made again without the others.
`python -m benchmarks.reminder` writes the archive that comes with dstress.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from benchmarks.reminder.conversation import Conversation
from benchmarks.reminder.database import entities, look_up
from benchmarks.reminder.specs import services
from dstress.corpora.database import Database, Row
from dstress.corpora.reminder import SIZES
from dstress.dialogue import Dialogue, Intent, Schema, Service, Slot
from dstress.errors import unknown
from dstress.text.times import calendar_words

SEED = 1


def generate(split: str, seed: int = SEED) -> Iterator[Dialogue]:
    """The dialogues of a split, in order."""
    _check_split(split)
    return (generate_dialogue(split, index, seed) for index in range(SIZES[split]))


def generate_dialogue(split: str, index: int, seed: int = SEED) -> Dialogue:
    """One dialogue alone, the same as `generate` gives at that place."""
    _check_split(split)
    return Conversation(split, Random(f"{seed}:{split}:{index}")).run(f"reminder-{split}-{index:04d}")


def _check_split(split: str) -> None:
    if split not in SIZES:
        raise unknown("split of reminder", split, SIZES)


def town() -> Database:
    """The town: what the desk can find in each split, and what it tells of it."""
    tables: dict[str, list[Row]] = {}
    for spec in services().values():
        rows: dict[str, Row] = {}
        for split in SIZES:
            for entity in entities(spec.name, split):
                facts = {slot.name: look_up(slot, entity.name) for slot in spec.having("info")}
                row = rows.setdefault(entity.name, {"name": entity.name} | entity.attributes | facts | {"splits": ""})
                row["splits"] = f"{row['splits']} {split}".strip()
        if rows:
            tables[spec.name] = list(rows.values())
    return Database(tables)


def schema(split: str) -> Schema:
    """The schema, which is the same for every split."""
    _check_split(split)
    return _schema()


@cache
def _schema() -> Schema:
    """The services as the simulator's tables have them."""
    described = []
    for spec in services().values():
        slots = []
        for slot in spec.slots:
            values = calendar_words("weekdays") if slot.kind == "weekday" else slot.values if slot.categorical else ()
            slots.append(Slot(slot.name, slot.description, slot.categorical, values))
        required = tuple(slot.name for slot in spec.having("name", "book") if slot.name != "leave_at")
        # Whoever says when to arrive need not say when to leave.
        optional = {slot.name: "" for slot in spec.slots if slot.name == "leave_at"}
        optional |= {slot.name: "" for slot in spec.having("extra", "alternative")}
        searched = {slot.name: "dontcare" for slot in spec.having("search")}
        infos = tuple(slot.name for slot in spec.having("info"))
        intents = [
            Intent(i.name, i.description, True, required, optional, infos)
            if i.transactional
            else Intent(i.name, i.description, False, (), searched, infos)
            for i in spec.intents
        ]
        described.append(Service(spec.name, spec.description, tuple(slots), tuple(intents)))
    return Schema(tuple(described))
