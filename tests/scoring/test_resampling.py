"""Resampling and intervals, against scipy on the same resamples, by simulation, and under reordering."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dstress.scoring import resampling as statistics
from dstress.scoring.resampling import (
    Bounds,
    Interval,
    PoissonAccumulator,
    bca_interval,
    interval,
    logit_interval,
    percentile_interval,
    poisson_weights,
    resample_weights,
    resampled_sums,
    spread,
)


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def corpus(rng, dialogues, mean=0.4):
    """Right turns and turns per dialogue; the turns of a dialogue share their difficulty, as real ones do."""
    turns = rng.integers(2, 12, dialogues)
    right = rng.binomial(turns, rng.beta(2 * mean, 2 * (1 - mean), dialogues))
    return np.column_stack((right, turns)).astype(float)


@pytest.mark.parametrize(("dialogues", "resamples"), [(1, 5), (7, 50), (64, 33), (1000, 20)])
def test_weights_draw_as_many_dialogues_as_there_are(dialogues, resamples):
    weights = np.vstack(list(resample_weights(dialogues, resamples, 3)))
    assert weights.shape == (resamples, dialogues)
    assert (weights.sum(axis=1) == dialogues).all()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 45), st.integers(0, 2**32))
def test_weights_do_not_depend_on_the_blocks(dialogues, resamples, block, seed):
    whole = np.vstack(list(resample_weights(dialogues, resamples, seed, block=resamples)))
    parts = np.vstack(list(resample_weights(dialogues, resamples, seed, block=block)))
    assert (whole == parts).all()


def test_blocks_bound_memory():
    assert max(len(block) for block in resample_weights(5000, 500, 0)) < 100


def test_weights_have_the_moments_of_a_multinomial():
    weights = np.vstack(list(resample_weights(20, 20_000, 1)))
    assert weights.mean(axis=0) == pytest.approx(np.ones(20), abs=0.04)
    covariance = np.cov(weights.T)
    assert np.diag(covariance) == pytest.approx(np.full(20, 0.95), abs=0.05)
    assert covariance[np.triu_indices(20, 1)].mean() == pytest.approx(-0.05, abs=0.005)


def test_sums_are_the_sums_of_the_drawn_rows():
    totals = np.random.default_rng(0).normal(size=(300, 5)) * 10.0 ** np.arange(-3, 2)
    weights = np.vstack(list(resample_weights(300, 200, 8)))
    by_hand = np.array([np.repeat(totals, row, axis=0).sum(axis=0) for row in weights])
    np.testing.assert_allclose(resampled_sums(totals, 200, 8), by_hand, rtol=1e-9, atol=1e-12)


def test_one_seed_one_result_another_seed_another():
    totals = corpus(np.random.default_rng(0), 50)
    assert (resampled_sums(totals, 30, 5) == resampled_sums(totals, 30, 5)).all()
    assert (resampled_sums(totals, 30, 5) != resampled_sums(totals, 30, 6)).any()


def test_totals_have_two_dimensions():
    with pytest.raises(ValueError, match="dialogues, k"):
        resampled_sums(np.zeros(3), 10, 0)


@pytest.mark.parametrize("mean", [0.05, 0.4, 0.95])
@pytest.mark.parametrize("dialogues", [8, 60, 300])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_are_scipys_on_the_same_resamples(mean, dialogues, level):
    totals = corpus(np.random.default_rng(dialogues), dialogues, mean)
    resampled = resampled_sums(totals, 1500, 2)
    given_draws = SimpleNamespace(bootstrap_distribution=ratio(resampled))

    def scipys(method):
        result = stats.bootstrap(
            (totals[:, 0], totals[:, 1]),
            lambda right, turns, axis: right.sum(axis=axis) / turns.sum(axis=axis),
            n_resamples=0,
            bootstrap_result=given_draws,
            paired=True,
            vectorized=True,
            confidence_level=level,
            method=method,
        )
        return tuple(result.confidence_interval)

    assert percentile_interval(resampled, ratio, level) == pytest.approx(scipys("percentile"), abs=1e-10)
    assert bca_interval(totals, resampled, ratio, level) == pytest.approx(scipys("BCa"), abs=1e-10)


def test_our_resamples_have_scipys_distribution():
    totals = corpus(np.random.default_rng(4), 80)
    theirs = stats.bootstrap(
        (totals[:, 0], totals[:, 1]),
        lambda right, turns, axis: right.sum(axis=axis) / turns.sum(axis=axis),
        n_resamples=4000,
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(9),
    ).bootstrap_distribution
    ours = ratio(resampled_sums(totals, 4000, 1))
    assert stats.ks_2samp(ours, theirs).pvalue > 0.01


@pytest.mark.parametrize("method", ["logit", "percentile", "bca"])
def test_coverage(method):
    """The truth is inside about 95 times of 100, though turns of a dialogue are far from independent."""
    rng, inside, trials = np.random.default_rng(11), 0, 400
    for trial in range(trials):
        totals = corpus(rng, 80)
        resampled = resampled_sums(totals, 600, trial)
        low, high = interval(totals, lambda resampled=resampled: resampled, ratio, 0.95, method, Bounds(80))
        inside += low <= 0.4 <= high
    assert 0.92 <= inside / trials <= 0.98


def test_the_default_interval_is_students_on_log_odds():
    totals = corpus(np.random.default_rng(1), 40)
    left_out = ratio(totals.sum(axis=0) - totals)
    error = math.sqrt(39 / 40 * ((left_out - left_out.mean()) ** 2).sum())
    point = ratio(totals.sum(axis=0))
    assert spread(totals, ratio) == pytest.approx((point, error, 40))
    centre, reach = math.log(point / (1 - point)), stats.t.ppf(0.975, 39) * error / (point * (1 - point))
    ends = [1 / (1 + math.exp(-(centre + side * reach))) for side in (-1, 1)]
    assert logit_interval(totals, ratio) == pytest.approx(ends, abs=1e-6)
    scaled = logit_interval(totals, lambda sums: 100 * ratio(sums), highest=100)
    assert scaled == pytest.approx([100 * end for end in ends], abs=1e-4)
    empty = np.vstack((totals, np.zeros((7, 2))))  # dialogues without anything to count say nothing
    assert logit_interval(empty, ratio) == logit_interval(totals, ratio)


def test_a_value_without_bounds_has_the_bca_interval():
    totals = corpus(np.random.default_rng(1), 40)
    sums = resampled_sums(totals, 50, 0)
    found = interval(totals, lambda: sums, ratio, 0.95, "logit", None)
    assert found == bca_interval(totals, sums, ratio)


def test_one_dialogue_gives_the_point():
    totals = np.array([[3.0, 4.0]])
    resampled = resampled_sums(totals, 20, 0)
    assert percentile_interval(resampled, ratio) == (0.75, 0.75)
    assert bca_interval(totals, resampled, ratio) == (0.75, 0.75)


def test_a_constant_value_gives_the_point():
    totals = np.column_stack((np.arange(1, 30) * 0.1, np.arange(1, 30) * 0.3))
    point = float(ratio(totals.sum(axis=0)))
    assert bca_interval(totals, resampled_sums(totals, 100, 0), ratio) == (point, point)


def test_a_value_that_is_sometimes_undefined_counts_where_it_is_defined():
    totals = np.zeros((6, 2))
    totals[:2] = [[1, 1], [0, 1]]
    resampled = resampled_sums(totals, 500, 0)
    values = resampled[resampled[:, 1] > 0]
    assert len(values) < 500
    low, high = np.quantile(ratio(values), (0.025, 0.975))
    assert percentile_interval(resampled, ratio) == (low, high)
    interval = bca_interval(totals, resampled, ratio)
    assert 0 <= interval.low <= 0.5 <= interval.high <= 1


@pytest.mark.parametrize("dialogues", [0, 1, 5])
def test_a_value_that_is_never_defined_has_no_interval(dialogues):
    totals = np.zeros((dialogues, 2))
    resampled = resampled_sums(totals, 50, 0)
    assert resampled.shape == (50, 2)
    assert all(math.isnan(end) for end in percentile_interval(resampled, ratio))
    assert all(math.isnan(end) for end in bca_interval(totals, resampled, ratio))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=6), st.integers(0, 100))
def test_few_dialogues_never_break_and_stay_in_range(rows, seed):
    totals = np.array([(min(right, turns), turns) for right, turns in rows], dtype=float)
    interval = bca_interval(totals, resampled_sums(totals, 40, seed), ratio)
    assert isinstance(interval, Interval)
    assert math.isnan(interval.low) or 0 <= interval.low <= interval.high <= 1


def test_all_resamples_on_one_side_still_give_an_interval():
    totals = np.array([[0.0, 1.0], [1.0, 1.0]])
    interval = bca_interval(totals, np.array([[2.0, 2.0], [1.9, 2.0], [1.8, 2.0]]), ratio)
    assert 0.9 <= interval.low <= interval.high <= 1


def test_a_level_is_a_share():
    with pytest.raises(ValueError, match="between 0 and 1"):
        percentile_interval(np.ones((3, 2)), ratio, 95)


NAMES = [f"SNG{number:04}.json" for number in range(60)]


def accumulated(names, totals, seed=7, resamples=40):
    accumulator = PoissonAccumulator(totals.shape[1], resamples, seed)
    accumulator.add(names, totals)
    return accumulator


@settings(max_examples=40)
@given(st.permutations(range(60)), st.lists(st.integers(0, 60), max_size=4), st.integers(0, 2**63))
def test_a_stream_may_come_in_any_order_and_in_any_shards(order, cuts, seed):
    totals = np.random.default_rng(1).normal(size=(60, 3))
    whole = accumulated(NAMES, totals, seed)
    merged = PoissonAccumulator(3, 40, seed)
    for shard in np.split(np.array(order), sorted(cuts)):
        merged.merge(accumulated([NAMES[place] for place in shard], totals[shard], seed))
    np.testing.assert_allclose(merged.sums, whole.sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(merged.total, totals.sum(axis=0), rtol=1e-9, atol=1e-9)


def test_a_dialogue_may_come_in_parts():
    totals = corpus(np.random.default_rng(2), 60)
    parts = accumulated(NAMES, totals * 0.25)
    parts.add(NAMES, totals * 0.75)
    np.testing.assert_allclose(parts.sums, accumulated(NAMES, totals).sums, rtol=1e-12)


def test_a_stream_does_not_depend_on_the_blocks(monkeypatch):
    totals = corpus(np.random.default_rng(2), 60)
    whole = accumulated(NAMES, totals)
    monkeypatch.setattr(statistics, "_BLOCK_CELLS", 700)
    np.testing.assert_allclose(accumulated(NAMES, totals).sums, whole.sums, rtol=1e-12)


def test_more_resamples_keep_the_first_ones():
    totals = corpus(np.random.default_rng(2), 60)
    np.testing.assert_allclose(
        accumulated(NAMES, totals, resamples=90).sums[:40], accumulated(NAMES, totals).sums, rtol=1e-12
    )


def test_the_weights_of_a_dialogue_are_pinned():
    """Shards of one run may be scored on different days and machines: these counts must never change."""
    sums = accumulated(["SNG0073.json", "日本"], np.array([[1.0, 0.0], [0.0, 1.0]]), seed=0, resamples=12).sums
    assert sums.T.astype(int).tolist() == [
        [1, 0, 2, 2, 1, 0, 0, 1, 3, 0, 0, 1],
        [0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 1],
    ]


def test_poisson_weights_are_poisson():
    keys = np.random.default_rng(0).integers(0, 2**64 - 1, 20_000, dtype=np.uint64)
    weights = poisson_weights(keys, 50)
    observed = np.bincount(weights.ravel(), minlength=7)
    expected = stats.poisson(1).pmf(np.arange(6)) * weights.size
    table = [*observed[:6], observed[6:].sum()], [*expected, weights.size - expected.sum()]
    assert stats.chisquare(*table).pvalue > 0.01
    between_resamples = np.corrcoef(weights)[np.triu_indices(50, 1)]
    assert np.abs(between_resamples).max() < 5 / math.sqrt(20_000)


def test_neighbouring_names_and_seeds_have_unrelated_weights():
    identity = np.eye(60)
    first, second = accumulated(NAMES, identity, 0, 3000).sums, accumulated(NAMES, identity, 1, 3000).sums
    correlations = np.corrcoef(np.hstack((first, second)).T)
    assert np.abs(correlations[np.triu_indices(120, 1)]).max() < 5.5 / math.sqrt(3000)


def test_a_stream_gives_the_interval_of_the_ordinary_bootstrap():
    totals = corpus(np.random.default_rng(3), 1500)
    stream = accumulated([str(number) for number in range(1500)], totals, resamples=4000)
    ordinary = percentile_interval(resampled_sums(totals, 4000, 0), ratio)
    assert percentile_interval(stream.sums, ratio) == pytest.approx(ordinary, abs=0.002)


@pytest.mark.parametrize("other", [(3, 40, 8), (3, 41, 7), (2, 40, 7)])
def test_only_like_accumulators_merge(other):
    with pytest.raises(ValueError, match="one seed"):
        PoissonAccumulator(3, 40, 7).merge(PoissonAccumulator(*other))


def test_names_and_totals_must_fit():
    with pytest.raises(ValueError, match="2 dialogues of 3 statistics"):
        PoissonAccumulator(3, 40, 7).add(["a", "b"], np.zeros((3, 3)))


@pytest.mark.parametrize("kind", ["logit", "percentile", "bca"])
@pytest.mark.parametrize("right", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dialogues", [1, 14, 1000])
def test_an_interval_without_spread_is_as_wide_as_the_dialogues_allow(kind, right, dialogues):
    """At 0 and 1 it is the exact binomial interval of as many dialogues, whatever the number of turns."""
    totals = np.tile((right * 8, 8.0), (dialogues, 1))
    sums = resampled_sums(totals, 50, 0)
    low, high = interval(totals, lambda: sums, ratio, 0.95, kind, Bounds(dialogues))
    exact = stats.binomtest(0, dialogues).proportion_ci(0.95).high
    assert (low, high) == pytest.approx((right * (1 - exact), right + (1 - right) * exact))
    unbounded = interval(totals, lambda: sums, ratio, 0.95, kind, None)
    assert all(math.isnan(end) for end in unbounded)


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_an_interval_with_spread_is_left_alone(kind):
    totals = np.array([[3.0, 4.0], [1.0, 5.0], [2.0, 2.0]])
    sums = resampled_sums(totals, 50, 0)
    plain = percentile_interval(sums, ratio) if kind == "percentile" else bca_interval(totals, sums, ratio)
    assert interval(totals, lambda: sums, ratio, 0.95, kind, Bounds(3)) == plain


def test_a_stream_counts_the_dialogues_that_have_something_to_count():
    totals = np.array([[0.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    stream, other = PoissonAccumulator(2, 40, 7), PoissonAccumulator(2, 40, 7)
    stream.add(["a", "b", "c"], totals)
    other.add(["d"], totals[:1])
    stream.merge(other)
    assert stream.counted.tolist() == [0, 3]
    found = interval(None, lambda: stream.sums, ratio, 0.95, "percentile", Bounds(int(stream.counted.max())))
    assert found == pytest.approx((0, 1 - 0.025 ** (1 / 3)))
