"""Lemma 1 of CheckDST (appendix A, equation 5): between what conditional JGA must lie, given the two JGAs."""

from __future__ import annotations

import math
from typing import NamedTuple


class Bounds(NamedTuple):
    """The upper bounds are the paper's: the first is reached. The lower is Frechet's: a + b - 1 are right on both."""

    lower: float
    upper: float
    loose_upper: float


def cjga_bounds(jga: float, other: float) -> Bounds:
    """Nan where nothing is right."""
    if max(jga, other) <= 0:
        return Bounds(math.nan, math.nan, math.nan)
    gap = abs(jga - other)
    return Bounds(max(0.0, jga + other - 1) / min(1.0, jga + other), 1 - gap / max(jga, other), 1 - gap)
