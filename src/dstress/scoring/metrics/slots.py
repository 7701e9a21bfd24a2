"""Accuracies slot by slot: over all slots, over the active ones, over gold's."""

from __future__ import annotations

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric, over_units, ratio


class Sa(Metric):
    """Slot accuracy: (K - missed - wrong) / K over all K slots of the schema; a wrong slot counts once."""

    name = "sa"

    def statistics(self, alignment: Alignment) -> Floats:
        counts, offered = alignment.counts, alignment.slots_of_unit
        mistakes = counts["missed"] + counts["wrong"] + counts["extra"]
        return over_units(ratio(offered - mistakes, offered), offered > 0)


class Aga(Metric):
    """Average goal accuracy: the share of gold's slots that are right, over units where gold has any."""

    name = "aga"

    def statistics(self, alignment: Alignment) -> Floats:
        credit = np.where(alignment.gold & alignment.predicted, alignment.similarity, 0.0)
        return alignment.averaged(credit, alignment.gold)


class Iaga(Metric):
    """Improved average goal accuracy: the (slot, value) pairs that both sides have, of those that either has.

    Over units where gold has any pair. The average of GCA's script, which minds extra slots as `aga` does not.
    """

    name = "iaga"
    on_request = True

    def statistics(self, alignment: Alignment) -> Floats:
        counts = alignment.counts
        gold = counts["right"] + counts["wrong"] + counts["missed"]
        # A wrong slot is two pairs, gold's and the prediction's.
        either = gold + counts["wrong"] + counts["extra"]
        return np.column_stack((np.nan_to_num(ratio(counts["right"], either)), gold > 0)).astype(np.float64)


class Rsa(Metric):
    """Relative slot accuracy: (T* - missed - wrong) / T* over the T* slots that either side fills; 0 where T* is 0."""

    name = "rsa"

    def statistics(self, alignment: Alignment) -> Floats:
        counts = alignment.counts
        active = counts["right"] + counts["wrong"] + counts["missed"] + counts["extra"]
        return over_units(np.nan_to_num(ratio(counts["right"], active)))


class CatAga(Metric):
    """Average goal accuracy over categorical slots (DSTC8's average_cat_accuracy)."""

    name = "cat-aga"
    categorical = True

    def missing(self, alignment: Alignment) -> str:
        kind = "categorical slots" if self.categorical else "slots that are not categorical"
        offered = any(slot.categorical is self.categorical for slot in alignment.columns.schema.slots.values())
        return "" if offered else f"the schema has no {kind}"

    def statistics(self, alignment: Alignment) -> Floats:
        of_kind = alignment.categorical if self.categorical else ~alignment.categorical
        credit = np.where(of_kind & alignment.gold & alignment.predicted, alignment.similarity, 0.0)
        return alignment.averaged(credit, of_kind & alignment.gold)


class NoncatAga(CatAga):
    """Average goal accuracy over slots that are not categorical (DSTC8's average_noncat_accuracy)."""

    name = "noncat-aga"
    categorical = False


class SlotPrecision(Metric):
    """Of all predicted (slot, value) pairs, the share that is right; every turn's whole state counts."""

    name = "slot-precision"

    def statistics(self, alignment: Alignment) -> Floats:
        counts = alignment.counts
        return np.column_stack((counts["right"], counts["right"] + counts["wrong"] + counts["extra"]))


class SlotRecall(Metric):
    """Of all gold (slot, value) pairs, the share that is predicted."""

    name = "slot-recall"

    def statistics(self, alignment: Alignment) -> Floats:
        counts = alignment.counts
        return np.column_stack((counts["right"], counts["right"] + counts["wrong"] + counts["missed"]))


class SlotF1(Metric):
    """The harmonic mean of slot precision and slot recall, over all pairs of the data."""

    name = "slot-f1"

    def statistics(self, alignment: Alignment) -> Floats:
        counts = alignment.counts
        predicted = counts["right"] + counts["wrong"] + counts["extra"]
        gold = counts["right"] + counts["wrong"] + counts["missed"]
        return np.column_stack((2 * counts["right"], predicted + gold))
