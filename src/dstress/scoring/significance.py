"""Is the difference between two systems more than chance? One test for the p-value and for the interval.

The test is approximate randomisation (Noreen 1989; Yeh 2000), in closed form and inverted. If the systems are alike,
their names are arbitrary, and every dialogue shows its difference d either way round with the same probability. If the
true difference is another one, the odds are exp(2 t d), which is exponential tilting (Efron 1981), and chance has two
parts: which way round each dialogue fell, and which dialogues were drawn. Both tails come from the saddlepoint
approximation that Robinson (1982) gives for randomisation tests (Lugannani & Rice 1980, with Daniels' (1987) correction
for ties), so that there is no seed; where few dialogues differ, all swaps are enumerated. The interval holds the
differences whose two-sided p-value is above 1 - level.

Dialogues that do not differ stay ties under every hypothesis. docs/statistics.md has the simulations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dstress.scoring.metrics.base import Metric
from dstress.scoring.metrics.consistency import OverRuns
from dstress.scoring.resampling import (
    TIE,
    UNKNOWN,
    Floats,
    Interval,
    Value,
    as_totals,
    counted_dialogues,
    evaluate,
    unseen_share,
)
from dstress.scoring.tally import Tally

Count = Callable[[Floats], float]
"""From sums to how many units, slots or changes their value stands on."""

EXACT_UP_TO = 1000
"""Discordant pairs up to which McNemar's test is exact; beyond, p-values above 0.001 agree within 1 %."""

ENUMERATED_UP_TO = 24
"""Dialogues that differ up to which the p-value is that of all swaps; beyond, it is approximate."""

_HALVINGS = 45
_MOST_TILT = 2.0**10
_STEPS = 100


class McNemar(NamedTuple):
    """A two-sided p-value and how it was found: `exact` or `chi-square`."""

    p: float
    method: str


class PairedTest(NamedTuple):
    """Two systems on the same dialogues: both values, the system's minus the baseline's, and whether that is chance.

    `low` to `high` are the differences that the test does not reject: 0 is outside exactly when `p` is at most
    1 - level. `differ` is in how many of the dialogues the systems score differently, `gains` how many of these favour
    the system.
    """

    baseline: float
    system: float
    difference: float
    low: float
    high: float
    p: float
    dialogues: int
    differ: int
    gains: int

    def tested(self, p_holm: float) -> dict[str, Any]:
        """The fields of a `TestedDifference`, once the p-value is corrected."""
        names = ("difference", "low", "high", "p", "dialogues", "differ", "gains")
        return {name: getattr(self, name) for name in names} | {"p_holm": p_holm}

    def within_bounds(self, level: float, highest: float = 1.0) -> PairedTest:
        """The same of values between 0 and `highest`: no system falls below 0 or rises above the highest value.

        Where no dialogue differs, the interval is what dialogues of a kind not seen allow.
        """
        low, high = self.low, self.high
        if math.isnan(low) and not math.isnan(self.p):
            unseen = highest * unseen_share(self.dialogues, level)
            low, high = self.difference - unseen, self.difference + unseen
        # In this order nan stays nan.
        return self._replace(low=max(low, -self.baseline), high=min(high, highest - self.baseline))


def paired_test(system: Tally, baseline: Tally, metric: str, level: float = 0.95) -> PairedTest:
    """Test two tallies of the same dialogues, in the same order."""
    return paired_test_of_metric(system.totals(metric), baseline.totals(metric), baseline.metrics[metric], level)


def paired_test_of_metric(
    system: Floats, baseline: Floats, metric: Metric | OverRuns, level: float = 0.95
) -> PairedTest:
    """Test a metric's statistics summed by dialogue: what `compare`, `gate` and runs share."""
    weighed = evenly_weighed(system, baseline, metric.count)
    counts = np.array([metric.count(row) for row in sum(weighed, start=np.zeros(1))])
    test = paired_test_of_totals(*weighed, metric.value, level, counts)
    before, after = (float(evaluate(metric.value, totals.sum(axis=0))) for totals in (baseline, system))
    test = test._replace(baseline=before, system=after, difference=after - before)  # without the scale's rounding
    # A dialogue that both score the same is no evidence, though the one may count more in it than the other; neither is
    # one in which only one of them has anything to score, where the change is undefined.
    change = evaluate(metric.value, system) - evaluate(metric.value, baseline)
    differ, risen = int((np.abs(change) > TIE).sum()), int((change > TIE).sum())
    test = test._replace(differ=differ, gains=risen if metric.higher_is_better else differ - risen)
    highest = highest_value(metric)
    return test if highest is None else test.within_bounds(level, highest)


def highest_value(metric: Metric | OverRuns) -> float | None:
    """The highest value there may be, the lowest being 0; None where a metric has no such ends."""
    return (1.0 if metric.bounded else None) if isinstance(metric, OverRuns) else metric.highest


