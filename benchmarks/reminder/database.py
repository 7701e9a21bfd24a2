"""What the town has: restaurants, hotels and events with fixed attributes, and when they are full.

Attributes and availability follow from the names alone, so the town is the same in every run and on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import NamedTuple
from zlib import crc32

from benchmarks.reminder.specs import SlotSpec, names, services
from dstress.dialogue import DONTCARE

FULL_ONE_IN = 4
PLATE_LETTERS = "ABCDEFGHJKLMNPRSTUVWXY"


class Entity(NamedTuple):
    """One restaurant, hotel or event."""

    name: str
    attributes: dict[str, str]


@cache
def entities(service: str, split: str) -> tuple[Entity, ...]:
    """All entities of a service that a split may mention."""
    spec = services()[service]
    town = []
    for name in names(spec.entities, split) if spec.entities else ():
        rng = Random(f"{spec.name}:{name}")
        town.append(Entity(name, {slot.name: rng.choice(slot.values) for slot in spec.having("search")}))
    return tuple(town)


def find_entities(service: str, split: str, attributes: Mapping[str, str]) -> list[Entity]:
    """The entities that have every one of these attributes."""
    fixed = {(slot, value) for slot, value in attributes.items() if value != DONTCARE}
    return [entity for entity in entities(service, split) if fixed <= entity.attributes.items()]


def is_full(*booking: str) -> bool:
    """Whether a booking of these values cannot be had."""
    return crc32("|".join(booking).encode()) % FULL_ONE_IN == 0


def look_up(slot: SlotSpec, about: str) -> str:
    """The answer to a request: a phone number, a fare ... of whatever `about` names."""
    rng = Random(f"{slot.kind}:{about}")
    if slot.kind == "phone":
        return f"01632 960{rng.randrange(1000):03d}"
    if slot.kind == "address":
        return f"{rng.randrange(2, 140)} {rng.choice(names('streets', 'train'))}"
    if slot.kind == "plate":
        letters = "".join(rng.choice(PLATE_LETTERS) for _ in range(5))
        return f"{letters[:2]}{rng.randrange(10, 99)} {letters[2:]}"
    if slot.kind == "duration":
        return f"{rng.randrange(2, 5)} hours and {rng.randrange(1, 12) * 5} minutes"
    if slot.kind == "start":
        return f"{rng.randrange(18, 21)}:{rng.choice(('00', '15', '30'))}"
    return f"{rng.randrange(8, 40)} pounds"


def make_reference(*booking: str) -> str:
    """The reference of a booking: five signs without those that are easily confused."""
    rng = Random("reference:" + "|".join(booking))
    return "".join(rng.choice("BCDFGHJKMNPQRTVWX2346789") for _ in range(5))
