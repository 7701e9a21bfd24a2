"""TRADE's evaluation, which SOM-DST and many others took over: gold labels are corrected, predictions are not."""

from __future__ import annotations

from typing import Literal

from dstress.conventions.base import Convention
from dstress.conventions.labels import NO_VALUE, Misfits, read_typos


class Trade(Convention):
    """Set equality after the `fix_label` correction of gold labels; predictions stay as they are.

    A gold label that the correction turns into `none` ("art" as an attraction's type) stays in the gold state, while
    the model never outputs `none`: such a turn cannot be won. So gold, unless corrected before, does not score 1
    against itself. `labels=coco` is the correction in CoCo's data generator, which also renames `dontcare`.
    """

    name = "trade"
    reflexive = False

    def __init__(self, labels: Literal["trade", "coco"] = "trade") -> None:
        self.labels = labels
        self._typos = read_typos("coco") if labels == "coco" else read_typos()
        self._misfits = Misfits("trade", "coco") if labels == "coco" else Misfits("trade")

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._misfits.fix(slot, self._typos.get(value, value)) for value in values))

    def predicted(self, slot: str, value: str) -> str | None:
        return None if value == NO_VALUE else value