def evenly_weighed(system: Floats, baseline: Floats, count: Count) -> tuple[Floats, Floats]:
    """Both totals, scaled so that they count the same; no value depends on the scale, but what is swapped does.

    Systems may count differently (cJGA counts what each has right), and that is not the difference which is tested.
    """
    ours, theirs = (count(totals.sum(axis=0)) for totals in (system, baseline))
    mean = (ours + theirs) / 2
    return (system * (mean / ours), baseline * (mean / theirs)) if ours and theirs else (system, baseline)


def paired_test_of_totals(
    system: Floats,
    baseline: Floats,
    value: Value,
    level: float | None = 0.95,
    counts: Floats | None = None,
) -> PairedTest:
    """Test statistics summed by dialogue, (dialogues, k), row by row the same dialogues, of a value without bounds.

    `counts` says how much each dialogue counts in the value; without it all count the same. Without a level there is a
    p-value and no interval.
    """
    system, baseline = as_totals(system), as_totals(baseline)
    if system.shape != baseline.shape:
        raise ValueError(f"paired systems have the same dialogues: {system.shape} is not {baseline.shape}")
    before, after = (float(evaluate(value, totals.sum(axis=0))) for totals in (baseline, system))
    dialogues = int(counted_dialogues(np.abs(system) + np.abs(baseline)).max(initial=0))
    difference = after - before
    if math.isnan(difference):
        return PairedTest(before, after, difference, *UNKNOWN, math.nan, dialogues, 0, 0)
    # What each dialogue adds to the difference: the value with and without a swap of it, halfway between the systems.
    middle, half = (system.sum(axis=0) + baseline.sum(axis=0)) / 2, (system - baseline) / 2
    shares = np.nan_to_num(evaluate(value, middle + half) - evaluate(value, middle - half))
    shares[np.abs(shares) <= TIE * np.abs(shares).max(initial=0)] = 0
    if shares.sum() * difference > 0:
        shares *= difference / shares.sum()  # what is left of curvature; the value of a mean has none
    moved = shares != 0
    p, interval = _test_shares(shares, level, counts) if moved.any() else (1.0, UNKNOWN)
    differ, gains = int(moved.sum()), int((shares > 0).sum())
    return PairedTest(before, after, difference, *interval, p, dialogues, differ, gains)


def _test_shares(shares: Floats, level: float | None, counts: Floats | None) -> tuple[float, Interval]:
    """The p-value of "no difference", and the differences that are not rejected."""
    chance, difference = _Chance(np.abs(shares), counts), float(shares.sum())
    correction = chance.correction(abs(difference))
    p = min(1.0, 2 * correction * chance.tail(0.0, abs(difference)))
    if level is None:
        return p, UNKNOWN
    limit = (1 - level) / 2 * (1 + TIE)

    def end(direction: int) -> float:
        """How far towards that direction the tail on the other side is still above the limit."""
        observed = -direction * difference
        towards_zero = correction if observed > 0 else 1.0

        def rejects(tilt: float) -> bool:
            return towards_zero * chance.tail(-direction * tilt, observed) <= limit

        # At no tilt first, which is the p-value: 0 is outside exactly when that is small.
        if rejects(0.0):
            inside, beyond = -direction * _MOST_TILT, 0.0
        else:
            inside, beyond = 0.0, direction / 8
            while not rejects(beyond):
                inside, beyond = beyond, 2 * beyond
                if abs(beyond) > _MOST_TILT:
                    return chance.mean(inside)
        for _ in range(_HALVINGS):
            middle = (inside + beyond) / 2
            inside, beyond = (inside, middle) if rejects(middle) else (middle, beyond)
        return chance.mean(inside)

    return p, Interval(min(end(-1), difference), max(end(1), difference))


