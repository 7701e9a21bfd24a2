"""FnCTOD's evaluation: SimpleTOD's script, changed so that the two sides are prepared differently."""

from __future__ import annotations

import re

from dstress.conventions.base import Convention
from dstress.conventions.labels import NO_VALUE, Misfits, bare, surviving, tables, turned, typos

_NOTHING = ("not mentioned", NO_VALUE, "not present")
_OPEN = ("dontcare", "dont care", "do not care")
_LONE_GENITIVE = re.compile(r"(\w)\s('s\s\w+)")


class FncTod(Convention):
    """Set equality; typing errors and `dontcare` are dealt with on the predicted side only.

    The typo table is looked up by value for predictions, but by slot name for gold, where it never applies: a gold
    `guesthouse` cannot be matched, since a predicted one becomes `guest house`. Predicted `dontcare` is removed, gold
    `dontcare` stays: it cannot be matched either. Misfits and a list of names are mended on both sides.
    """

    name = "fnctod"
    reflexive = False

    def __init__(self) -> None:
        self._typos = typos("fnctod")
        self._misfits = Misfits("bare", parts="parts_fnctod")
        self._names = turned(tables("labels")["names_fnctod"])

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return surviving([self._read(slot, value) for value in values])

    def predicted(self, slot: str, value: str) -> str | None:
        if _says(value, _NOTHING):
            return None
        read = self._read(slot, self._typos.get(value, value))
        return None if read is None or _says(read, _OPEN) else read

    def _read(self, slot: str, value: str) -> str | None:
        mended = self._mended(bare(slot), value)
        return None if _says(value, _NOTHING) or _says(mended, _NOTHING) else mended

    def _mended(self, slot: str, value: str) -> str:
        mended = self._misfits.mend(slot, value)
        if mended == value and "area" not in slot and "day" not in slot:
            # Meant for the article, but any value that begins so loses four letters: `theatre` is read as `tre`.
            mended = value[4:] if value.startswith("the") else NO_VALUE if "[value_" in value else value
        mended = _LONE_GENITIVE.sub(r"\1\2", mended)
        return self._names.get(mended, mended)


def _says(value: str, words: tuple[str, ...]) -> bool:
    return any(word in value for word in words)
