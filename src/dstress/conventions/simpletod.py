"""SimpleTOD's evaluation, as the CoCo paper runs it on every model: whatever says `none` or `dontcare` vanishes."""

from __future__ import annotations

from typing import Literal

from dstress.conventions.base import Convention
from dstress.conventions.labels import NO_VALUE, Misfits, bare_slot, kept_forms

_NEVER_SAID = "not mentioned"
_IGNORED = (_NEVER_SAID, "dontcare", NO_VALUE)


class SimpleTod(Convention):
    """Set equality once both sides have lost every belief with `none` or `dontcare` in it, even inside a word.

    That is CoCo's copy of the script, with its label cleaning: of TRADE's corrections only those for misfits reach a
    value, since the table of typing errors is looked up by slot name by mistake. `dontcare=keep` is the script that
    SimpleTOD itself released, without its optional cleaning: only `not mentioned`, and a predicted `none`, vanish.
    """

    name = "simpletod"

    def __init__(self, dontcare: Literal["drop", "keep"] = "drop") -> None:
        self.dontcare = dontcare
        self._misfits = Misfits("bare")

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return kept_forms([self._read(slot, value) for value in values])

    def predicted(self, slot: str, value: str) -> str | None:
        if self.dontcare == "keep" and value.split()[-1:] in ([], [NO_VALUE]):
            return None
        return self._read(slot, value)

    def _read(self, slot: str, value: str) -> str | None:
        if self.dontcare == "keep":
            return None if _NEVER_SAID in value else value
        fixed = self._misfits.fix(bare_slot(slot), value)
        return None if any(word in fixed for word in _IGNORED) else fixed
