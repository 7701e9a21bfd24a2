"""The label corrections of MultiWOZ that four scripts share, read from `labels.toml`.

Each script applies them in another place: to gold only (TRADE), to both sides (SimpleTOD), partly to predictions only
(FnCTOD). What is the same stands here, what differs in the conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dstress.text.tables import read_table

Forms = Mapping[str, list[str]]
NO_VALUE = "none"
"""What the tables give for a label that is no value at all."""


@cache
def tables(name: str) -> dict[str, Any]:
    """One of this room's data files, read once."""
    return read_table(__package__, f"{name}.toml")


def turned(*forms: Forms) -> dict[str, str]:
    """`right = [wrong, ...]` -> `{wrong: right}`; a later table overrides an earlier one."""
    return {wrong: right for table in forms for right, wrongs in table.items() for wrong in wrongs}


def typos(*extra: str) -> dict[str, str]:
    """The common table of typing errors, with the tables named by `extra` on top."""
    known = tables("labels")
    return turned(known["typos"], *(known[f"typos_{name}"] for name in extra))


class Misfits:
    """Values that cannot belong to their slot, by whole slot names, then by text that occurs in a slot's name."""

    def __init__(self, *scripts: str, parts: str = "") -> None:
        known = tables("labels")
        self._slots = {slot: turned(forms) for name in scripts for slot, forms in known[name]["slots"].items()}
        self._parts = {part: turned(forms) for part, forms in (known["parts"] | known.get(parts, {})).items()}

    def mend(self, slot: str, value: str) -> str:
        """The value that the script reads instead, `none` for no value, or the value as it is."""
        found = self._slots.get(slot, {}).get(value)
        if found is not None:
            return found
        for part, forms in self._parts.items():
            if part in slot and value in forms:
                return forms[value]
        return value


def surviving(forms: list[str | None]) -> tuple[str, ...]:
    """The forms of a gold value that a script keeps; none if it drops the preferred one, the only one it would know."""
    return () if forms[:1] == [None] else tuple(dict.fromkeys(form for form in forms if form is not None))


def bare(slot: str) -> str:
    """`hotel-book day` -> `book day`: what scripts see that look at the slot without its domain."""
    return slot.partition("-")[2]
