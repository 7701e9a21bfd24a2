"""Tests between two systems, against scipy, statsmodels and exhaustive enumeration, and under the null."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import contingency_tables, multitest

from dstress.scoring.metrics import metrics
from dstress.scoring.resampling import FEW
from dstress.scoring.significance import (
    ENUMERATED_UP_TO,
    EXACT_UP_TO,
    _Chance,
    evenly_weighed,
    holm,
    mcnemar,
    paired_test_of_metric,
    paired_test_of_totals,
)


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def swap_p(first, second):
    """The share of all swaps of dialogues after which the systems differ at least as much."""
    turns = first[:, 1].sum()
    return stats.permutation_test(
        (first[:, 0], second[:, 0]),
        lambda x, y, axis: (x.sum(axis=axis) - y.sum(axis=axis)) / turns,
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue


def systems(rng, dialogues, gain=0.0):
    """Two systems on the same dialogues, which share the difficulty of each; B is better by `gain` on average."""
    turns = rng.integers(2, 12, dialogues)
    ease = rng.beta(1.2, 1.8, dialogues) * (1 - gain)
    both = [rng.binomial(turns, np.clip(ease + extra, 0, 1)) for extra in (0, gain)]
    return tuple(np.column_stack((right, turns)).astype(float) for right in both)


def flipped(gains, losses=0, dialogues=150, turns=7.0):
    """So many dialogues that only the system has right, and so many that only the baseline has; the others are even."""
    baseline = np.column_stack((np.zeros(dialogues), np.full(dialogues, turns)))
    system = baseline.copy()
    system[:gains, 0] = turns
    baseline[dialogues - losses :, 0] = turns
    return system, baseline


@pytest.mark.slow
def test_null_p_values_are_uniform():
    """Scores are continuous here: whole turns tie so often that p-values, which count ties, are larger than uniform."""
    rng, p = np.random.default_rng(21), []
    for _ in range(800):
        first, second = systems(rng, 60)
        first[:, 0] += rng.normal(0, 0.5, 60)
        second[:, 0] += rng.normal(0, 0.5, 60)
        p.append(paired_test_of_totals(first, second, ratio, None).p)
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.075
    assert stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_null_p_values_of_whole_turns_are_no_smaller_than_they_should_be():
    rng = np.random.default_rng(21)
    p = np.array([paired_test_of_totals(*systems(rng, 60), ratio, None).p for _ in range(800)])
    for level in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(p <= level) <= level + 2.5 * math.sqrt(level * (1 - level) / 800)
    assert np.mean(p <= 0.05) >= 0.02


def test_a_real_difference_is_found():
    rng = np.random.default_rng(22)
    tests = [paired_test_of_totals(*systems(rng, 150, 0.15), ratio) for _ in range(30)]
    assert np.mean([test.p <= 0.05 for test in tests]) > 0.9
    assert all(test.difference < 0 for test in tests)


def test_the_same_system_twice_does_not_differ():
    totals, _ = systems(np.random.default_rng(1), 40)
    test = paired_test_of_totals(totals, totals, ratio)
    assert (test.p, test.differ, test.gains) == (1.0, 0, 0)


def test_an_undefined_value_has_no_p_value():
    for totals in (np.zeros((4, 2)), np.zeros((0, 2))):
        test = paired_test_of_totals(totals, totals, ratio)
        assert all(math.isnan(number) for number in (test.p, test.low, test.high))


def test_systems_must_have_the_same_dialogues():
    with pytest.raises(ValueError, match="same dialogues"):
        paired_test_of_totals(np.zeros((4, 2)), np.zeros((5, 2)), ratio)


@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_is_that_of_all_swaps(seed):
    """As scipy enumerates them, though dialogues have different numbers of turns."""
    first, second = systems(np.random.default_rng(seed), 14, 0.15)
    assert paired_test_of_totals(first, second, ratio).p == pytest.approx(swap_p(first, second), rel=1e-9)


@given(st.lists(st.integers(1, 11), min_size=1, max_size=12))
def test_few_dialogues_have_no_smaller_p_than_their_swaps_allow(turns):
    """All gains: the system and the baseline are the only two of 2 ** k that differ so much."""
    right = np.array(turns, float)
    totals = [np.column_stack((part, np.full(len(turns), 11.0))) for part in (right, 0 * right)]
    test = paired_test_of_totals(*totals, ratio)
    assert test.p == pytest.approx(min(1, 2.0 ** (1 - len(turns))), rel=1e-9)
    assert (test.low > 0) == (len(turns) >= FEW)


def test_enumeration_and_approximation_meet():
    rng = np.random.default_rng(7)
    for _ in range(20):
        first, second = (np.pad(part, ((0, 40), (0, 0)), constant_values=5) for part in systems(rng, 24, 0.1))
        chance = _Chance(np.abs(first - second)[:, 0], None)
        away = abs((first - second)[:, 0].sum())
        assert len(chance.moving) <= ENUMERATED_UP_TO and chance.correction(away) == pytest.approx(1, abs=0.15)
    assert _Chance(np.ones(ENUMERATED_UP_TO + 1), None).correction(5) == 1


def test_the_p_value_of_a_ratio_is_that_of_all_swaps():
    rng = np.random.default_rng(6)
    first, second = systems(rng, 10, 0.1)
    second[:, 1] += rng.integers(0, 6, 10)  # a metric whose denominator depends on the system, such as precision
    first, second = evenly_weighed(first, second, lambda sums: sums[1])
    observed = abs(ratio(first.sum(0)) - ratio(second.sum(0)))
    reached = 0
    for swaps in product((False, True), repeat=10):
        swapped = np.array(swaps)[:, None]
        a, b = np.where(swapped, second, first).sum(0), np.where(swapped, first, second).sum(0)
        reached += abs(ratio(a) - ratio(b)) >= observed - 1e-12
    assert paired_test_of_totals(first, second, ratio).p == pytest.approx(reached / 2**10, abs=0.02)


@pytest.mark.parametrize(("gains", "losses"), [(5, 0), (6, 0), (8, 0), (12, 0), (8, 2), (12, 3), (30, 14), (200, 150)])
def test_whole_dialogues_give_the_sign_test(gains, losses):
    exact = stats.binomtest(gains, gains + losses).pvalue
    assert paired_test_of_totals(*flipped(gains, losses, 400), ratio).p == pytest.approx(exact, rel=0.06)


def test_a_system_that_counts_more_is_not_another_by_that_alone():
    """Conditional accuracy of two systems that break one turn each, the same; one has twice as much to break."""
    weights = np.random.default_rng(3).integers(1, 3, 20)
    few, many = (np.column_stack((times * weights, times * weights)).astype(float) for times in (1, 2))
    few[0, 0] -= 1
    many[0, 0] -= 1
    assert paired_test_of_totals(*evenly_weighed(many, few, lambda sums: sums[1]), ratio).p > 0.2


def test_dialogues_that_are_only_weighed_differently_do_not_count_as_differing():
    rng = np.random.default_rng(5)
    baseline = np.column_stack([rng.integers(2, 9, 40)] * 2).astype(float)
    system = baseline.copy()
    system[:9] -= [1.0, 0.0]
    system[9] += [1.0, 2.0]  # counts more, so that all others are weighed too
    test = paired_test_of_metric(system, baseline, metrics.create("jga"))
    assert (test.differ, test.gains) == (10, 0)


def test_dialogues_that_count_more_but_score_the_same_do_not_differ():
    """Conditional accuracy where one system has more to break, and only one dialogue is broken by one alone."""
    rng = np.random.default_rng(8)
    baseline, system = (
        np.column_stack([rng.integers(low, high, 20)] * 2).astype(float) for low, high in ((0, 4), (0, 12))
    )
    baseline[0], system[0] = (0, 5), (5, 5)
    test = paired_test_of_metric(system, baseline, metrics.create("jga"))
    assert (test.differ, test.gains) == (1, 1) and test.p > 0.05


@given(st.integers(40, 300), st.integers(0, 4), st.sampled_from([0.8, 0.95, 0.99]), st.integers(1, 9))
def test_more_evidence_never_moves_an_end_back(dialogues, losses, level, turns):
    """With each further dialogue won, both ends rise and p falls; of losses it is the mirror image."""
    before = None
    for gains in range(losses, min(30, dialogues - losses)):
        system, baseline = flipped(gains, losses, dialogues, float(turns))
        unbounded = paired_test_of_totals(system, baseline, ratio, level)
        test = unbounded.within_bounds(level)
        mirrored = paired_test_of_totals(baseline, system, ratio, level)
        if gains or losses:
            assert (mirrored.low, mirrored.high) == pytest.approx((-unbounded.high, -unbounded.low))
        assert (mirrored.difference, mirrored.p) == (-test.difference, test.p)
        assert (mirrored.gains, mirrored.differ) == (losses, test.differ) == (losses, gains + losses)
        if before and before.differ:
            assert test.p <= before.p and test.low >= before.low - 1e-9 and test.high >= before.high - 1e-9
        before = test


def test_the_interval_shrinks_with_dialogues_of_the_same_kind():
    widths = [
        (test := paired_test_of_totals(*flipped(8 * times, 2 * times, 100 * times), ratio)).high - test.low
        for times in (1, 2, 4, 8)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[1] / widths[3] == pytest.approx(2, rel=0.15)


def test_the_old_counterexample_is_monotone():
    """150 dialogues of 7 turns, k flipped: two methods spliced gave 0.41 at 7, 1.25 at 6 and -0.40 at 5."""
    lows = [paired_test_of_totals(*flipped(k), ratio).low for k in range(1, 20)]
    assert lows == sorted(lows)
    assert lows[4] < 0 < lows[5]  # five alike have p = 0.06, six have 0.03


def test_nothing_falls_by_more_than_there_is():
    rng = np.random.default_rng(4)
    turns = rng.integers(3, 12, 60).astype(float)
    right = np.where(rng.random(60) < 0.06, 4.0, 0.0).clip(max=turns)
    baseline, none = np.column_stack((right, turns)), np.column_stack((0 * right, turns))
    unbounded = paired_test_of_totals(none, baseline, ratio)
    assert unbounded.low < -unbounded.baseline
    test = paired_test_of_metric(none, baseline, metrics.create("jga"))
    assert test.low == pytest.approx(-test.baseline) and test.low <= test.difference <= test.high
    risen = paired_test_of_metric(
        np.column_stack((turns, turns)), np.column_stack((turns - right, turns)), metrics.create("jga")
    )
    assert risen.high == pytest.approx(1 - risen.baseline)


@pytest.mark.parametrize(
    ("system", "baseline", "turns", "level"),
    [([0, 0, 0], [0, 1, 0], [4, 3, 1], 0.8), ([4, 3, 2, 1], [1, 1, 0, 0], [4, 3, 2, 1], 0.8)],
)
def test_an_end_that_no_directions_reach_needs_no_infinite_step(system, baseline, turns, level):
    """Far from what few dialogues can add up to the curvature vanishes, and Newton's step overflowed."""
    first, second = (np.column_stack((right, turns)).astype(float) for right in (system, baseline))
    test = paired_test_of_totals(first, second, ratio, level, np.array(turns, float))
    assert test.low <= test.difference <= test.high and math.isfinite(test.low + test.high)


