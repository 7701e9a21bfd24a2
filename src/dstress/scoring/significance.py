"""Is the difference between two systems more than chance? Tests for two systems on the same dialogues.

Both resampling tests take `totals_a` and `totals_b`, (dialogues, k), row by row the same dialogues, and are seeded.
Their p-values count the observed data as one more resample (Davison & Hinkley 1997, section 4.2; Phipson & Smyth
2010), so that they are never 0 and never too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.metrics.base import Metric
from dstress.metrics.consistency import OverRuns
from dstress.scoring.resampling import (
    TIE,
    UNKNOWN,
    Floats,
    Interval,
    Value,
    as_totals,
    block_rows,
    counted_dialogues,
    defined,
    evaluate,
    resampled_sums,
    tolerance,
    unseen_share,
)
from dstress.scoring.tally import Tally

Count = Callable[[Floats], float]
"""From sums to how many units, slots or changes their value stands on."""

_FARTHEST = 1e6
_HALVINGS = 40

EXACT_UP_TO = 1000
"""Discordant pairs up to which McNemar's test is exact; beyond, p-values above 0.001 agree within 1 %."""


class Comparison(NamedTuple):
    """Value of A less value of B, its interval, and the two-sided p-value of "no difference"."""

    difference: float
    interval: Interval
    p: float


class McNemar(NamedTuple):
    """A two-sided p-value and how it was found: `exact` or `chi-square`."""

    p: float
    method: str


class PairedTest(NamedTuple):
    """Two systems on the same dialogues: both values, the system's less the baseline's, and whether that is chance.

    `p` is by approximate randomisation, which needs no large sample; `low` to `high` are the differences that the same
    test does not reject, or the bootstrap's (see `paired_bootstrap`) where those reach farther. 0 is outside exactly
    when `p` is at most 1 - level. `at_floor`: no resample reached the difference, so `p` is only as small as their
    number allows. `p_bootstrap` is a second opinion.
    """

    baseline: float
    system: float
    difference: float
    low: float
    high: float
    p: float
    p_bootstrap: float
    at_floor: bool
    dialogues: int

    def tested(self, p_holm: float) -> dict[str, Any]:
        """The fields of a `TestedDifference`, once the p-value is corrected."""
        names = ("difference", "low", "high", "p", "at_floor", "dialogues")
        return {name: getattr(self, name) for name in names} | {"p_holm": p_holm}

    def within_bounds(self, level: float, highest: float = 1.0) -> PairedTest:
        """The same of values with ends: they differ by `highest` at most, also in dialogues of a kind not seen."""
        low, high = self.low, self.high
        if math.isnan(low) and not math.isnan(self.p):
            unseen = highest * unseen_share(self.dialogues, level)
            low, high = self.difference - unseen, self.difference + unseen
        return self._replace(low=max(low, -highest), high=min(high, highest))  # in this order nan stays nan


def paired_test(
    system: Tally, baseline: Tally, metric: str, resamples: int, seed: int, level: float = 0.95
) -> PairedTest:
    """The test that `compare`, `gate` and runs share. Both tallies are of the same dialogues, in the same order."""
    totals = (system.totals(metric), baseline.totals(metric))
    return paired_test_of_metric(*totals, baseline.metrics[metric], resamples, seed, level)


def paired_test_of_metric(
    system: Floats, baseline: Floats, metric: Metric | OverRuns, resamples: int, seed: int, level: float = 0.95
) -> PairedTest:
    """The same from a metric's statistics summed by dialogue."""
    test = paired_test_of_totals(*evenly_weighed(system, baseline, metric.count), metric.value, resamples, seed, level)
    before, after = (float(evaluate(metric.value, totals.sum(axis=0))) for totals in (baseline, system))
    test = test._replace(baseline=before, system=after, difference=after - before)  # without the scale's rounding
    highest = (1.0 if metric.bounded else None) if isinstance(metric, OverRuns) else metric.highest
    return test if highest is None else test.within_bounds(level, highest)


def evenly_weighed(system: Floats, baseline: Floats, count: Count) -> tuple[Floats, Floats]:
    """Both totals, scaled so that they count the same; no value depends on the scale, but what is swapped does.

    Systems may count differently (cJGA counts what each has right), and that is not the difference which is tested.
    """
    ours, theirs = (count(totals.sum(axis=0)) for totals in (system, baseline))
    mean = (ours + theirs) / 2
    return (system * (mean / ours), baseline * (mean / theirs)) if ours and theirs else (system, baseline)


