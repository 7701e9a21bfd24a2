"""The goal of a turn in words, for people who know neither slots nor states."""

from __future__ import annotations

from functools import cache

from dstress.dialogue import DONTCARE, State
from dstress.text.tables import read_table


def goal_in_words(change: State) -> str:
    """What a turn changes in the state: `hotel book day: friday; hotel area: any will do`."""
    parts = []
    for slot, forms in change.items():
        service, _, name = slot.partition("-")
        words = f"{service} {_slot_words().get(name, name)}".replace("_", " ").replace("-", " ")
        value = forms[0] if forms else "no longer wanted"
        parts.append(f"{words}: {'any will do' if value == DONTCARE else value}")
    return "; ".join(parts) or "nothing new"


@cache
def _slot_words() -> dict[str, str]:
    return read_table(__package__, "words.toml")
