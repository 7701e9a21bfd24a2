"""Seeds, slack, bounds and correlations, against the papers' own tables, scipy and Zou's worked example."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dstress.analysis.bias import (
    average_slack,
    best_and_worst,
    cjga_bounds,
    median_and_standard_error,
    pearson,
    zou_interval,
)

TABLE_5 = np.array(
    [
        [60.0, 6.9, 75.3, 63.3, 46.6, 100, 100],  # TripPy
        [58.6, 8.6, 73.6, 68.3, 26.6, 100, 100],  # ConvBERT-DG
        [31.6, 4.3, 79.2, 56.1, 33.5, 92.6, 91.0],  # SimpleTOD
        [56.7, 12.9, 84.4, 63.2, 43.5, 97.4, 95.7],  # BART-DST
        [62.2, 12.9, 86.0, 68.2, 50.4, 98.6, 98.5],  # SOLOIST
        [55.5, 11.2, 84.2, 71.2, 34.4, 97.4, 84.2],  # MUPPET-DST
        [60.2, 12.1, 85.2, 67.9, 48.7, 98.0, 97.9],  # PrefineDST
    ]
)


def test_average_slack_gives_checkdst_table_3():
    """All but SimpleTOD, row 2, whose printed 14.11 does not follow from the printed scores."""
    printed = np.array([4.38, 6.71, 14.11, 4.13, 0.85, 6.38, 1.83])
    agree = np.abs(average_slack(TABLE_5) - printed) < 0.02
    assert agree.tolist() == [True, True, False, True, True, True, True]


def test_average_slack_of_costs_and_of_missing_scores():
    scores = [[1.0, 10.0], [3.0, math.nan], [2.0, 30.0]]
    assert average_slack(scores, higher_is_better=[True, False]).tolist() == [1.0, 0.0, 10.5]
    assert math.isnan(average_slack([[math.nan], [1.0]])[0])


def test_median_and_standard_error():
    runs = [61.0, 62.5, 60.0, 61.5, 75.0]
    assert median_and_standard_error(runs) == pytest.approx((61.5, stats.sem(runs)))
    assert median_and_standard_error([4.0])[0] == 4.0
    assert math.isnan(median_and_standard_error([4.0]).standard_error)
    assert math.isnan(median_and_standard_error([]).median)


def test_marks_of_checkdst_table_2():
    """Two columns: TripPy alone is best at JGA; 3.3 -+ 1.0 and 2.5 -+ 0.5 are both worst at NED cJGA."""
    jga = best_and_worst([62.4, 62.0, 55.5, 61.1, 60.7, 59.4, 61.8], [0.1, 0.2, 0.8, 0.3, 0.2, 0.7, 0.4])
    assert jga.best.tolist() == [True, False, False, False, False, False, False]
    assert jga.worst.tolist() == [False, False, True, False, False, False, False]
    ned = best_and_worst([3.3, 2.5, 21.6, 19.8, 15.4, 7.0, 19.8], [1.0, 0.5, 0.2, 0.7, 0.7, 1.2, 0.9])
    assert ned.best.tolist() == [False, False, True, False, False, False, False]
    assert ned.worst.tolist() == [True, True, False, False, False, False, False]


def test_marks_touch_turn_round_and_skip_the_unknown():
    touching = best_and_worst([0.3, 0.1, 0.2], [0.1, 0.0, 0.0])
    assert touching.best.tolist() == [True, False, True]
    costs = best_and_worst([1.0, 2.0, math.nan], [math.nan, 0.1, 0.1], higher_is_better=False)
    assert costs.best.tolist() == [True, False, False]
    assert costs.worst.tolist() == [False, True, False]
    assert not best_and_worst([math.nan], [0.0]).best.any()


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_conditional_jga_lies_within_lemma_1(pairs):
    original, perturbed = np.array(pairs).T
    either, both = (original | perturbed).sum(), (original & perturbed).sum()
    bounds = cjga_bounds(original.mean(), perturbed.mean())
    if not either:
        assert all(math.isnan(bound) for bound in bounds)
        return
    assert bounds.lower - 1e-12 <= both / either <= bounds.upper + 1e-12
    assert bounds.upper <= bounds.loose_upper + 1e-12


def test_bounds_of_the_papers_example():
    assert cjga_bounds(0.8, 0.6) == pytest.approx((0.4, 0.75, 0.8))
    assert cjga_bounds(1.0, 1.0) == (1.0, 1.0, 1.0)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=30))
def test_pearson_is_scipys(pairs):
    x, y = np.array(pairs, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert math.isnan(pearson(x, y))
    else:
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_pearson_of_too_little():
    assert math.isnan(pearson([1.0], [2.0]))
    with pytest.raises(ValueError, match="one length"):
        pearson([1.0, 2.0], [1.0])


def test_zous_worked_example():
    """Zou 2007, overlapping correlations: .396 and .179, .088 between, 66 people. (Also a test of R's cocor.)"""
    interval = zou_interval(0.396, 0.179, 0.088, 66)
    assert (round(interval.low, 3), round(interval.high, 3)) == (-0.093, 0.517)


def test_zou_turned_round_is_the_mirror():
    low, high = zou_interval(0.59, 0.40, 0.7, 900)
    assert zou_interval(0.40, 0.59, 0.7, 900) == pytest.approx((-high, -low))
    assert low > 0


def test_zou_covers():
    covariance = np.array([[1, 0.59, 0.40], [0.59, 1, 0.7], [0.40, 0.7, 1]])
    rng, inside = np.random.default_rng(8), 0
    for _ in range(1500):
        x, y, z = rng.multivariate_normal(np.zeros(3), covariance, 60).T
        low, high = zou_interval(pearson(x, y), pearson(x, z), pearson(y, z), 60)
        inside += low <= 0.19 <= high
    assert 0.935 <= inside / 1500 <= 0.965


def test_zou_at_the_edges():
    assert all(math.isnan(end) for end in zou_interval(0.5, 0.4, 0.1, 3))
    low, high = zou_interval(1.0, 0.5, 0.5, 50)
    assert 0 < low < 0.5 < high < 1
    assert zou_interval(1.0, 1.0, 1.0, 50) == (0.0, 0.0)