def paired_test_of_totals(
    system: Floats, baseline: Floats, value: Value, resamples: int, seed: int, level: float = 0.95
) -> PairedTest:
    """The same from statistics summed by dialogue, of a value that 0 and 1 need not bound."""
    shared = (system, baseline, value, resamples, seed, level)
    bootstrap, randomised = paired_bootstrap(*shared), approximate_randomisation(*shared)
    before, after = (float(evaluate(value, totals.sum(axis=0))) for totals in (baseline, system))
    low, high = _reconciled(randomised, bootstrap.interval, 1 - level)
    at_floor = randomised.p <= 1 / (1 + resamples)
    tested = (randomised.difference, low, high, randomised.p, bootstrap.p, at_floor)
    return PairedTest(before, after, *tested, int(counted_dialogues(np.abs(system) + np.abs(baseline)).max(initial=0)))


def _reconciled(test: Comparison, bootstrap: Interval, alpha: float) -> Interval:
    """The bootstrap's interval, made as wide as the test's own, but never across a 0 that the test rejects.

    The test's own is too narrow where few dialogues differ: the others are ties that any shift breaks.
    """
    if math.isnan(test.p) or math.isnan(bootstrap.low):
        return UNKNOWN
    low, high = min(test.interval.low, bootstrap.low), max(test.interval.high, bootstrap.high)
    if test.p <= alpha * (1 + TIE):
        low = low if test.difference < 0 or low > 0 else test.interval.low
        high = high if test.difference > 0 or high < 0 else test.interval.high
    return Interval(low, high)


def paired_bootstrap(
    totals_a: Floats, totals_b: Floats, value: Value, resamples: int, seed: int, level: float = 0.95
) -> Comparison:
    """The paired bootstrap: both systems are measured on the same resampled dialogues.

    With d the observed difference and d* the resampled ones, d* - d stands for the noise around "no difference"
    (Efron & Tibshirani 1993, section 16.4; Berg-Kirkpatrick et al. 2012), so

        p = (1 + #{|d* - d| >= |d|}) / (1 + #{d*})

    Where a few dialogues make the difference, such resamples know nothing of those that were as likely and not drawn.
    So the interval is that of Gaffke (2005): every resample has one more dialogue of exponential weight, the most
    extreme one there may be, and its upper and lower end each have the one that is extreme their way. Here it is the
    dialogue on which the systems differ most, as it is or with their names swapped; where none differs, nothing is
    known. Resamples without a value do not count.
    """
    totals_a, totals_b = _paired(totals_a, totals_b)
    sum_a, sum_b, swap = totals_a.sum(axis=0), totals_b.sum(axis=0), totals_b - totals_a
    difference, k = _difference(value, sum_a, sum_b), totals_a.shape[1]
    sums = resampled_sums(np.hstack((totals_a, totals_b)), resamples, seed)
    noise = np.abs(defined(_differences(value, sums[:, :k], sums[:, k:]) - difference))
    if not noise.size:
        return Comparison(difference, UNKNOWN, math.nan)
    p = _p_value(noise, difference)
    swapped = np.nan_to_num(np.abs(_differences(value, sum_a + swap, sum_b - swap) - difference))
    if swapped.max() <= tolerance(difference):
        return Comparison(difference, UNKNOWN, p)
    most = swapped >= swapped.max() - tolerance(difference)  # several may: which comes first must not matter
    extremes = np.unique(np.hstack((totals_a[most], totals_b[most])), axis=0)
    weights = np.random.Generator(np.random.PCG64([seed, 1])).exponential(size=(resamples, 1))
    ends = []
    for more in (*extremes, *np.roll(extremes, k, axis=1)):
        with_more = sums + weights * more
        draws = defined(_differences(value, with_more[:, :k], with_more[:, k:]))
        ends.append(np.quantile(draws, ((1 - level) / 2, (1 + level) / 2)))
    lows, highs = zip(*ends, strict=True)
    return Comparison(difference, Interval(float(min(lows)), float(max(highs))), p)


