"""The label corrections of MultiWOZ that four scripts share, read from `labels.toml`.

Each script applies them in another place: to gold only (TRADE), to both sides (SimpleTOD), partly to predictions only
(FnCTOD). What is the same stands here, what differs in the conventions.
"""

from __future__ import annotations

from collections.abc import Mapping

from dstress.text.tables import read_table

NO_VALUE = "none"
"""What the tables give for a label that is no value at all."""


def invert(*tables: Mapping[str, list[str]]) -> dict[str, str]:
    """`right = [wrong, ...]` -> `{wrong: right}`; a later table overrides an earlier one."""
    return {wrong: right for table in tables for right, wrongs in table.items() for wrong in wrongs}


def read_typos(*scripts: str) -> dict[str, str]:
    """The common table of typing errors, with those of some scripts on top."""
    tables = read_table(__package__, "labels.toml")
    return invert(tables["typos"], *(tables[f"typos_{name}"] for name in scripts))


class Misfits:
    """Values that cannot belong to their slot, by whole slot names, then by text that occurs in a slot's name."""

    def __init__(self, *scripts: str, parts: str = "") -> None:
        tables = read_table(__package__, "labels.toml")
        self._slots = {slot: invert(forms) for name in scripts for slot, forms in tables[name]["slots"].items()}
        self._parts = {part: invert(forms) for part, forms in (tables["parts"] | tables.get(parts, {})).items()}

    def fix(self, slot: str, value: str) -> str:
        """The value that the script reads instead, `none` for no value, or the value as it is."""
        fixed = self._slots.get(slot, {}).get(value)
        if fixed is not None:
            return fixed
        for part, forms in self._parts.items():
            if part in slot and value in forms:
                return forms[value]
        return value


def kept_forms(forms: list[str | None]) -> tuple[str, ...]:
    """The forms of a gold value that a script keeps; none if it drops the preferred one, the only one it would know."""
    return () if forms[:1] == [None] else tuple(dict.fromkeys(form for form in forms if form is not None))


def bare_slot(slot: str) -> str:
    """`hotel-book day` -> `book day`: what scripts see that look at the slot without its domain."""
    return slot.partition("-")[2]
