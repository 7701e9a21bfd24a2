"""Is a metric biased, is a tracker better? What the papers' own tables need to say so.

From CheckDST: medians over seeds, marks of the best and the worst, slack behind the best, bounds of conditional JGA.
From GCA: correlations (say, of a metric with the turn), and the interval of the difference of two of them.

CheckDST is "CheckDST: Measuring Real-World Generalization of Dialogue State Tracking Performance"; GCA is Aksu & Chen,
"Granular Change Accuracy: A More Accurate Performance Metric for Dialogue State Tracking".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstress.scoring.resampling import UNKNOWN, Floats, Interval

Flags = NDArray[np.bool_]


class Median(NamedTuple):
    """A median over runs and the standard error of the runs."""

    median: float
    standard_error: float


class Marks(NamedTuple):
    """Which rows of a column are marked best and which worst; a row may be both where all overlap."""

    best: Flags
    worst: Flags


class CjgaBounds(NamedTuple):
    """Where conditional JGA must lie, given the two JGAs."""

    lower: float
    upper: float
    loose_upper: float


def median_and_standard_error(values: ArrayLike) -> Median:
    """As CheckDST reports five seeds (table 2): the median, and the sample standard deviation over sqrt(runs).

    A single run has no standard error (nan).
    """
    runs = np.asarray(values, dtype=np.float64)
    if not runs.size:
        return Median(math.nan, math.nan)
    error = float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else math.nan
    return Median(float(np.median(runs)), error)


def best_and_worst(medians: ArrayLike, errors: ArrayLike, *, higher_is_better: bool = True) -> Marks:
    """The marks of CheckDST's tables 2, 4 and 5: the best row, and every row whose median -+ standard error overlaps
    the best row's; likewise the worst. (The caption says "overlap ... with the best/worst score"; we read that as
    interval against interval.) Touching counts as overlap; an unknown error counts as 0; an unknown median has no mark.
    """
    centres = np.asarray(medians, dtype=np.float64) * (1 if higher_is_better else -1)
    widths = np.nan_to_num(np.asarray(errors, dtype=np.float64))
    return Marks(_overlap_with_top(centres, widths), _overlap_with_top(-centres, widths))


def _overlap_with_top(centres: Floats, widths: Floats) -> Flags:
    """Which intervals reach that of the highest centre, but for rounding."""
    if np.isnan(centres).all():
        return np.zeros(centres.shape, dtype=np.bool_)
    lower_end = (centres - widths)[centres == np.nanmax(centres)].min()
    return np.asarray(centres + widths >= lower_end - 1e-9 * max(1.0, abs(lower_end)))


def average_slack(scores: ArrayLike, *, higher_is_better: Sequence[bool] | bool = True) -> Floats:
    """Per system, the mean over metrics of how far it is behind the best system (CheckDST, table 3): less is better.

    `scores` is (systems, metrics), all on one scale; a metric that a system lacks (nan) is left out of its mean.
    From the rounded medians of table 5 this gives the few-shot column to 0.02 for six of seven systems (not SimpleTOD:
    13.49, printed 14.11); the full-shot column (from table 2) differs by up to 0.8, so the authors used other numbers
    there than those they print.
    """
    gains = np.asarray(scores, dtype=np.float64) * np.where(higher_is_better, 1.0, -1.0)
    known = ~np.isnan(gains)
    best = np.where(known, gains, -np.inf).max(axis=0)
    behind = np.where(known, best - np.where(known, gains, 0.0), 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(behind / known.sum(axis=1), dtype=np.float64)


def cjga_bounds(jga: float, perturbed_jga: float) -> CjgaBounds:
    """Between what conditional JGA, both right given that either is, must lie.

    The upper bounds are Lemma 1 of CheckDST (appendix A, equation 5): 1 - |a - b| / max(a, b), which is reached, and
    1 - |a - b|. The lower bound is ours: at least a + b - 1 are right on both (Frechet). Nan where nothing is right.
    """
    most = max(jga, perturbed_jga)
    if most <= 0:
        return CjgaBounds(math.nan, math.nan, math.nan)
    both = jga + perturbed_jga
    gap = abs(jga - perturbed_jga)
    return CjgaBounds(max(0.0, both - 1) / min(1.0, both), 1 - gap / most, 1 - gap)


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation; nan where one side does not vary or there are fewer than two pairs."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"pairs are two rows of one length, not {first.shape} and {second.shape}")
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    first, second = first - first.mean(), second - second.mean()
    correlation = float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))
    return max(-1.0, min(1.0, correlation))


def zou_interval(first: float, second: float, between: float, pairs: int, level: float = 0.95) -> Interval:
    """Zou's (2007) interval for `first - second`, two correlations that share a variable, as GCA 5.2 uses it.

    `first` is the correlation of the shared variable (say, turn offset) with one variable (FGA), `second` that with
    the other (GCA), `between` that of the two others. ("Toward using confidence intervals to compare correlations",
    Psychological Methods 12, 399-413; GCA cites it as 2008.) The difference is significant where 0 lies outside. The
    ends join the Fisher intervals of both, less what their own correlation shares. Unknown with fewer than four pairs.
    """
    if pairs < 4 or math.isnan(first + second + between):
        return UNKNOWN
    first_ends, second_ends = fisher_interval(first, pairs, level), fisher_interval(second, pairs, level)
    shared = _correlation_of_correlations(first, second, between)
    down = _join_widths(first - first_ends.low, second_ends.high - second, shared)
    up = _join_widths(first_ends.high - first, second - second_ends.low, shared)
    return Interval(first - second - down, first - second + up)


def fisher_interval(correlation: float, pairs: int, level: float = 0.95) -> Interval:
    """Fisher's (1921) interval of a correlation; unknown with fewer than four pairs."""
    if pairs < 4 or math.isnan(correlation):
        return UNKNOWN
    if abs(correlation) >= 1:
        return Interval(correlation, correlation)
    centre = math.atanh(correlation)
    width = NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(pairs - 3)
    return Interval(math.tanh(centre - width), math.tanh(centre + width))


def _correlation_of_correlations(first: float, second: float, between: float) -> float:
    """Zou's equation for overlapping correlations, after Olkin & Siotani; 0 where one is exact and so does not vary."""
    unexplained = (1 - first**2) * (1 - second**2)
    if unexplained <= 0:
        return 0.0
    left_over = 1 - first**2 - second**2 - between**2
    return ((between - first * second / 2) * left_over + between**3) / unexplained


def _join_widths(first: float, second: float, shared: float) -> float:
    """The width of a difference, from the widths of its two sides and how far they vary together."""
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * shared * first * second))
