"""Flexible goal accuracy (Dey et al. 2022): an old mistake is forgiven with time, a new one is not."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dstress.errors import SpecError
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Booleans, Integers
from dstress.scoring.metrics.base import Floats, Metric, over_units


class Fga(Metric):
    """Flexible goal accuracy: an exact turn is 1, a new mistake 0, an old one 1 - exp(-lambda * turns since the last).

    A turn makes a new mistake if it is wrong and the one before was not, or if something that gold or the prediction
    changed in it is wrong. `mistakes=errors` is the rule of the authors' TripPy script instead: the set of wrong slots
    is another than at the last new mistake.
    """

    name = "fga"

    def __init__(self, lambda_: float = 0.5, mistakes: Literal["changes", "errors"] = "changes") -> None:
        if lambda_ <= 0:
            raise SpecError(f"fga: lambda is {lambda_}, but it must be positive")
        self.forgiving, self.mistakes = lambda_, mistakes

    def statistics(self, alignment: Alignment) -> Floats:
        order, start = _by_thread(alignment)
        counts = alignment.counts
        exact = np.asarray(counts["wrong"] + counts["missed"] + counts["extra"] == 0, bool)[order]
        if self.mistakes == "changes":
            changed = _changed_wrongly(alignment)[order]
            is_new = ~exact & (changed | start | np.concatenate(([True], exact[:-1])))
        else:
            is_new = _errors_differ(alignment, order, exact, start)
        position = np.arange(len(order))
        last = np.maximum.accumulate(np.where(is_new | start, position, 0))
        # Without a mistake so far a turn is exact, so the distance is never used.
        score = np.where(exact, 1.0, np.where(is_new, 0.0, 1.0 - np.exp(-self.forgiving * (position - last))))
        result = np.empty(len(order))
        result[order] = score
        return over_units(result)


def _by_thread(alignment: Alignment) -> tuple[Integers, Booleans]:
    """Units in the order of their thread (a dialogue, or a service in it), and where each thread starts."""
    thread = alignment.unit_dialogue * (len(alignment.columns.services) + 1) + alignment.unit_service
    order = np.argsort(thread, kind="stable")
    start = np.ones(len(order), bool)
    start[1:] = thread[order][1:] != thread[order][:-1]
    return order, start


def _changed_wrongly(alignment: Alignment) -> Booleans:
    """Units with a cell in which gold or the prediction says a new value and the two are not the same.

    A dropped value is no new pair on either side: the script compares sets of (slot, value).
    """
    gold = alignment.gold_changed & alignment.gold & ~alignment.right
    predicted = alignment.predicted_changed & alignment.predicted & ~alignment.right
    return np.asarray(alignment.per_unit(gold | predicted) > 0, bool)


def _errors_differ(alignment: Alignment, order: Integers, exact: Booleans, start: Booleans) -> Booleans:
    """Find the units whose set of wrong slots differs from that at the last new mistake."""
    errors: dict[int, set[int]] = {}
    spoiled = np.flatnonzero(alignment.wrong | alignment.missed | alignment.extra)
    for unit, slot in zip(alignment.unit[spoiled].tolist(), alignment.slot[spoiled].tolist(), strict=True):
        errors.setdefault(unit, set()).add(slot)
    is_new = np.zeros(len(order), bool)
    last: set[int] = set()
    was_exact = True
    for position, unit in enumerate(order.tolist()):
        now = errors.get(unit, set())
        if not exact[position] and (start[position] or was_exact or now != last):
            is_new[position], last = True, now
        was_exact = bool(exact[position])
    return is_new
