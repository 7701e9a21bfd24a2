"""Ranks, and groups of systems that cannot be told apart: laws of the groups, and every number by another way."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dstress.reports.analysis.ranking import MEAN, Ranking, find_groups, rank_systems, rank_values
from dstress.runs.judged import Measured
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.metrics import metrics, pair_metrics
from dstress.scoring.score import ScoringOptions
from dstress.scoring.significance import holm

FEW = ScoringOptions(resamples=500)
NAMES = [f"d{number}" for number in range(30)]


def measured(right: list[int], metric: str = "jga") -> Measured:
    """A dialogue a number, of ten turns, so many of them right."""
    totals = np.array([[number, 10] for number in right], float)
    made = pair_metrics.create(metric) if metric in pair_metrics else metrics.create(metric)
    return Measured(NAMES[: len(right)], totals, made)


def noisy(level: float, seed: int) -> Measured:
    return measured(np.random.default_rng(seed).binomial(10, level, size=len(NAMES)).tolist())


def ranked(**levels: float) -> Ranking:
    versions = {
        version: {name: noisy(level - cost, seed) for seed, (name, level) in enumerate(levels.items())}
        for version, cost in ((ORIGINAL, 0.0), ("typos", 0.05), ("speech", 0.2))
    }
    return rank_systems("jga", versions, FEW)


@given(st.integers(1, 9), st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20))
def test_groups_are_the_longest_rows_that_nothing_tells_apart(size: int, pairs: set[tuple[int, int]]) -> None:
    order = [str(number) for number in range(size)]
    apart = {frozenset((str(one), str(other))) for one, other in pairs if one != other}

    def is_row(row: list[str]) -> bool:
        return not any(frozenset(pair) in apart for pair in combinations(row, 2))

    rows = [order[a:b] for a in range(size) for b in range(a + 1, size + 1) if is_row(order[a:b])]
    longest = [row for row in rows if not any(set(row) < set(other) for other in rows)]
    assert sorted(find_groups(order, apart)) == sorted(longest)


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=12))
def test_ranks_are_those_of_scipy(values: list[float]) -> None:
    assert rank_values(values) == stats.rankdata([-value for value in values]).tolist()


def test_every_pair_is_tested_as_compare_does_and_holm_is_over_all() -> None:
    made = ranked(a=0.8, b=0.75, c=0.4)
    assert list(made.orders) == [ORIGINAL, "typos", "speech", MEAN]
    tests = [test for order in made.orders.values() for test in order.tests]
    assert made.tests == len(tests) == 12
    assert [test.p_holm for test in tests] == holm([test.p for test in tests])
    plain = noisy(0.8, 0).test_against(noisy(0.75, 1), FEW)
    assert made.orders[ORIGINAL].test("a", "b").p == plain.p
    turned = made.orders[ORIGINAL].test("b", "a")
    assert (turned.difference, turned.low, turned.high) == (-plain.difference, -plain.high, -plain.low)
    assert turned.significant == made.orders[ORIGINAL].test("a", "b").significant
    standings = made.orders[ORIGINAL].standings
    assert standings["c"].group not in standings["a"].group and standings["c"].rank == 3
    with pytest.raises(KeyError):
        made.orders[ORIGINAL].test("a", "nobody")


def test_the_mean_is_that_of_the_stressors_and_its_test_that_of_the_mean() -> None:
    made = ranked(a=0.8, b=0.6, c=0.4)
    for name, standing in made.orders[MEAN].standings.items():
        parts = [made.orders[version].standings[name].value for version in ("typos", "speech")]
        assert standing.value == pytest.approx(np.mean(parts))
        assert standing.low < standing.value < standing.high
    one, other = noisy(0.8, 0), noisy(0.6, 1)
    twice = rank_systems("jga", {version: {"a": one, "b": other} for version in ("x", "y")}, FEW)
    single, mean = (twice.orders[version] for version in ("x", MEAN))
    assert mean.tests[0].p == single.tests[0].p and mean.tests[0].difference == pytest.approx(
        single.tests[0].difference
    )
    assert mean.standings["a"].low == pytest.approx(single.standings["a"].low)


def test_what_is_the_same_shares_its_rank_and_its_group() -> None:
    same = noisy(0.7, 5)
    made = rank_systems("jga", {ORIGINAL: {"a": same, "b": same, "c": measured([0] * 30)}}, FEW)
    standings = made.orders[ORIGINAL].standings
    assert standings["a"] == standings["b"] and standings["a"].rank == 1.5
    assert [standings[name].group for name in "abc"] == ["a", "a", "b"]
    assert made.orders[ORIGINAL].tests[0].p == 1


def test_where_less_is_better_less_comes_first() -> None:
    systems = {"low": measured([1] * 30, "newly-wrong"), "high": measured([8, 9] * 15, "newly-wrong")}
    made = rank_systems("newly-wrong", {"typos": systems}, FEW)
    assert list(made.orders["typos"].standings) == ["low", "high"]
    assert MEAN not in made.orders


def test_what_has_no_value_is_last_and_in_no_group() -> None:
    nothing = Measured(NAMES, np.zeros((30, 2)), metrics.create("jga"))
    made = rank_systems("jga", {ORIGINAL: {"none": nothing, "a": noisy(0.7, 1), "b": noisy(0.2, 2)}}, FEW)
    order = made.orders[ORIGINAL]
    assert list(order.standings) == ["a", "b", "none"] and order.groups == [["a"], ["b"]]
    assert math.isnan(order.standings["none"].value) and order.standings["none"].group == ""
    assert made.tests == 1
