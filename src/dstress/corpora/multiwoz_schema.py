"""MultiWOZ's schema and its short names for slots, shared by every layout that MultiWOZ comes in."""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from typing import Annotated, Any

import msgspec

from dstress.dialogue import DONTCARE, Intent, Schema, Service, Slot, slot_id
from dstress.errors import CorpusError
from dstress.text.tables import read_table

RawAct = Annotated[list[Any], msgspec.Meta(min_length=2)]
"""A short name for a slot and its value, in what MultiWOZ 2.1 and 2.2 publish of dialogue acts; there may be more."""

CORE = frozenset({"attraction", "hotel", "restaurant", "taxi", "train"})
"""The five services with the thirty slots that trackers are scored on."""


@cache
def _services() -> tuple[Service, ...]:
    services = []
    for entry in read_table(__package__, "multiwoz.toml")["services"]:
        slots = [
            Slot(s["name"], s["description"], "values" in s, tuple(s.get("values", ()))) for s in entry.get("slots", ())
        ]
        intents = msgspec.convert(entry["intents"], tuple[Intent, ...])
        services.append(Service(entry["name"], entry["description"], tuple(slots), intents))
    return tuple(services)


def select_services(used: Container[str] = ()) -> Schema:
    """The five scored services, and of the others those in `used`."""
    return Schema(tuple(service for service in _services() if service.name in CORE or service.name in used))


def require_multiwoz(schema: Schema, layout: str) -> None:
    """Refuse to write a schema with other slots into a layout that is MultiWOZ's own."""
    own = Schema(_services()).slots
    if stranger := next((slot for slot in schema.slots if slot not in own), None):
        raise CorpusError(
            f"the layout {layout} holds MultiWOZ's slots only, and this schema has {stranger!r}",
            fix="write dstress, sgd or unified",
        )


def is_absent(value: str) -> bool:
    """Whether an annotated value says that the slot has none."""
    return value.casefold() in _words("none")


def settle(value: str) -> str:
    """The value as it is, but one spelling for the many that 2.0 and 2.1 have for not caring."""
    return DONTCARE if value.casefold() in _words("dontcare") else value


@cache
def _words(meaning: str) -> frozenset[str]:
    return frozenset(read_table(__package__, "multiwoz.toml")[meaning])


@cache
def act_slot(service: str, short: str) -> str:
    """`Dest` -> `destination`; bookable slots get their `book` (`hotel`, `Day` -> `book day`); `none` -> ``."""
    name = str(read_table(__package__, "multiwoz.toml")["acts"].get(short.casefold(), short.casefold()))
    if slot_id(service, f"book {name}") in Schema(_services()).slots:
        return f"book {name}"
    return "" if name == "none" else name


@cache
def short_name(slot: str) -> str:
    """The other way round, as annotators wrote it: `destination` -> `Dest`, `book day` -> `Day`, `` -> `none`."""
    bare = slot.removeprefix("book ")
    short = next(
        (
            short
            for short, name in read_table(__package__, "multiwoz.toml")["acts"].items()
            if name == bare and short != "car"
        ),
        bare,
    )
    return short.capitalize() if short else "none"
