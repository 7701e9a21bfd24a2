"""Granular change accuracy (GCA): what changes in the state, counted once, at two levels.

Every change of gold and of the prediction is correct (C), wrong (W), missed (M) or spurious (O). The counts follow the
authors' code, which produced the published numbers: a slot that was filled and is dropped says `none` from then on.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from rapidfuzz.distance import Indel

from dstress.dialogue import DONTCARE
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric, ratio

_ALPHA = 10 / 11
_PAPER_ALPHA = 0.9


class Changes(NamedTuple):
    """Which cells count how often as correct, wrong, missed and spurious: once by gold's change, once by the other."""

    correct: Floats
    wrong: Floats
    missed: Floats
    spurious: Floats


def changes(alignment: Alignment) -> Changes:
    """Judge every change of gold and of the prediction."""
    known_gold, known_predicted = alignment.gold_known, alignment.predicted_known
    gold, predicted = alignment.gold, alignment.predicted
    same = alignment.right | (known_gold & known_predicted & ~gold & ~predicted)
    new_gold, new_predicted = alignment.gold_changed, alignment.predicted_changed
    # First gold's changes, in the order of the code's branches ...
    correct = new_gold & np.where(known_predicted, same, ~gold)
    missed = new_gold & ~known_predicted & gold
    spurious = new_gold & known_predicted & ~same & ~gold
    wrong = new_gold & known_predicted & ~same & gold
    # ... then the prediction's, where a change that gold's turn already judged is not judged again.
    late = new_predicted & known_gold
    spurious_late = new_predicted & ~known_gold & predicted
    correct_late = (new_predicted & ~known_gold & ~predicted) | (late & same & ~correct)
    missed_late = late & ~(same & ~correct) & ~predicted
    wrong_late = late & ~same & predicted & ~wrong
    pairs = ((correct, correct_late), (wrong, wrong_late), (missed, missed_late), (spurious, spurious_late))
    return Changes(*(first.astype(np.float64) + second for first, second in pairs))


def change_counts(alignment: Alignment) -> Floats:
    """C, W, M and O of every unit, as columns."""
    return np.column_stack([alignment.per_unit(cells) for cells in changes(alignment)])


def near_credit(alignment: Alignment) -> Floats:
    """How near the wrong values of each unit's changes come, summed: from 0 for nothing alike towards 1."""
    wrong, forms = changes(alignment).wrong, alignment.forms
    credit = np.zeros(len(wrong))
    for cell in np.flatnonzero((wrong > 0) & alignment.gold & alignment.predicted).tolist():
        credit[cell] = _nearness(forms[alignment.gold_form[cell]], forms[alignment.predicted_form[cell]])
    return alignment.per_unit(credit * wrong)


@lru_cache(maxsize=100_000)
def _nearness(gold: frozenset[str], predicted: frozenset[str]) -> float:
    """Not caring is near no value, whatever letters they share."""
    if DONTCARE in gold | predicted:
        return 0.0
    pairs = product(gold, predicted)
    return float(max(Indel.normalized_similarity(a.casefold(), b.casefold()) for a, b in pairs))


class Gca(Metric):
    """Granular change accuracy: the weighted harmonic mean of value and label precision and recall of all changes.

    `weights=code` (default) is what the published numbers come from: each part weighted by its denominator, values
    10/11. `weights=paper` is the footnote's: values 0.9, labels 0.1. `partial=true` gives near values partial credit.
    """

    name = "gca"
    width = 4

    def __init__(self, weights: Literal["code", "paper"] = "code", partial: bool = False) -> None:
        self.weights, self.partial = weights, partial

    def statistics(self, alignment: Alignment) -> Floats:
        counts = change_counts(alignment)
        if self.partial:
            credit = near_credit(alignment)
            counts[:, 0] += credit
            counts[:, 1] -= credit
        return counts

    def value(self, sums: Floats) -> Floats:
        correct, wrong, missed, spurious = (sums[..., column] for column in range(4))
        predicted, gold = correct + wrong + spurious, correct + wrong + missed
        alpha = _ALPHA if self.weights == "code" else _PAPER_ALPHA
        burden = alpha * ratio(1.0, correct) + (1 - alpha) * ratio(1.0, correct + wrong)
        if self.weights == "code":
            result = ratio(predicted + gold, (predicted**2 + gold**2) * burden)
        else:
            result = ratio(2.0, (predicted + gold) * burden)
        return np.where(correct > 0, result, np.where(predicted + gold > 0, 0.0, np.nan))

    def count(self, sums: Floats) -> float:
        return float(np.sum(sums))


class _Part(Metric):
    """One of GCA's four parts."""

    part: ClassVar[tuple[int, ...]]
    whole: ClassVar[tuple[int, ...]]

    def statistics(self, alignment: Alignment) -> Floats:
        counts = change_counts(alignment)
        return np.column_stack((counts[:, self.part].sum(1), counts[:, self.whole].sum(1)))


class ValuePrecision(_Part):
    """Of all predicted changes, the share with the right value: C / (C + W + O)."""

    name = "value-precision"
    part, whole = (0,), (0, 1, 3)


class ValueRecall(_Part):
    """Of all gold changes, the share with the right value: C / (C + W + M)."""

    name = "value-recall"
    part, whole = (0,), (0, 1, 2)


class LabelPrecision(_Part):
    """Of all predicted changes, the share in a slot that does change: (C + W) / (C + W + O)."""

    name = "label-precision"
    part, whole = (0, 1), (0, 1, 3)


class LabelRecall(_Part):
    """Of all gold changes, the share in a slot that is seen to change: (C + W) / (C + W + M)."""

    name = "label-recall"
    part, whole = (0, 1), (0, 1, 2)
