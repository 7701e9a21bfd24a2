"""The tests and intervals of `scoring`, simulated: type I error, coverage and power, beside other methods.

    python -m benchmarks statistics              the table of docs/statistics.md; half an hour of processor time
    python -m benchmarks.statistics 100 40       100 samples a cell, of 40 dialogues

Dialogues have 3 to 11 turns whose difficulty they share. The last column is the share of samples whose output says that
too few dialogues differ, or too few make a single score, to trust the interval.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student  # type: ignore[import-untyped]

from dstress.scoring.resampling import (
    FEW,
    Bounds,
    Floats,
    Interval,
    interval,
    is_thin,
    percentile_interval,
    resampled_sums,
)
from dstress.scoring.significance import paired_test_of_totals

SIZES = (20, 40, 150, 1000)
ACCURACIES = (0.05, 0.5, 0.95)
SCENARIOS = {
    "no difference, many dialogues differ": 0.0,
    "no difference, 8 % of dialogues differ": 0.0,
    "8 % of dialogues lose every turn": 1.0,
    "8 % of dialogues lose turns": 0.5,
    "every right turn is lost 3 times in 10": 0.3,
}
SAMPLES, RESAMPLES, LEVEL = 1000, 500, 0.95
_TOGETHER = 1.2
"""Concentration of the difficulty: turns of one dialogue correlate by 1 / (1 + this)."""
_POPULATION = 400_000


class Pair(NamedTuple):
    """Two systems on the same dialogues: right turns and turns, by dialogue."""

    system: Floats
    baseline: Floats


class Cell(NamedTuple):
    """Shares of samples: where the truth is inside, and where 0 is outside, of three methods; and what is flagged."""

    ours: float
    t_test: float
    bootstrap: float
    ours_rejects: float
    t_test_rejects: float
    bootstrap_rejects: float
    flagged: float


class SingleCell(NamedTuple):
    """Coverage of a single score's interval by its kind, and the share of samples that are flagged."""

    logit: float
    bca: float
    percentile: float
    flagged: float


def draw_baseline(random: np.random.Generator, dialogues: int, accuracy: float) -> tuple[Floats, Floats, Floats]:
    """Turns of each dialogue, its ease, and how many of the turns the baseline has right."""
    turns = random.integers(3, 12, dialogues)
    ease = random.beta(_TOGETHER * accuracy, _TOGETHER * (1 - accuracy), dialogues)
    return turns.astype(float), ease, random.binomial(turns, ease).astype(float)


def draw_pair(random: np.random.Generator, dialogues: int, accuracy: float, scenario: str) -> Pair:
    """A baseline and a system that differs from it as the scenario says."""
    turns, ease, right = draw_baseline(random, dialogues, accuracy)
    hit, lost = random.random(dialogues) < 0.08, SCENARIOS[scenario]
    redrawn = random.binomial(turns.astype(int), ease)
    if not lost:
        other = redrawn if "many" in scenario else np.where(hit, redrawn, right)
    else:
        kept = random.binomial(right.astype(int), 1 - lost)
        other = np.where(hit, kept, right) if "8 %" in scenario else kept
    return Pair(*(np.column_stack((part, turns)).astype(float) for part in (other, right)))


@cache
def true_difference(accuracy: float, scenario: str) -> float:
    """What the systems differ by in a population that stands for all dialogues."""
    if not SCENARIOS[scenario]:
        return 0.0
    pair = draw_pair(np.random.default_rng(0), _POPULATION, accuracy, scenario)
    return float(_share(pair.system.sum(axis=0)) - _share(pair.baseline.sum(axis=0)))


