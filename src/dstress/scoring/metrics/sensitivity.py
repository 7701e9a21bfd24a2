"""How much a tracker's answers vary when the same thing is asked in other words: SGD-X's metrics over schema variants.

SGD-X is Lee et al., "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems". No official
script for these exists; the paper's equations decide, and where they are silent, the notes here.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dstress.scoring.metrics.base import Floats, over_units, ratio
from dstress.scoring.metrics.consistency import OverRuns


class Sensitivity(OverRuns):
    """Schema sensitivity: the coefficient of variation over the variants, averaged over units (equations 1 to 3).

    The standard deviation is the sample's (K - 1), as the paper argues. A unit that is wrong under every variant has
    mean 0 and no coefficient; it does not vary, so it counts 0 and stays in the mean; a tracker that is never
    right thus has the best value there is; `over=ever-right` leaves such units out. Less is better; at most sqrt(K).
    """

    higher_is_better = False
    bounded = False

    def __init__(self, metric: str = "jga", over: Literal["all", "ever-right"] = "all") -> None:
        self.metric, self.over = metric, over
        self.name = f"ss({metric})" if over == "all" else f"ss({metric}, over={over})"

    def statistics(self, table: Floats) -> Floats:
        if table.shape[1] < 2:
            raise ValueError("variation needs two variants or more")
        mean = table.mean(axis=1)
        variation = np.nan_to_num(ratio(table.std(axis=1, ddof=1), mean))
        return over_units(variation, None if self.over == "all" else mean > 0)


class NeverRight(OverRuns):
    """Share of units that are wrong under every variant: they count as steady in `ss`."""

    name = "always-wrong"
    higher_is_better = False

    def statistics(self, table: Floats) -> Floats:
        return over_units(np.asarray(table.max(axis=1) <= 0, np.float64))


class OverVariants(OverRuns):
    """The mean of a metric over units and variants (equation 4); the original schema is not one of them."""

    def __init__(self, metric: str = "jga") -> None:
        self.metric, self.name = metric, f"{metric}-v1-5"

    def statistics(self, table: Floats) -> Floats:
        return over_units(table.mean(axis=1))


class OnOriginal(OverRuns):
    """The mean of a metric on the original, the table's first column, over the same units (table 2's JGA orig)."""

    def __init__(self, metric: str = "jga") -> None:
        self.name = f"{metric}-orig"

    def statistics(self, table: Floats) -> Floats:
        return over_units(table[:, 0])


class DiffRel(OverRuns):
    """The relative difference to the original: (mean over variants - original) / original (table 2); -0.1 is a loss
    of a tenth. The original is the table's first column. Undefined where the original has nothing right.
    """

    name = "diff-rel"
    bounded = False

    def statistics(self, table: Floats) -> Floats:
        return np.column_stack((table[:, 1:].mean(axis=1), table[:, 0], np.ones(len(table))))

    def value(self, sums: Floats) -> Floats:
        return ratio(sums[..., 0] - sums[..., 1], sums[..., 1])

    def count(self, sums: Floats) -> float:
        return float(sums[..., 2])
