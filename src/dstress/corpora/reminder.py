"""The embedded corpus `reminder`: dialogues of our own, made by a simulated user and a simulated desk.

It needs no download and no licence but ours, so the demo, the tests and a first try of a tracker all run on it. A
dialogue depends on the seed, the split and its number only: any one can be made again without the others. In the data
home it is generated at first use, and again whenever its generator has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from random import Random

from dstress.corpora import store
from dstress.corpora.base import LocatedDialogue, Split
from dstress.corpora.database import Database, Row
from dstress.corpora.simulator.conversation import Conversation
from dstress.corpora.simulator.database import entities, look_up
from dstress.corpora.simulator.specs import ServiceSpec, services
from dstress.corpora.store import Manifest, Progress
from dstress.dialogue import Dialogue, Intent, Schema, Service, Slot
from dstress.errors import unknown
from dstress.text.times import calendar_words

NAME = "reminder"
SIZES = {"train": 600, "dev": 150, "test": 150}
SEED = 1


def ensure_stored(progress: Progress = lambda *_: None) -> Manifest:
    """The corpus's manifest, with the corpus behind it."""
    source = f"simulated:{_fingerprint()}"
    stored = store.read_manifest(NAME)
    if stored is not None and stored.source == source:
        return stored
    splits = (("simulated", _split(name)) for name in SIZES)
    return store.add(NAME, source, splits, progress, generated=True, database=database())


def _split(name: str) -> Split:
    def stream() -> Iterator[LocatedDialogue]:
        return ((NAME, dialogue) for dialogue in generate(name))

    return Split(name, schema(name), stream)


def generate(split: str, seed: int = SEED) -> Iterator[Dialogue]:
    """The dialogues of a split, in order."""
    _check_split(split)
    return (generate_dialogue(split, index, seed) for index in range(SIZES[split]))


def generate_dialogue(split: str, index: int, seed: int = SEED) -> Dialogue:
    """One dialogue alone, the same as `generate` gives at that place."""
    _check_split(split)
    return Conversation(split, Random(f"{seed}:{split}:{index}")).run(f"reminder-{split}-{index:04d}")


def schema(split: str) -> Schema:
    """The schema, which is the same for every split."""
    _check_split(split)
    return _schema()


def database() -> Database:
    """The town: what the desk can find in each split, and what it tells of it."""
    tables: dict[str, list[Row]] = {}
    for spec in services().values():
        known: dict[str, Row] = {}
        for split in SIZES:
            for entity in entities(spec.name, split):
                facts = {slot.name: look_up(slot, entity.name) for slot in spec.having("info")}
                row = known.setdefault(entity.name, {"name": entity.name} | entity.attributes | facts | {"splits": ""})
                row["splits"] = f"{row['splits']} {split}".strip()
        if known:
            tables[spec.name] = list(known.values())
    return Database(tables)


def _check_split(split: str) -> None:
    if split not in SIZES:
        raise unknown("split of reminder", split, SIZES)


@cache
def _schema() -> Schema:
    """The services as the simulator's tables have them."""
    found = []
    for spec in services().values():
        slots = []
        for slot in spec.slots:
            values = calendar_words("weekdays") if slot.kind == "weekday" else slot.values if slot.categorical else ()
            slots.append(Slot(slot.name, slot.description, slot.categorical, values))
        found.append(Service(spec.name, spec.description, tuple(slots), tuple(_intents(spec))))
    return Schema(tuple(found))


def _intents(spec: ServiceSpec) -> Iterator[Intent]:
    extras = {slot.name: "" for slot in spec.having("extra", "alternative")}
    infos = tuple(slot.name for slot in spec.having("info"))
    for intent in spec.intents:
        if intent.transactional:
            required = tuple(slot.name for slot in spec.having("name", "book") if slot.name != "leave_at")
            optional = {slot.name: "" for slot in spec.slots if slot.name == "leave_at"} | extras
        else:
            required = ()
            optional = {slot.name: "dontcare" for slot in spec.having("search")}
        yield Intent(intent.name, intent.description, intent.transactional, required, optional, infos)


@cache
def _fingerprint() -> str:
    """A checksum over the generator's own code and tables: a stored copy is never older than what made it."""
    room = files(__package__)
    parts = [room / "reminder.py", *sorted(room.joinpath("simulator").iterdir(), key=lambda part: part.name)]
    digest = hashlib.sha256()
    for part in parts:
        if part.name.endswith((".py", ".toml")):
            digest.update(part.name.encode() + b"\0" + part.read_bytes())
    return digest.hexdigest()[:16]
