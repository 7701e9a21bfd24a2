"""Who is better than whom: systems in the order of a metric, and the groups in which no two can be told apart.

Every pair of systems is tested as `compare` tests them, paired by dialogue, on every version of the data; Holm's
correction is over all of these tests. A critical-difference group is a row of neighbours in the order of which no two
differ significantly (the bars of Demsar 2006, section 3.2.3, with pairwise tests in place of Nemenyi's).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from statistics import fmean
from string import ascii_lowercase

import msgspec
import numpy as np

from dstress.runs.judged import JudgedRun, Measured, nothing_to_compare
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.resampling import Bounds, Floats, Value, counted_dialogues, evaluate, interval, resampled_sums
from dstress.scoring.score import ScoringOptions
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import PairedTest, evenly_weighed, highest_value, holm, paired_test_of_totals

MEAN = "mean over stressors"
"""A version of its own: the mean of the metric over all stressors, on the same dialogues."""

Systems = Mapping[str, Measured]
"""One metric of several systems."""


class PairDifference(TestedDifference, frozen=True, kw_only=True):
    """The system's value less the other's."""

    system: str
    other: str
    significant: bool = False


class Standing(msgspec.Struct, frozen=True):
    """Where a system stands on one version of the data. Systems that share a letter in `group` do not differ.

    Systems of the same value share the mean of their ranks; the best is 1. One without a value is last, in no group.
    """

    value: float
    low: float
    high: float
    rank: float
    group: str


class Order(msgspec.Struct, frozen=True):
    """One version of the data: the systems, the best first, the groups of neighbours, and the test of every pair."""

    standings: dict[str, Standing]
    groups: list[list[str]]
    tests: list[PairDifference]

    def test(self, system: str, other: str) -> PairDifference:
        """The test of a pair; the difference is the first one's gain over the second."""
        for test in self.tests:
            if (test.system, test.other) == (system, other):
                return test
            if (test.system, test.other) == (other, system):
                turned = {"difference": -test.difference, "low": -test.high, "high": -test.low}
                gains = None if test.differ is None or test.gains is None else test.differ - test.gains
                return msgspec.structs.replace(test, system=system, other=other, gains=gains, **turned)
        raise KeyError((system, other))


class Ranking(msgspec.Struct, frozen=True):
    """Systems by one metric, on the original, under each stressor and on average over the stressors."""

    metric: str
    alpha: float
    tests: int
    """Over how many tests Holm's correction is."""
    orders: dict[str, Order]
    mean_rank: dict[str, float]
    """Over the original and the stressors."""


def rank_runs(
    judged: Mapping[str, JudgedRun], variants: Sequence[str], metric: str, options: ScoringOptions
) -> Ranking:
    """Rank runs by a metric on the variants on which all of them have it; raises where there are none."""
    versions = {variant: {name: run.measured(variant) for name, run in judged.items()} for variant in variants}
    if ranking := rank_found(metric, versions, options):
        return ranking
    raise nothing_to_compare([metric], judged)


def rank_found(
    metric: str, versions: Mapping[str, Mapping[str, Mapping[str, Measured]]], options: ScoringOptions
) -> Ranking | None:
    """Rank by one of several metrics, on the versions on which every system has it; None where there are none."""
    having = {
        version: {name: metrics[metric] for name, metrics in systems.items()}
        for version, systems in versions.items()
        if all(metric in metrics for metrics in systems.values())
    }
    return rank_systems(metric, having, options) if having else None


def rank_systems(metric: str, versions: Mapping[str, Systems], options: ScoringOptions) -> Ranking:
    """Rank systems by a metric; `versions` are the original and the stressors."""
    columns: dict[str, Sequence[Systems]] = {version: [systems] for version, systems in versions.items()}
    stressed = [systems for version, systems in versions.items() if version != ORIGINAL]
    if len(stressed) > 1:
        columns[MEAN] = stressed
    names = list(next(iter(versions.values())))
    by_name = {
        column: {name: [systems[name] for systems in parts] for name in names} for column, parts in columns.items()
    }
    made = {
        column: {(a, b): _test(parts[a], parts[b], options) for a, b in combinations(names, 2)}
        for column, parts in by_name.items()
    }
    corrected = iter(holm([test.p for tests in made.values() for test in tests.values()]))
    alpha = round(1 - options.level, 12)
    orders = {}
    for column, parts in by_name.items():
        tests = [
            PairDifference(system=system, other=other, **test.tested(p), significant=p <= alpha)
            for ((system, other), test), p in zip(made[column].items(), corrected, strict=False)
        ]
        orders[column] = _order(metric, parts, tests, options)
    count = sum(not math.isnan(test.p) for order in orders.values() for test in order.tests)
    ranks = {name: fmean(orders[version].standings[name].rank for version in versions) for name in names}
    return Ranking(metric, alpha, count, orders, ranks)


