"""The goal of a turn in words, for people who know neither slots nor states."""

from __future__ import annotations

from functools import cache

from dstress.dialogue import DONTCARE, State, service_of
from dstress.text.tables import read_table


def in_words(change: State) -> str:
    """What a turn changes in the state: `hotel book day: friday; hotel area: any will do`."""
    return "; ".join(f"{_slot(slot)}: {_value(forms)}" for slot, forms in change.items()) or "nothing new"


def _value(forms: tuple[str, ...]) -> str:
    if not forms:
        return "no longer wanted"
    return "any will do" if forms[0] == DONTCARE else forms[0]


def _slot(slot: str) -> str:
    service, name = service_of(slot), slot.partition("-")[2]
    return f"{service} {_names().get(name, name)}".replace("_", " ").replace("-", " ")


@cache
def _names() -> dict[str, str]:
    return read_table(__package__, "words.toml")