class _Chance:
    """The sum of differences by dialogue under a hypothesis: the sizes are those seen, the directions are chance."""

    def __init__(self, sizes: Floats, counts: Floats | None) -> None:
        moving = sizes[sizes > 0]
        self.unit = float(moving.mean())
        self.sizes, self.moving = sizes / self.unit, moving / self.unit
        self.span = 2 * float(self.moving.min())
        """The smallest step of the sum: one dialogue, the other way round."""
        weights = np.ones(len(sizes)) if counts is None or not counts.sum() else counts
        self.weights = weights / weights.sum()
        # Where a difference needs more than all directions alike, dialogues that differ are drawn more often; the fewer
        # there are, the less is known of how many that should be.
        self.redrawn = 1 / math.sqrt(len(moving))

    def mean(self, tilt: float) -> float:
        """The difference that a tilt stands for."""
        logs, expected = self._hypothesis(tilt)
        return float(self.unit * len(logs) * (np.exp(logs) @ expected))

    def _hypothesis(self, tilt: float) -> tuple[Floats, Floats]:
        """The logarithm of how often each dialogue is drawn, and what it adds on average."""
        logs = self.redrawn * _log_cosh(tilt * self.sizes)
        logs -= logs.max()
        return logs - math.log(np.exp(logs).sum()), self.sizes * np.tanh(tilt * self.sizes)

    def correction(self, observed: float) -> float:
        """By what the approximate tail is multiplied: where few dialogues differ, all swaps are enumerated.

        The sum of two halves is at least what was observed as often as the second half is at least what the first
        leaves, so that the halves are enumerated and not the whole.
        """
        if len(self.moving) > ENUMERATED_UP_TO:
            return 1.0
        first, second = (_all_swaps(half) for half in (self.moving[::2], self.moving[1::2]))
        left = observed / self.unit - TIE * float(self.moving.sum()) - first
        reached = len(second) - np.searchsorted(np.sort(second), left)
        return float(reached.mean()) / len(second) / self.tail(0.0, observed)

    def tail(self, tilt: float, observed: float) -> float:
        """The probability that the sum is at least what was observed, by the saddlepoint approximation."""
        logs, expected = self._hypothesis(tilt)
        drawn = np.exp(logs)
        count, directed, start = len(drawn), np.tanh(tilt * self.moving), _log_cosh(tilt * self.moving)
        mean = count * float(drawn @ expected)
        away = observed / self.unit - mean - self.span / 2
        sampled = expected - mean * self.weights
        sampled -= drawn @ sampled
        # The point at which the sum, weighed by exp(point * sum), has the observed value as its mean.
        point, low, high, slope, curvature = 0.0, -math.inf, math.inf, 0.0, 0.0
        total, top = 1.0, 0.0
        for _ in range(_STEPS):
            turned, exponents = np.tanh((point + tilt) * self.moving), logs + point * sampled
            top = float(exponents.max())
            weights = np.exp(exponents - top)
            total = float(weights.sum())
            weights /= total
            drift = float(weights @ sampled)
            slope = float(self.moving @ (turned - directed)) + count * drift
            curvature = float(self.moving**2 @ (1 - turned**2)) + count * float(weights @ (sampled - drift) ** 2)
            if abs(slope - away) <= TIE * max(1.0, abs(away)):
                break
            low, high = (point, high) if slope < away else (low, point)
            # Newton's step, but no further than to double the point: where the sum cannot reach what was observed, the
            # curvature vanishes and the step has no end.
            furthest = 2 * point + math.copysign(1.0, away - slope)
            step = point + (away - slope) / curvature if curvature > 0 else math.inf
            if not low < step < high or abs(step) > abs(furthest):
                step = (low + high) / 2 if math.isfinite(low + high) else furthest
            if step == point:
                break
            point = step
        cumulants = float((_log_cosh((point + tilt) * self.moving) - start - point * self.moving * directed).sum())
        cumulants += count * (math.log(total) + top)
        root = math.copysign(math.sqrt(max(0.0, 2 * (point * away - cumulants))), point)
        half = min(abs(point) * self.span / 2, 300.0)
        scale = math.copysign(2 * math.sinh(half) / self.span * math.sqrt(curvature), point)
        if abs(root) < 1e-4 or not scale:
            return 0.5
        density = math.exp(-(root**2) / 2) / math.sqrt(2 * math.pi)
        tail = math.erfc(root / math.sqrt(2)) / 2 + density * (1 / scale - 1 / root)
        return min(1.0, max(sys.float_info.min, tail))


def _all_swaps(sizes: Floats) -> Floats:
    """The sums of the sizes in all directions."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate((sums - size, sums + size))
    return sums


def _log_cosh(values: Floats) -> Floats:
    return np.asarray(np.logaddexp(values, -values) - math.log(2), np.float64)


def mcnemar(only_a: int, only_b: int) -> McNemar:
    """McNemar's test (1947) on the turns, or dialogues, that only one of two systems gets right.

    Exact: the binomial at 1/2, both tails. Large: chi-square with Edwards' (1948) continuity correction, never below
    zero. It takes the pairs as independent, as turns of one dialogue are not: prefer it for one turn per dialogue.
    """
    if min(only_a, only_b) < 0:
        raise ValueError("counts of pairs are not negative")
    discordant = only_a + only_b
    if discordant <= EXACT_UP_TO:
        tail = sum(math.comb(discordant, right) for right in range(min(only_a, only_b) + 1))
        return McNemar(min(1.0, 2 * tail / 2**discordant), "exact")
    excess = max(0, abs(only_a - only_b) - 1)
    return McNemar(math.erfc(excess / math.sqrt(2 * discordant)), "chi-square")


def holm(p_values: Sequence[float] | Floats) -> list[float]:
    """Holm's (1979) step-down adjustment, in the order given: safe for any dependence between the tests.

    A test that has no p-value (nan) was not made: it stays nan and does not make the others stricter.
    """
    values = np.asarray(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(values))
    order = made[np.argsort(values[made], kind="stable")]
    adjusted = np.full(values.shape, math.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(order.size, 0, -1)))
    return [float(p) for p in adjusted]