def _test(system: Sequence[Measured], other: Sequence[Measured], options: ScoringOptions) -> PairedTest:
    """The paired test; of several parts, that of their mean."""
    if len(system) == 1:
        return system[0].test_against(other[0], options)
    dialogues = _dialogues([*system, *other])
    weighed = [
        evenly_weighed(left.over(dialogues), right.over(dialogues), left.metric.count)
        for left, right in zip(system, other, strict=True)
    ]
    ours, theirs = (np.hstack(side) for side in zip(*weighed, strict=True))
    test = paired_test_of_totals(ours, theirs, _mean_of(system), options.level)
    highest = highest_value(system[0].metric)
    return test if highest is None else test.within_bounds(options.level, highest)


def _dialogues(parts: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(dialogue for part in parts for dialogue in part.dialogues))


def _mean_of(parts: Sequence[Measured]) -> Value:
    """The mean of a metric over parts whose statistics stand side by side."""
    ends = np.cumsum([part.totals.shape[1] for part in parts])[:-1]

    def value(sums: Floats) -> Floats:
        sides = zip(parts, np.split(sums, ends, axis=-1), strict=True)
        return np.asarray(np.mean([part.metric.value(own) for part, own in sides], axis=0), np.float64)

    return value


def _order(
    metric: str, systems: Mapping[str, Sequence[Measured]], tests: list[PairDifference], options: ScoringOptions
) -> Order:
    values = {name: _value(parts, options) for name, parts in systems.items()}
    sign = measure_of(metric).sign
    worth = {name: -math.inf if math.isnan(value) else sign * value for name, (value, *_) in values.items()}
    places = dict(zip(worth, rank_values(list(worth.values())), strict=True))
    order = sorted(systems, key=places.__getitem__)
    apart = {frozenset((test.system, test.other)) for test in tests if test.significant}
    groups = find_groups([name for name in order if math.isfinite(worth[name])], apart)
    # a, b, ... z, then a2, b2, ...
    signs = [f"{letter}{again or ''}" for again in (0, *range(2, 2 + len(groups) // 26)) for letter in ascii_lowercase]
    letters = {
        name: "".join(sign for sign, group in zip(signs, groups, strict=False) if name in group) for name in order
    }
    standings = {name: Standing(*values[name], places[name], letters[name]) for name in order}
    return Order(standings, groups, tests)


def find_groups(order: Sequence[str], apart: set[frozenset[str]]) -> list[list[str]]:
    """The longest rows of neighbours of which no two are apart; everybody is in one, if alone."""
    ends: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(frozenset((order[end], other)) in apart for other in order[start:end]):
            end += 1
        if not ends or end > ends[-1][1]:  # else it is within the row before
            ends.append((start, end))
    return [list(order[start:end]) for start, end in ends]


def rank_values(values: Sequence[float]) -> list[float]:
    """1 for the highest; the same values share the mean of their ranks."""
    return [sum(other > value for other in values) + (1 + values.count(value)) / 2 for value in values]


def _value(parts: Sequence[Measured], options: ScoringOptions) -> tuple[float, float, float]:
    """A system's value with its interval over dialogues."""
    totals = np.hstack([part.over(_dialogues(parts)) for part in parts])
    value, highest = _mean_of(parts), highest_value(parts[0].metric)
    bounds = None if highest is None else Bounds(int(counted_dialogues(totals).max(initial=0)), highest)
    resampled = partial(resampled_sums, totals, options.resamples, options.seed)
    ends = interval(totals, resampled, value, options.level, options.interval, bounds)
    return float(evaluate(value, totals.sum(axis=0))), *ends
