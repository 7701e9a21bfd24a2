"""Resampling and intervals. Dialogues are resampled, never turns, because the turns of a dialogue fail together.

A metric leaves `totals`, an array (dialogues, k): per dialogue, k summed statistics. Its value is a function of sums,
(..., k) to (...), that gives nan where it is undefined. So a resample is a vector of counts, all resamples of all
metrics are one matrix product, and only the k sums are kept of each.

    logit_interval(totals, accuracy)                            # needs no resamples
    resampled = resampled_sums(totals, 10_000, seed=0)          # once for all metrics
    bca_interval(totals, resampled, accuracy)                   # once per metric

Where the dialogues do not fit in memory or lie on many machines, `PoissonAccumulator` does the same in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Value = Callable[[Floats], Any]
"""From sums, (..., k), to values, (...); nan where a value is undefined."""

TIE = 1e-12
"""Two values nearer than this, relative to their size, are one: sums taken in another order differ in the last bits."""
_BLOCK_CELLS = 1 << 18
_LEAST_ROWS = 16
_MANY = 1000
"""Degrees of freedom beyond which Student's t is the normal with one correction, to five digits."""
_NORMAL = NormalDist()

Kind = Literal["logit", "bca", "percentile"]


class Interval(NamedTuple):
    """A confidence interval, ends included; (nan, nan) where nothing is known."""

    low: float
    high: float


FEW = 6
"""Where fewer dialogues differ, no randomisation test reaches 0.05, and a 95 % interval holds less often than that."""

UNKNOWN = Interval(math.nan, math.nan)


def evaluate(value: Value, sums: Floats) -> Floats:
    """The values of sums. Division by zero is a metric's way to say "undefined" here, not worth a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(value(sums), dtype=np.float64)


def defined(values: Floats) -> Floats:
    """The values that exist: a resample without, say, any coreference turn says nothing about coreference."""
    return values[np.isfinite(values)]


def tolerance(*values: float) -> float:
    """How near two values of this size may lie and still be a tie."""
    return TIE * max(1.0, *(abs(value) for value in values))


def block_rows(width: int) -> int:
    """How many rows of that width are made at a time: few enough for the cache, enough for the matrix product."""
    return max(_LEAST_ROWS, _BLOCK_CELLS // max(width, 1))


def resample_weights(
    dialogues: int, resamples: int, seed: int, *, block: int | None = None
) -> Iterator[NDArray[np.int64]]:
    """How often each dialogue is drawn in each resample of the ordinary bootstrap (Efron 1979), in blocks of rows.

    The draws are 32-bit numbers of one PCG64 stream, whose spare half word outlives a call, so that the rows do not
    depend on the size of the blocks. They do depend on numpy keeping its stream, as its `Generator` policy says.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    rows = block or block_rows(dialogues)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        draws = generator.integers(0, max(dialogues, 1), size=(size, dialogues), dtype=np.uint32)
        cells = draws + dialogues * np.arange(size, dtype=np.int64)[:, None]
        yield np.bincount(cells.ravel(), minlength=size * dialogues).reshape(size, dialogues)


def resampled_sums(totals: Floats, resamples: int, seed: int) -> Floats:
    """The sums of every bootstrap resample, (resamples, k). One seed gives one set of resamples, whatever the metric,
    so that systems measured with the same seed on the same dialogues are compared pair by pair."""
    totals = as_totals(totals)
    sums = np.empty((resamples, totals.shape[1]))
    start = 0
    for counts in resample_weights(len(totals), resamples, seed):
        np.matmul(counts.astype(np.float64), totals, out=sums[start : start + len(counts)])
        start += len(counts)
    return sums


def as_totals(totals: Floats) -> Floats:
    """The totals as they must be: two dimensions, float64, rows together in memory."""
    checked = np.ascontiguousarray(totals, dtype=np.float64)
    if checked.ndim != 2:
        raise ValueError(f"totals have the shape (dialogues, k), not {checked.shape}")
    return checked


class Bounds(NamedTuple):
    """Of a value between 0 and `highest`: over how many dialogues it is."""

    dialogues: int
    highest: float = 1.0


def interval(
    totals: Floats | None,
    resampled: Callable[[], Floats],
    value: Value,
    level: float,
    kind: Kind,
    bounds: Bounds | None,
) -> Interval:
    """The interval of a kind; of a stream, whose `totals` by dialogue were not kept, the percentile interval.

    A value without bounds has no logit: it gets the BCa interval instead. Where no dialogue changes the value (all
    right, all wrong, one dialogue), the data show no spread, which is not certainty: a value with bounds may be as far
    off as `unseen_share` allows for the dialogues that it counts; of one without bounds nothing is known.
    """
    if totals is None:
        draws = defined(evaluate(value, resampled()))
    else:  # the value itself, and what it is without each dialogue
        draws = defined(evaluate(value, totals.sum(axis=0) - np.vstack((0 * totals[:1], totals))))
    if draws.size and np.ptp(draws) <= tolerance(float(draws[0])):
        if bounds is None:
            return UNKNOWN
        point, unseen = float(draws[0]), unseen_share(bounds.dialogues, level)
        return Interval(point * (1 - unseen), point + (bounds.highest - point) * unseen)
    if totals is None or kind == "percentile":
        return percentile_interval(resampled(), value, level)
    if kind == "bca" or bounds is None:
        return bca_interval(totals, resampled(), value, level)
    return logit_interval(totals, value, level, bounds.highest)


