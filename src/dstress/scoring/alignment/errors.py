"""What an answer has wrong, slot by slot: read off the same cells that every metric counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dstress.conventions.base import without_gold
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns
from dstress.scoring.alignment.profile import ErrorProfile

RIGHT, MISSED, EXTRA, WRONG, REWORDED = range(5)
"""What an answer says of a slot; `REWORDED` is right too, but not in a form that the gold lists."""

Turn = tuple[str, int]
"""A dialogue's id and a turn's number in it."""


class SlotError(NamedTuple):
    """One slot of an answer that is not plainly right: its kind, and the value that was predicted, if any."""

    slot: str
    kind: int
    value: str

    @property
    def is_right(self) -> bool:
        """Whether the convention takes it for right all the same."""
        return self.kind == REWORDED


class TurnErrors(dict[Turn, list[SlotError]]):
    """The errors of each turn that has any. Give it to a scoring as one that watches alignments."""

    def __init__(self, *, counted: bool = True) -> None:
        super().__init__()
        self.profile = ErrorProfile()
        """The same errors, counted, where somebody wants to know."""
        self._is_counted = counted

    def wrong(self, dialogue: str, turn: int) -> list[SlotError]:
        """What is wrong in a turn; a value that is right in other words is not."""
        return [error for error in self.get((dialogue, turn), ()) if not error.is_right]

    def __call__(self, alignment: Alignment) -> None:
        """Take the errors of one alignment in."""
        if self._is_counted:
            self.profile(alignment)
        columns = alignment.columns
        kinds = np.zeros(len(alignment.slot), np.int64)
        kinds[alignment.missed], kinds[alignment.extra], kinds[alignment.wrong] = MISSED, EXTRA, WRONG
        right = np.flatnonzero(alignment.right)
        pairs = np.column_stack((alignment.gold_value[right], alignment.predicted_value[right]))
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        reworded = [_bare(columns, value) not in columns.gold_values[gold - 1] for gold, value in distinct.tolist()]
        kinds[right[np.array(reworded, bool)[which.ravel()]]] = REWORDED
        for cell in np.flatnonzero(kinds).tolist():
            turn = alignment.turn[cell]
            place = (columns.dialogues[columns.turn_dialogue[turn]], int(columns.turn_number[turn]))
            value = _bare(columns, int(alignment.predicted_value[cell]))
            error = SlotError(columns.slots[alignment.slot[cell]], int(kinds[cell]), value)
            self.setdefault(place, []).append(error)


def _bare(columns: Columns, number: int) -> str:
    """A predicted value by its number, without TripPy's mark; empty for none."""
    return without_gold(columns.predicted_values[number - 1]) if number else ""
