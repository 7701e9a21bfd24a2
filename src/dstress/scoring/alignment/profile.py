"""Errors, counted for whoever explains them: by slot and dialogue, made or carried on, and which stand between a unit
and being right. Read off the same cells that every metric counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import groupby
from math import prod
from typing import NamedTuple

import numpy as np

from dstress.scoring.alignment.cells import Alignment, Floats
from dstress.scoring.alignment.columns import Booleans

NO_ANSWER = "(no answer)"
"""The value that stands for a failed turn when it is scored: wrong under every convention, also where gold is empty."""
KINDS = ("missed", "wrong", "spurious")
"""What may be wrong with a slot: only gold fills it, both do otherwise, only the prediction does."""
COUNTS = ("right", *KINDS, *(f"fresh {kind}" for kind in KINDS), "at stake")
"""What is counted of every slot in every dialogue. `fresh` are errors in the turn in which they are made; `at stake`
is how much joint accuracy its units would gain, were this slot always right and all else as it is."""


class UnitError(NamedTuple):
    """One slot that is wrong in a unit; `credit` is what a fuzzy convention gives for it, else 0."""

    slot: str
    kind: str
    credit: float


class ErrorProfile:
    """Watches alignments and counts errors. Turns without an answer say nothing of slots, and are counted apart."""

    def __init__(self) -> None:
        self.dialogues: list[str] = []
        self.broken: Counter[tuple[UnitError, ...]] = Counter()
        """What is wrong in the units that are not right, and how many units have just that."""
        self.answered = self.unanswered = 0
        """Units with an answer, and without one."""
        self._units: list[Floats] = []
        self._shards: list[tuple[list[str], Floats]] = []

    def __call__(self, alignment: Alignment) -> None:
        """Take the errors of one alignment in."""
        columns, dialogue = alignment.columns, alignment.unit_dialogue
        size = len(columns.dialogues)
        failed = np.array([False, *(value == NO_ANSWER for value in columns.predicted_values)], bool)
        unanswered = alignment.per_unit(failed[alignment.predicted_value]) > 0
        counted = ~unanswered[alignment.unit]
        error = (alignment.missed | alignment.wrong | alignment.extra) & counted
        carried = ~(alignment.gold_changed | alignment.predicted_changed | alignment.row_start)
        kinds = (alignment.missed, alignment.wrong, alignment.extra)
        cells = [alignment.right & counted, *(kind & counted for kind in kinds)]
        cells += [kind & counted & ~carried for kind in kinds]
        table = np.zeros((size, len(columns.slots), len(COUNTS)))
        for number, chosen in enumerate(cells):
            np.add.at(table[..., number], (dialogue[alignment.unit[chosen]], alignment.slot[chosen]), 1.0)
        self._count_units(alignment, error, table[..., -1])
        made = alignment.per_unit(error & ~carried) > 0
        wrong = (alignment.per_unit(error) > 0) & ~unanswered
        flags = (~unanswered, alignment.joint * ~unanswered, wrong, wrong & made, unanswered)
        self._units.append(np.column_stack([np.bincount(dialogue, flag.astype(np.float64), size) for flag in flags]))
        self._shards.append((columns.slots, table))
        self.dialogues += columns.dialogues
        self.answered += int((~unanswered).sum())
        self.unanswered += int(unanswered.sum())

    def _count_units(self, alignment: Alignment, error: Booleans, at_stake: Floats) -> None:
        """What is wrong in each unit; each of its slots gets what the unit would gain by it."""
        columns, spoiled = alignment.columns, np.flatnonzero(error)
        spoiled = spoiled[np.argsort(alignment.unit[spoiled], kind="stable")]
        kinds = np.select([alignment.missed[spoiled], alignment.wrong[spoiled]], [0, 1], 2).tolist()
        credits = np.where(alignment.wrong[spoiled], alignment.similarity[spoiled], 0.0).tolist()
        rows = zip(alignment.unit[spoiled].tolist(), alignment.slot[spoiled].tolist(), kinds, credits, strict=True)
        for unit, of_unit in groupby(rows, key=lambda row: row[0]):
            errors = [(slot, kind, credit) for _, slot, kind, credit in of_unit]
            whole = prod(credit for _, _, credit in errors)
            for place, (slot, _, _) in enumerate(errors):
                rest = prod(credit for other, (_, _, credit) in enumerate(errors) if other != place)
                at_stake[alignment.unit_dialogue[unit], slot] += rest - whole
            self.broken[
                tuple(UnitError(columns.slots[slot], KINDS[kind], credit) for slot, kind, credit in errors)
            ] += 1

    @property
    def slots(self) -> list[str]:
        """Every slot that either side ever fills."""
        filled = (slots[number] for slots, table in self._shards for number in np.flatnonzero(table.sum(axis=(0, 2))))
        return list(dict.fromkeys(filled))

    def table(self, slots: Collection[str] | None = None) -> Floats:
        """(dialogues, slots, counts), the slots in the order given, else in that of `slots`."""
        chosen = list(self.slots if slots is None else slots)
        parts = []
        for names, table in self._shards:
            place = {slot: number for number, slot in enumerate(names)}
            whole = np.zeros((len(table), len(chosen), len(COUNTS)))
            numbers = [number for number, slot in enumerate(chosen) if slot in place]
            whole[:, numbers] = table[:, [place[chosen[number]] for number in numbers]]
            parts.append(whole)
        return np.concatenate(parts) if parts else np.zeros((0, len(chosen), len(COUNTS)))

    @property
    def units(self) -> Floats:
        """By dialogue: units with an answer, their joint accuracy summed, those with an error, those that make one; and
        units without an answer."""
        return np.concatenate(self._units) if self._units else np.zeros((0, 5))

    def accuracy_with(self, *, slots: Collection[str] = (), kind: str = "") -> float:
        """Joint accuracy over all units, were these slots always right, or were there no errors of one kind."""
        units = self.answered + self.unanswered
        right = float(self.answered - sum(self.broken.values()))
        for errors, number in self.broken.items():
            left = (error.credit for error in errors if error.slot not in slots and error.kind != kind)
            right += number * prod(left)
        return right / units if units else float("nan")
