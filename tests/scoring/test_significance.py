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

from dstress.scoring.significance import (
    EXACT_UP_TO,
    approximate_randomisation,
    evenly_weighed,
    holm,
    mcnemar,
    paired_bootstrap,
    paired_test_of_totals,
    swap_masks,
)


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def systems(rng, dialogues, gain=0.0):
    """Two systems on the same dialogues, which share the difficulty of each; B is better by `gain` on average."""
    turns = rng.integers(2, 12, dialogues)
    ease = rng.beta(1.2, 1.8, dialogues) * (1 - gain)
    both = [rng.binomial(turns, np.clip(ease + extra, 0, 1)) for extra in (0, gain)]
    return tuple(np.column_stack((right, turns)).astype(float) for right in both)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_null_p_values_are_uniform(test):
    """Scores are continuous here: whole turns tie so often that p-values, which count ties, are larger than uniform."""
    rng, p = np.random.default_rng(21), []
    for trial in range(800):
        first, second = systems(rng, 60)
        first[:, 0] += rng.normal(0, 0.5, 60)
        second[:, 0] += rng.normal(0, 0.5, 60)
        p.append(test(first, second, ratio, 399, trial).p)
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.075
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert min(p) >= 1 / 400


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_null_p_values_of_whole_turns_are_no_smaller_than_they_should_be(test):
    rng = np.random.default_rng(21)
    p = np.array([test(*systems(rng, 60), ratio, 399, trial).p for trial in range(800)])
    for level in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(p <= level) <= level + 2.5 * math.sqrt(level * (1 - level) / 800)
    assert np.mean(p <= 0.05) >= 0.02


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_a_real_difference_is_found(test):
    rng = np.random.default_rng(22)
    found = [test(*systems(rng, 150, 0.15), ratio, 199, trial) for trial in range(30)]
    assert np.mean([one.p <= 0.05 for one in found]) > 0.9
    assert all(one.difference < 0 for one in found)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_the_same_system_twice_does_not_differ(test):
    totals, _ = systems(np.random.default_rng(1), 40)
    assert test(totals, totals, ratio, 100, 0).p == 1.0


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_names_of_the_systems_do_not_matter(test):
    first, second = systems(np.random.default_rng(5), 40)
    one, other = test(first, second, ratio, 500, 3), test(second, first, ratio, 500, 3)
    assert one.p == other.p
    assert one.difference == -other.difference


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_an_undefined_value_has_no_p_value(test):
    totals = np.zeros((4, 2))
    assert math.isnan(test(totals, totals, ratio, 30, 0).p)
    assert math.isnan(test(np.zeros((0, 2)), np.zeros((0, 2)), ratio, 30, 0).p)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_systems_must_have_the_same_dialogues(test):
    with pytest.raises(ValueError, match="same dialogues"):
        test(np.zeros((4, 2)), np.zeros((5, 2)), ratio, 30, 0)


def test_the_interval_of_a_difference_covers_it():
    rng, inside = np.random.default_rng(23), 0
    for trial in range(300):
        interval = paired_bootstrap(*systems(rng, 80, 0.1), ratio, 499, trial).interval
        inside += interval.low <= -0.1 <= interval.high
    assert 0.94 <= inside / 300 <= 0.995  # one more dialogue makes it cautious


