"""The embedded corpus `reminder`: dialogues of our own, made by a simulated user and a simulated desk.

It needs no download and no licence but ours, so the demo, the tests and a first try of a tracker all run on it. A
dialogue depends on the seed, the split and its number only: any one can be made again without the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from dstress.corpora.simulator.conversation import Conversation
from dstress.corpora.simulator.specs import ServiceSpec, SlotSpec, services
from dstress.dialogue import Dialogue, Intent, Schema, Service, Slot
from dstress.errors import unknown
from dstress.text.times import calendar_words

SIZES = {"train": 600, "dev": 150, "test": 150}
SEED = 1


def generate(split: str, seed: int = SEED) -> Iterator[Dialogue]:
    """The dialogues of a split, in order."""
    for index in range(_size(split)):
        yield dialogue(split, index, seed)


def dialogue(split: str, index: int, seed: int = SEED) -> Dialogue:
    """One dialogue alone, the same as `generate` gives at that place."""
    _size(split)
    rng = Random(f"{seed}:{split}:{index}")
    return Conversation(split, rng).run(f"reminder-{split}-{index:04d}")


def _size(split: str) -> int:
    if split not in SIZES:
        raise unknown("split of reminder", split, SIZES)
    return SIZES[split]


@cache
def _schema() -> Schema:
    return Schema(tuple(_service(spec) for spec in services().values()))


def schema(split: str) -> Schema:
    """The schema, which is the same for every split."""
    _size(split)
    return _schema()


def _service(spec: ServiceSpec) -> Service:
    slots = tuple(_slot(slot) for slot in spec.slots)
    return Service(spec.name, spec.description, slots, tuple(_intents(spec)))


def _slot(spec: SlotSpec) -> Slot:
    values = calendar_words("weekdays") if spec.kind == "weekday" else spec.values if spec.categorical else ()
    return Slot(spec.name, spec.description, spec.categorical, values)


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
