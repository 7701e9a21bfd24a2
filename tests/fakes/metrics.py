"""A metric that is better the smaller it is, and is no share of anything."""

from __future__ import annotations

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric, over_units


class WrongSlots(Metric):
    """Slots that are wrong, missed or extra, per unit."""

    name = "wrong-slots"
    higher_is_better = False
    unit = "slots"

    def statistics(self, alignment: Alignment) -> Floats:
        wrong = (alignment.gold | alignment.predicted) & ~alignment.right
        return over_units(np.asarray(alignment.per_unit(wrong), np.float64))