class Spread(NamedTuple):
    """How far a value may be off: its standard error by the jackknife over so many dialogues (Tukey 1958)."""

    point: float
    error: float
    dialogues: int

    def evidence(self, highest: float = 1.0) -> float:
        """How many dialogues' worth of the rarer outcome the value is based on: of its errors, or of what is right.

        A share of p over independent units has p (1 - p) / error^2 of them, whatever the dialogues hang together.
        """
        share = self.point / highest
        units = share * (1 - share) / (self.error / highest) ** 2 if self.error else 0.0
        return units * min(share, 1 - share)


def spread(totals: Floats, value: Value) -> Spread:
    """The jackknife: leave-one-out sums are the whole minus a row, of the dialogues with anything to count."""
    totals = as_totals(totals)
    whole = totals.sum(axis=0)
    left_out = defined(evaluate(value, whole - totals[totals.any(axis=1)]))
    n = left_out.size
    error = math.sqrt((n - 1) * float(np.var(left_out))) if n else math.nan
    return Spread(float(evaluate(value, whole)), error, n)


def is_thin(totals: Floats, value: Value, highest: float = 1.0) -> bool:
    """Whether an interval is based on so little that it may be too narrow; one without any spread is exact."""
    return 0 < spread(totals, value).evidence(highest) < FEW


def logit_interval(totals: Floats, value: Value, level: float = 0.95, highest: float = 1.0) -> Interval:
    """Student's interval on the scale of log odds, from the jackknife over dialogues, for values from 0 to `highest`.

    It stays within the ends and is skewed as values near them are, and it needs no resamples.
    """
    point, error, dialogues = spread(totals, value)
    share = point / highest
    if not 0 < share < 1 or dialogues < 2:
        return Interval(point, point) if dialogues else UNKNOWN
    centre, reach = math.log(share / (1 - share)), _student(_tails(level)[1], dialogues - 1)
    reach *= error / highest / (share * (1 - share))
    # tanh, unlike exp, has no overflow.
    low, high = (highest * (1 + math.tanh((centre + side * reach) / 2)) / 2 for side in (-1, 1))
    return Interval(low, high)


def _student(share: float, freedom: int) -> float:
    """The quantile of Student's t, by halving its distribution, whose closed form is of Zelen & Severo (1964, 26.7)."""

    def below(t: float) -> float:
        angle = math.atan(t / math.sqrt(freedom))
        cosine, sine = math.cos(angle), math.sin(angle)
        term, total = (cosine, 0.0) if freedom % 2 else (1.0, 0.0)
        for number in range(freedom % 2, freedom - 1, 2):
            total += term
            term *= cosine**2 * (number + 1) / (number + 2)
        middle = 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total
        return (1 + middle) / 2

    if freedom > _MANY:
        z = _NORMAL.inv_cdf(share)
        return z + (z**3 + z) / (4 * freedom)
    low, high = 0.0, 1.0
    while below(high) < share:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return high


def unseen_share(dialogues: int, level: float) -> float:
    """How large a share of all dialogues may be of a kind that none of these is: the exact form of the rule of three.

    A kind of share s is missed by all of n dialogues with probability (1 - s) ** n (Clopper & Pearson 1934). Dialogues
    count, not turns: nothing was seen of how such turns would hang together, so they may fill whole dialogues.
    """
    return float(1 - _tails(level)[0] ** (1 / dialogues)) if dialogues else 1.0


def counted_dialogues(totals: Floats) -> NDArray[np.int64]:
    """How many dialogues have anything to count, in each column of statistics."""
    return np.asarray(np.count_nonzero(totals, axis=0), np.int64)


def percentile_interval(resampled: Floats, value: Value, level: float = 0.95) -> Interval:
    """The middle `level` of the resampled values (Efron 1979), over the resamples where the value is defined."""
    draws = defined(evaluate(value, resampled))
    return _between(draws, *_tails(level)) if draws.size else UNKNOWN


def bca_interval(totals: Floats, resampled: Floats, value: Value, level: float = 0.95) -> Interval:
    """The bias-corrected and accelerated interval (Efron 1987; Efron & Tibshirani 1993, section 14.3).

    Better than the percentile interval near 0 and 1, where the values of a good or a poor tracker are skewed. A value
    that no resample changes (one dialogue, or all alike) gives the point itself; `interval` knows better.
    """
    totals = as_totals(totals)
    point = float(evaluate(value, totals.sum(axis=0)))
    draws = defined(evaluate(value, resampled))
    if not draws.size or not math.isfinite(point):
        return UNKNOWN
    if np.abs(draws - point).max() <= tolerance(point):
        return Interval(point, point)
    return _between(draws, *_corrected(_tails(level), _bias(draws, point), _acceleration(totals, value)))


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not at {level}")
    return (1 - level) / 2, (1 + level) / 2


