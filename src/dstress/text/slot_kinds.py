"""What the values of a slot are: restaurants, towns, times. Read off the slot's own name (`slot_kinds.toml`)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from dstress.text.tables import read_table


@cache
def kind_of(slot: str) -> str:
    """The kind of a slot id's values, such as `hotel` or `time`; empty if nothing is known of it."""
    folded = slot.lower()
    return next((kind for kind, entry in _kinds().items() if re.search(entry["slots"], folded)), "")


def also(kind: str) -> tuple[str, ...]:
    """Other kinds whose values fit this one: a taxi goes to a hotel as well as to a museum."""
    return tuple(_kinds().get(kind, {}).get("any", ()))


@cache
def _kinds() -> dict[str, Any]:
    return read_table(__package__, "data/slot_kinds.toml")