def test_gains_are_what_is_better():
    system, baseline = flipped(7, 2)
    assert paired_test_of_metric(system, baseline, metrics.create("jga")).gains == 7
    lower = metrics.create("jga")
    lower.higher_is_better = False
    assert paired_test_of_metric(system, baseline, lower).gains == 2


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_exact_for_small_counts(only_a, only_b):
    table = [[50, only_a], [only_b, 50]]
    p, method = mcnemar(only_a, only_b)
    assert method == "exact"
    assert p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue, rel=1e-9, abs=1e-300)
    if only_a + only_b:
        assert p == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-9, abs=1e-300)


@given(st.integers(EXACT_UP_TO, 9000), st.integers(1, 9000))
def test_mcnemar_is_the_corrected_chi_square_for_large_counts(only_a, only_b):
    if only_a == only_b:
        return
    p, method = mcnemar(only_a, only_b)
    theirs = contingency_tables.mcnemar([[0, only_a], [only_b, 0]], exact=False, correction=True).pvalue
    assert method == "chi-square"
    assert p == pytest.approx(theirs, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("only_a", range(EXACT_UP_TO // 2 - 50, EXACT_UP_TO // 2, 7))
def test_both_methods_meet_where_one_takes_over(only_a):
    only_b = EXACT_UP_TO + 1 - only_a
    exact = stats.binomtest(only_a, EXACT_UP_TO + 1).pvalue
    assert mcnemar(only_a, only_b).p == pytest.approx(exact, rel=0.01)


def test_mcnemar_without_a_difference():
    assert mcnemar(0, 0) == (1.0, "exact")
    assert mcnemar(5, 5).p == 1.0
    assert mcnemar(700, 700) == (1.0, "chi-square")
    with pytest.raises(ValueError, match="negative"):
        mcnemar(-1, 3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1], abs=1e-12)


def test_holm_leaves_out_tests_that_were_not_made():
    assert holm([]) == []
    adjusted = holm([0.03, math.nan, 0.01])
    assert adjusted[0::2] == pytest.approx([0.03, 0.02])
    assert math.isnan(adjusted[1])


def f1(sums):
    right, predicted, gold = np.moveaxis(sums, -1, 0)
    return 2 * right / (predicted + gold)


@st.composite
def pairs(draw):
    """Two systems: few and many dialogues, of which none, a few or all differ; of a share or of an F1."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = rng.integers(draw(st.integers(0, 1)), 9, draw(st.integers(1, 50)))
    baseline = rng.binomial(sizes, draw(st.sampled_from([0.0, 0.1, 0.6, 1.0])))
    hit = rng.random(len(sizes)) < draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    system = np.where(hit, rng.binomial(sizes, draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))), baseline)
    if draw(st.booleans()):
        totals = [np.column_stack((right, sizes)).astype(float) for right in (system, baseline)]
        return (*totals, ratio)
    extra = [rng.integers(0, 3, len(sizes)) * hit, 0 * sizes]
    both = zip((system, baseline), extra, strict=True)
    return (*(np.column_stack((right, right + more, sizes)).astype(float) for right, more in both), f1)


@given(pairs(), st.sampled_from([0.5, 0.8, 0.95]), st.booleans())
def test_the_interval_leaves_zero_out_exactly_when_the_test_rejects(pair, level, bounded):
    system, baseline, value = pair
    test = paired_test_of_totals(system, baseline, value, level, system[:, -1] if bounded else None)
    test = test.within_bounds(level) if bounded else test
    if math.isnan(test.difference):
        assert math.isnan(test.p) and math.isnan(test.low) and math.isnan(test.high)
        return
    if not bounded and not test.differ:
        assert math.isnan(test.low) and math.isnan(test.high) and test.p == 1
        return
    assert test.low <= test.difference <= test.high
    assert (test.low <= 0 <= test.high) == (test.p > (1 - level) * (1 + 1e-12)), test
    if bounded:
        assert -test.baseline <= test.low <= test.high <= 1 - test.baseline
        assert test.low < test.high or test.low in (-test.baseline, 1 - test.baseline)
    mirrored = paired_test_of_totals(baseline, system, value, level)
    unbounded = paired_test_of_totals(system, baseline, value, level)
    assert (mirrored.low, mirrored.high, mirrored.p) == pytest.approx(
        (-unbounded.high, -unbounded.low, unbounded.p), rel=1e-6, abs=1e-9, nan_ok=True
    )


def test_both_verdicts_are_met_by_the_law_above():
    """A law that only ever sees one side would be no law."""
    rng = np.random.default_rng(2)
    p = [paired_test_of_totals(*systems(rng, 30, gain), ratio).p for gain in (0, 0, 0, 0.3, 0.3, 0.3)]
    assert min(p) <= 0.05 < max(p)


@pytest.mark.parametrize("dialogues", [1, 5, 20, 400])
def test_answers_that_are_the_same_bound_the_difference_by_the_number_of_dialogues(dialogues):
    totals = np.column_stack((np.full(dialogues, 3.5), np.full(dialogues, 7.0)))
    unbounded = paired_test_of_totals(totals, totals, ratio)
    test, most = unbounded.within_bounds(0.95), 1 - 0.025 ** (1 / dialogues)
    assert (test.difference, test.p) == (0, 1)
    assert (-test.low, test.high) == pytest.approx((min(most, 0.5), min(most, 0.5)))
    assert math.isnan(unbounded.low) and math.isnan(unbounded.high)


def test_the_order_and_copies_of_dialogues_do_not_matter():
    rng = np.random.default_rng(8)
    first, second = systems(rng, 50, 0.1)
    order = rng.permutation(50)
    one, other = paired_test_of_totals(first, second, ratio), paired_test_of_totals(first[order], second[order], ratio)
    assert (one.low, one.high, one.p) == pytest.approx((other.low, other.high, other.p), rel=1e-9)


def test_dialogues_that_do_not_differ_are_no_evidence_of_sameness():
    """Two dialogues of forty differ: any shift breaks the other 38 ties, which must not narrow the interval to 0."""
    baseline = np.column_stack((np.full(40, 3.0), np.full(40, 9.0)))
    system = baseline + np.array([[5.0, 0.0]] * 2 + [[0.0, 0.0]] * 38)
    test = paired_test_of_totals(system, baseline, ratio)
    assert test.p > 0.4 and test.low < -0.1 * test.difference