def simulate(dialogues: int, accuracy: float, scenario: str, samples: int = SAMPLES, seed: int = 1) -> Cell:
    """How often each method is right about samples of so many dialogues."""
    random, truth = np.random.default_rng((seed, dialogues)), true_difference(accuracy, scenario)
    rows = []
    for sample in range(samples):
        pair = draw_pair(random, dialogues, accuracy, scenario)
        test = paired_test_of_totals(*pair, _share, LEVEL, pair.baseline[:, 1]).within_bounds(LEVEL)
        intervals = (Interval(test.low, test.high), _t_interval(pair), _bootstrap(pair, sample))
        # A hair beyond the ends: the truth may be an end itself, as where nothing is left to lose.
        inside = [low - 1e-9 <= truth <= high + 1e-9 for low, high in intervals]
        rejects = [not low <= 0 <= high for low, high in intervals]
        rows.append((*inside, *rejects, test.differ < FEW))
    return Cell(*np.mean(rows, axis=0).tolist())


def simulate_single(dialogues: int, accuracy: float, samples: int = SAMPLES, seed: int = 1) -> SingleCell:
    """The same of the interval of one system's score."""
    random, rows = np.random.default_rng((seed, dialogues)), []
    for sample in range(samples):
        turns, _, right = draw_baseline(random, dialogues, accuracy)
        totals = np.column_stack((right, turns))
        resampled = partial(resampled_sums, totals, RESAMPLES, sample)
        inside = [
            low <= accuracy <= high
            for kind in ("logit", "bca", "percentile")
            for low, high in [interval(totals, resampled, _share, LEVEL, kind, Bounds(dialogues))]
        ]
        rows.append((*inside, is_thin(totals, _share)))
    return SingleCell(*np.mean(rows, axis=0).tolist())


def _share(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1], np.float64)


def _t_interval(pair: Pair) -> Interval:
    """The t-test of the ratio estimator, clustered by dialogue."""
    gaps, turns = pair.system[:, 0] - pair.baseline[:, 0], pair.baseline[:, 1]
    difference, n = gaps.sum() / turns.sum(), len(gaps)
    error = np.sqrt(((gaps - difference * turns) ** 2).sum() * n / (n - 1)) / turns.sum()
    reach = student.ppf((1 + LEVEL) / 2, n - 1) * error
    return Interval(difference - reach, difference + reach)


def _bootstrap(pair: Pair, seed: int) -> Interval:
    """The paired percentile bootstrap over dialogues."""
    totals = np.column_stack((pair.system[:, 0] - pair.baseline[:, 0], pair.baseline[:, 1]))
    return percentile_interval(resampled_sums(totals, RESAMPLES, seed), _share, LEVEL)


def table(samples: int = SAMPLES, sizes: tuple[int, ...] = SIZES) -> Iterator[str]:
    """The rows of docs/statistics.md, in Markdown; cells are shared out over processes."""
    pairs = list(product(sizes, ACCURACIES, SCENARIOS))
    single = list(product(sizes, ACCURACIES))
    with ProcessPoolExecutor() as pool:
        cells = pool.map(simulate, *zip(*pairs, strict=True), [samples] * len(pairs))
        singles = pool.map(simulate_single, *zip(*single, strict=True), [samples] * len(single))
        yield "| n | accuracy | scenario | truth | coverage | t | bootstrap | rejects 0 | t | bootstrap | few |"
        yield "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        for (dialogues, accuracy, scenario), cell in zip(pairs, cells, strict=True):
            shown = " | ".join(f"{100 * share:.1f}" for share in cell[:6])
            truth = f"{100 * true_difference(accuracy, scenario):+.1f}"
            few = f"{cell.flagged:.0%}"
            yield f"| {dialogues:,} | {accuracy:.0%} | {scenario} | {truth} | {shown} | {few} |"
        yield ""
        yield "| n | accuracy | logit | bca | percentile | few |"
        yield "|---:|---:|---:|---:|---:|---:|"
        for (dialogues, accuracy), of_one in zip(single, singles, strict=True):
            shown = " | ".join(f"{100 * share:.1f}" for share in of_one[:3])
            yield f"| {dialogues:,} | {accuracy:.0%} | {shown} | {of_one.flagged:.0%} |"


def run() -> None:
    for row in table():
        print(row, flush=True)


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    for line in table(numbers[0] if numbers else SAMPLES, tuple(numbers[1:]) or SIZES):
        print(line, flush=True)