def approximate_randomisation(
    totals_a: Floats, totals_b: Floats, value: Value, resamples: int, seed: int, level: float = 0.95
) -> Comparison:
    """The approximate randomisation test (Noreen 1989; Yeh 2000): if the systems are alike, their names are arbitrary.

    Each resample swaps the two systems on each dialogue, whole, with probability 1/2;

        p = (1 + #{|d*| >= |d|}) / (1 + #{d*})

    It needs no large sample, unlike the bootstrap. The interval inverts it: a true difference D gives each of the n
    dialogues D/n, so what is left to chance under D is d* - D w*, where w* is the mean of the signs that a resample
    gives to the dialogues; D is in the interval where |d - D| would not be significant. It leaves 0 out exactly when
    p <= 1 - level, and has no end where there are too few dialogues or resamples for any p-value to be that small.
    """
    totals_a, totals_b = _paired(totals_a, totals_b)
    sum_a, sum_b, swap = totals_a.sum(axis=0), totals_b.sum(axis=0), totals_b - totals_a
    if not resamples:
        return Comparison(_difference(value, sum_a, sum_b), UNKNOWN, math.nan)
    differences, signs = [], []
    for swapped in swap_masks(len(totals_a), resamples, seed):
        moved = swapped.astype(np.float64) @ swap
        differences.append(_differences(value, sum_a + moved, sum_b - moved))
        signs.append(1 - 2 * swapped.sum(axis=1) / max(1, len(totals_a)))
    noise, shares = np.concatenate(differences), np.concatenate(signs)
    difference = _difference(value, sum_a, sum_b)
    known = np.isfinite(noise)
    p = _p_value(np.abs(noise[known]), difference)
    if math.isnan(p):
        return Comparison(difference, UNKNOWN, p)

    def rejects(shift: float) -> bool:
        left = np.abs(noise[known] - shift * shares[known])
        return _p_value(left, difference - shift) <= (1 - level) * (1 + TIE)

    low, high = (_last_accepted(rejects, difference, towards) for towards in (-1.0, 1.0))
    return Comparison(difference, Interval(low, high), p)


def swap_masks(dialogues: int, resamples: int, seed: int, *, block: int | None = None) -> Iterator[NDArray[np.uint8]]:
    """Fair coins, (block, dialogues), one bit of the stream each; whole words per row, so blocks do not matter."""
    generator = np.random.Generator(np.random.PCG64(seed))
    words, rows = -(-dialogues // 64), block or block_rows(dialogues)
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), words)
        drawn = generator.integers(0, 2**64 - 1, size=shape, dtype=np.uint64, endpoint=True).astype("<u8")
        yield np.unpackbits(drawn.view(np.uint8), axis=1, count=dialogues)


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
    given = np.asarray(p_values, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(given))
    order = made[np.argsort(given[made], kind="stable")]
    adjusted = np.full(given.shape, math.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * np.arange(order.size, 0, -1)))
    return [float(p) for p in adjusted]


def _paired(totals_a: Floats, totals_b: Floats) -> tuple[Floats, Floats]:
    totals_a, totals_b = as_totals(totals_a), as_totals(totals_b)
    if totals_a.shape != totals_b.shape:
        raise ValueError(f"paired systems have the same dialogues: {totals_a.shape} is not {totals_b.shape}")
    return totals_a, totals_b


def _differences(value: Value, sums_a: Floats, sums_b: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return evaluate(value, sums_a) - evaluate(value, sums_b)


def _difference(value: Value, sums_a: Floats, sums_b: Floats) -> float:
    return float(_differences(value, sums_a, sums_b))


def _p_value(noise: Floats, difference: float) -> float:
    """The share of noise at least as large as the difference, a tie included, with the data as one more resample."""
    if not noise.size or not math.isfinite(difference):
        return math.nan
    reached = np.count_nonzero(noise >= abs(difference) - tolerance(difference))
    return (1 + int(reached)) / (1 + noise.size)


def _last_accepted(rejects: Callable[[float], bool], start: float, towards: float) -> float:
    """How far from the observed difference the test still accepts; 0 is looked at first, so that it is never wrong."""
    inside, step = start, max(abs(start), TIE)
    beyond = 0.0 if start * towards < 0 else start + towards * step
    while not rejects(beyond):
        inside, step = beyond, 2 * step
        beyond = beyond + towards * step
        if step > _FARTHEST:
            return towards * math.inf
    for _ in range(_HALVINGS):
        middle = (inside + beyond) / 2
        inside, beyond = (inside, middle) if rejects(middle) else (middle, beyond)
    return inside
