"""FnCTOD's evaluation: SimpleTOD's script, changed so that the two sides are prepared differently."""

from __future__ import annotations

import re

from dstress.conventions.base import Convention
from dstress.conventions.labels import NO_VALUE, Misfits, bare_slot, invert, kept_forms, read_typos
from dstress.text.tables import read_table

_NOTHING = ("not mentioned", NO_VALUE, "not present")
_OPEN = ("dontcare", "dont care", "do not care")
_LONE_GENITIVE = re.compile(r"(\w)\s('s\s\w+)")


class FncTod(Convention):
    """Set equality; typing errors and `dontcare` are dealt with on the predicted side only.

    The typo table is looked up by value for predictions, but by slot name for gold, where it never applies: a gold
    `guesthouse` cannot be matched, since a predicted one becomes `guest house`. Predicted `dontcare` is removed, gold
    `dontcare` stays: it cannot be matched either. Misfits and a list of names are fixed on both sides.
    """

    name = "fnctod"
    reflexive = False

    def __init__(self) -> None:
        self._typos = read_typos("fnctod")
        self._misfits = Misfits("bare", parts="parts_fnctod")
        self._names = invert(read_table(__package__, "labels.toml")["names_fnctod"])

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return kept_forms([self._read(slot, value) for value in values])

    def predicted(self, slot: str, value: str) -> str | None:
        if _contains(value, _NOTHING):
            return None
        read = self._read(slot, self._typos.get(value, value))
        return None if read is None or _contains(read, _OPEN) else read

    def _read(self, slot: str, value: str) -> str | None:
        slot = bare_slot(slot)
        fixed = self._misfits.fix(slot, value)
        if fixed == value and "area" not in slot and "day" not in slot:
            # Meant for the article, but any value that begins so loses four letters: `theatre` is read as `tre`.
            fixed = value[4:] if value.startswith("the") else NO_VALUE if "[value_" in value else value
        fixed = _LONE_GENITIVE.sub(r"\1\2", fixed)
        fixed = self._names.get(fixed, fixed)
        return None if _contains(value, _NOTHING) or _contains(fixed, _NOTHING) else fixed


def _contains(value: str, words: tuple[str, ...]) -> bool:
    return any(word in value for word in words)