def _between(draws: Floats, low: float, high: float) -> Interval:
    ends = np.quantile(draws, (low, high))
    return Interval(float(ends[0]), float(ends[1]))


def _bias(draws: Floats, point: float) -> float:
    """z0. A tie counts half, since a metric over few dialogues takes few values; kept finite where all lie one side."""
    slack = tolerance(point)
    below, above = np.mean(draws < point - slack), np.mean(draws > point + slack)
    share = (1 + below - above) / 2
    edge = 1 / (draws.size + 1)
    return _NORMAL.inv_cdf(float(np.clip(share, edge, 1 - edge)))


def _acceleration(totals: Floats, value: Value) -> float:
    """a, from the jackknife over dialogues: leave-one-out sums are the whole less a row."""
    left_out = defined(evaluate(value, totals.sum(axis=0) - totals))
    if left_out.size < 2:
        return 0.0
    deviations = left_out.mean() - left_out
    spread = float(np.sqrt(np.mean(deviations**2)))
    if spread <= tolerance(float(left_out.mean())):
        return 0.0
    return float(np.mean((deviations / spread) ** 3) / (6 * math.sqrt(left_out.size)))


def _corrected(tails: tuple[float, float], bias: float, acceleration: float) -> tuple[float, float]:
    """The tails to cut; the plain ones where the acceleration is too strong for the correction to mean anything."""
    corrected = []
    for tail in tails:
        shifted = bias + _NORMAL.inv_cdf(tail)
        if (stretch := 1 - acceleration * shifted) <= 0:
            return tails
        corrected.append(_NORMAL.cdf(bias + shifted / stretch))
    return corrected[0], corrected[1]


class PoissonAccumulator:
    """A bootstrap over a stream (Oza & Russell 2001; Chamandy et al. 2012, "Estimating uncertainty for massive data
    streams"): each dialogue counts Poisson(1) times in each resample, so nobody needs to know how many there are.

    The count of a dialogue in resample r is a hash of (seed, dialogue, r) and nothing else. So shards may come in any
    order and on any machine and merge by addition, a dialogue may come in parts, and two systems that saw the same
    dialogues are resampled alike. Memory is (resamples, k), whatever the stream.
    """

    def __init__(self, k: int, resamples: int, seed: int) -> None:
        self.seed = seed
        self.total: Floats = np.zeros(k)
        """The plain sums, from which the value itself comes."""
        self.sums: Floats = np.zeros((resamples, k))
        """The sums of each resample, for `percentile_interval`."""
        self.counted: NDArray[np.int64] = np.zeros(k, np.int64)
        """How many dialogues have anything to count, in each column."""

    def add(self, ids: Sequence[str], totals: Floats) -> None:
        """Count some dialogues, in blocks that fit the cache."""
        totals = as_totals(totals)
        if totals.shape != (len(ids), self.total.size):
            raise ValueError(f"{len(ids)} dialogues of {self.total.size} statistics, but totals of {totals.shape}")
        # A 64-bit key per dialogue; Python's own `hash` would change from process to process.
        digests = b"".join(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in ids)
        names = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
        keys = _mix(names ^ _mix(np.array([self.seed % 2**64], dtype=np.uint64) + _GOLDEN))
        rows = block_rows(len(self.sums))
        for start in range(0, len(keys), rows):
            part = slice(start, start + rows)
            self.sums += poisson_weights(keys[part], len(self.sums)).astype(np.float64) @ totals[part]
        self.total += totals.sum(axis=0)
        self.counted += counted_dialogues(totals)

    def merge(self, other: PoissonAccumulator) -> None:
        """Add what another shard saw."""
        if (self.seed, self.sums.shape) != (other.seed, other.sums.shape):
            raise ValueError("only accumulators with one seed, one k and as many resamples merge")
        self.total += other.total
        self.sums += other.sums
        self.counted += other.counted


def poisson_weights(keys: NDArray[np.uint64], resamples: int) -> NDArray[np.uint8]:
    """Poisson(1) counts, (resamples, dialogues): the SplitMix64 stream of each key, inverted by a table of the CDF."""
    steps = np.arange(1, resamples + 1, dtype=np.uint64) * _GOLDEN
    uniform = (_mix(keys[None, :] + steps[:, None]) >> np.uint64(32)).astype(np.uint32)
    counts = np.zeros(uniform.shape, dtype=np.uint8)
    for threshold in _POISSON_CDF:
        counts += uniform >= threshold
    return counts


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_POISSON_CDF = np.array(
    [round(2**32 * math.exp(-1) * sum(1 / math.factorial(i) for i in range(count + 1))) for count in range(12)],
    dtype=np.uint32,
)
"""Below threshold j of 2**32, a count is at most j. Twelve are all that 32 bits can tell apart."""


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014), modulo 2**64."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