def test_the_bootstrap_p_value_is_its_definition():
    first, second = systems(np.random.default_rng(9), 25, 0.1)
    rng = np.random.Generator(np.random.PCG64(4))
    draws = rng.integers(0, 25, size=(300, 25), dtype=np.uint32)
    differences = np.array([ratio(first[row].sum(0)) - ratio(second[row].sum(0)) for row in draws])
    observed = ratio(first.sum(0)) - ratio(second.sum(0))
    expected = (1 + np.sum(np.abs(differences - observed) >= abs(observed) - 1e-12)) / 301
    assert paired_bootstrap(first, second, ratio, 300, 4).p == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_randomisation_is_scipys_exact_permutation_test(seed):
    first, second = systems(np.random.default_rng(seed), 12, 0.15)
    turns = first[:, 1].sum()
    exact = stats.permutation_test(
        (first[:, 0], second[:, 0]),
        lambda x, y, axis: (x.sum(axis=axis) - y.sum(axis=axis)) / turns,
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert approximate_randomisation(first, second, ratio, 20_000, seed).p == pytest.approx(exact, abs=0.015)


def test_randomisation_of_a_ratio_is_the_enumeration_of_all_swaps():
    rng = np.random.default_rng(6)
    first, second = systems(rng, 10, 0.1)
    second[:, 1] += rng.integers(0, 6, 10)  # a metric whose denominator depends on the system, such as precision
    observed = abs(ratio(first.sum(0)) - ratio(second.sum(0)))
    reached = 0
    for swaps in product((False, True), repeat=10):
        swapped = np.array(swaps)[:, None]
        a, b = np.where(swapped, second, first).sum(0), np.where(swapped, first, second).sum(0)
        reached += abs(ratio(a) - ratio(b)) >= observed - 1e-12
    found = approximate_randomisation(first, second, ratio, 20_000, 1)
    assert found.p == pytest.approx(reached / 2**10, abs=0.015)


def test_a_system_that_counts_more_is_not_another_by_that_alone():
    """Conditional accuracy of two systems that break one turn each, the same; one has twice as much to break."""
    weights = np.random.default_rng(3).integers(1, 3, 20)
    few, many = (np.column_stack((times * weights, times * weights)).astype(float) for times in (1, 2))
    few[0, 0] -= 1
    many[0, 0] -= 1
    assert paired_test_of_totals(many, few, ratio, 2000, 1).p < 0.001  # what was swapped weighed more on one side
    assert paired_test_of_totals(*evenly_weighed(many, few, lambda sums: sums[1]), ratio, 2000, 1).p > 0.2


@given(st.integers(1, 150), st.integers(1, 40), st.integers(1, 45), st.integers(0, 2**32))
def test_swaps_do_not_depend_on_the_blocks(dialogues, resamples, block, seed):
    whole = np.vstack(list(swap_masks(dialogues, resamples, seed, block=resamples)))
    parts = np.vstack(list(swap_masks(dialogues, resamples, seed, block=block)))
    assert whole.shape == (resamples, dialogues)
    assert (whole == parts).all()


def test_swaps_are_fair_and_unrelated():
    swaps = np.vstack(list(swap_masks(100, 20_000, 0))).astype(float)
    assert swaps.mean(axis=0) == pytest.approx(np.full(100, 0.5), abs=0.02)
    assert np.abs(np.corrcoef(swaps.T)[np.triu_indices(100, 1)]).max() < 0.035


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
    test = paired_test_of_totals(*pair, 199, 1, level)
    test = test.within_bounds(level) if bounded else test
    if math.isnan(test.difference):
        assert math.isnan(test.p) and math.isnan(test.low) and math.isnan(test.high)
        return
    nothing_right = not (pair[0][:, 0].any() or pair[1][:, 0].any())  # so F1 is 0, whatever else differs
    if not bounded and (nothing_right or not (pair[0] - pair[1]).any()):
        assert math.isnan(test.low) and math.isnan(test.high) and test.p == 1
        return
    assert test.low <= test.difference <= test.high
    assert (test.low <= 0 <= test.high) == (test.p > (1 - level) * (1 + 1e-12)), test
    if bounded:
        assert -1 <= test.low <= test.high <= 1
        assert test.low < test.high


def test_both_verdicts_are_met_by_the_law_above():
    """A law that only ever sees one side would be no law."""
    rng = np.random.default_rng(2)
    found = [paired_test_of_totals(*systems(rng, 30, gain), ratio, 199, 1).p for gain in (0, 0, 0, 0.3, 0.3, 0.3)]
    assert min(found) <= 0.05 < max(found)


@pytest.mark.parametrize("dialogues, hit", [(14, 0.03), (60, 0.03), (60, 0.1), (200, 0.01), (200, 0.1)])
def test_the_interval_holds_a_harm_that_few_dialogues_show(dialogues, hit):
    """Few dialogues lose some of their turns: most draws show few such dialogues, or none at all."""
    inside, trials = 0, 200
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        turns = rng.integers(3, 12, dialogues)
        lost = np.where(rng.random(dialogues) < hit, rng.integers(1, turns + 1), 0)
        baseline = np.column_stack((turns, turns)).astype(float)
        test = paired_test_of_totals(
            baseline - np.column_stack((lost, 0 * lost)), baseline, ratio, 300, seed
        ).within_bounds(0.95)
        inside += test.low <= -hit * 4 / 7 <= test.high  # a hit dialogue loses (1 + turns) / 2 of its turns
    assert inside / trials >= 0.9


@pytest.mark.parametrize("dialogues", [1, 5, 20, 400])
def test_answers_that_are_the_same_bound_the_difference_by_the_number_of_dialogues(dialogues):
    totals = np.column_stack((np.full(dialogues, 2.0), np.full(dialogues, 7.0)))
    unbounded = paired_test_of_totals(totals, totals, ratio, 300, 1)
    test, most = unbounded.within_bounds(0.95), 1 - 0.025 ** (1 / dialogues)
    assert (test.difference, test.p) == (0, 1)
    assert (-test.low, test.high) == pytest.approx((most, most))
    assert math.isnan(unbounded.low) and math.isnan(unbounded.high)


@pytest.mark.parametrize("only_a, only_b", [(1, 0), (3, 0), (6, 0), (8, 2), (12, 3)])
def test_one_turn_a_dialogue_gives_the_exact_test(only_a, only_b):
    """Where a dialogue is one turn, the interval's own test at 0 is the sign test, McNemar's exact one."""
    differences = np.array([1.0] * only_a + [-1.0] * only_b + [0.0] * 20)
    totals = [
        np.column_stack((part, np.ones(len(differences)))) for part in (differences.clip(0), -differences.clip(max=0))
    ]
    p = stats.binomtest(only_a, only_a + only_b).pvalue
    ends = [paired_bootstrap(*totals, ratio, 20_000, 1, 1 - alpha).interval.low for alpha in (p * 0.8, p * 1.25)]
    assert ends[0] < 0 < ends[1]


def test_the_interval_holds_the_truth_at_least_as_often_as_it_says():
    """Differences of dialogues drawn around a true one; 95 % intervals of 400 draws."""
    inside = 0
    for seed in range(400):
        generator = np.random.default_rng(seed)
        shift = generator.normal(-0.3, 0.4, 25)
        ones = np.ones(25)
        test = paired_test_of_totals(
            np.column_stack((shift, ones)), np.column_stack((0 * ones, ones)), ratio, 400, seed
        )
        inside += test.low <= -0.3 <= test.high
    assert 0.94 <= inside / 400 <= 0.995


def test_few_dialogues_bound_nothing():
    few = np.array([[0.0, 3.0], [1.0, 3.0], [0.0, 2.0]])
    test = paired_test_of_totals(few, few + np.array([1.0, 0.0]), ratio, 300, 1)
    assert (test.low, test.high) == (-math.inf, math.inf) and test.p > 0.05


def test_a_p_value_at_the_floor_says_so():
    baseline = np.column_stack((np.full(60, 5.0), np.full(60, 5.0)))
    assert paired_test_of_totals(baseline * (0.0, 1.0), baseline, ratio, 300, 1).at_floor
    assert not paired_test_of_totals(baseline, baseline, ratio, 300, 1).at_floor


def test_dialogues_that_do_not_differ_are_no_evidence_of_sameness():
    """Two dialogues of forty differ: any shift breaks the other 38 ties, which must not narrow the interval to 0."""
    baseline = np.column_stack((np.full(40, 3.0), np.full(40, 9.0)))
    system = baseline + np.array([[5.0, 0.0]] * 2 + [[0.0, 0.0]] * 38)
    test = paired_test_of_totals(system, baseline, ratio, 1000, 1)
    assert test.p > 0.4 and test.low < -0.1 * test.difference
