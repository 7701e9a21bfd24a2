"""Where mistakes lie and what metrics make of it: against the authors' own counts, scipy, Zou's worked example, and
what cocor printed.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dstress.errors import DstressError
from dstress.reports.analysis.systems import open_systems
from dstress.studies.bias import BiasStudy, non_uniformity, pearson, study_bias, tail_orientation, zou_interval
from tests.parity.official import load
from tests.paths import SHARED

METRICS = ("jga", "sa", "aga", "rsa", "fga", "gca")
FILES = sorted(load(SHARED / "golden/gca/official_detail.json")) if SHARED.is_dir() else ["none"]
LARGE = "T5/T5_result_zeroshot_attraction.json"
counts = st.lists(st.integers(0, 6), min_size=1, max_size=20)


@cache
def study(file: Path) -> BiasStudy:
    return study_bias(open_systems([file])[0], METRICS, "gca")


def test_traits_by_hand() -> None:
    """Three mistakes in the first of three turns; evenly spread; and late ones."""
    assert tail_orientation([3, 0, 0]) == pytest.approx(-1 / 3)
    assert tail_orientation([0, 0, 0, 0, 3, 3]) == pytest.approx(2 / 6)
    assert tail_orientation([1, 1, 1]) == 0
    assert non_uniformity([1, 1, 1, 1]) == 0
    assert non_uniformity([4, 0, 0, 0]) == pytest.approx(6)
    assert non_uniformity([3, 3, 0, 0, 0, 0]) == pytest.approx(8)
    for empty in ([], [0, 0]):
        assert math.isnan(tail_orientation(empty)) and math.isnan(non_uniformity(empty))


@given(counts.filter(any), st.randoms(), st.integers(1, 5))
def test_what_the_traits_see_and_what_not(mistakes: list[int], random: object, times: int) -> None:
    """Turned round, TO changes its sign; NU does not care for the order; neither for how many there are."""
    turns = len(mistakes)
    assert tail_orientation(mistakes[::-1]) == pytest.approx(-tail_orientation(mistakes), abs=1e-12)
    assert abs(tail_orientation(mistakes)) <= (turns - 1) / 2 / turns + 1e-12
    shuffled = mistakes.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert non_uniformity(shuffled) == pytest.approx(non_uniformity(mistakes))
    assert -1e-12 <= non_uniformity(mistakes) <= 2 * (turns - 1) + 1e-9
    more = [times * number for number in mistakes]
    assert tail_orientation(more) == pytest.approx(tail_orientation(mistakes))
    assert non_uniformity(more) == pytest.approx(non_uniformity(mistakes))


@pytest.mark.parametrize("file", FILES)
def test_every_golden_dialogue_has_the_authors_mistakes(shared: Path, file: str) -> None:
    official = load(shared / "golden/gca/official_detail.json")[file]["per_dialogue"]
    expected = {
        name.removesuffix(".json"): (len(m), sum(m), tail_orientation(m), non_uniformity(m))
        for name, one in official.items()
        if sum(m := one["turn_mistakes"])
    }
    found = study(shared / "golden/gca/data" / file)
    assert {one.dialogue: (one.turns, one.mistakes, one.to, one.nu) for one in found.dialogues} == expected
    assert found.faultless == len(official) - len(expected)
    for one in found.dialogues:
        theirs = official[f"{one.dialogue}.json"]
        assert one.values["gca"] == pytest.approx(theirs["GCA"], abs=1e-9)
        assert 100 * one.values["fga"] == pytest.approx(theirs["FGA"][1], abs=0.005 + 1e-9)


def test_correlations_are_scipys_on_the_authors_counts(shared: Path) -> None:
    """From the golden counts and GCAs alone, without a function of ours but the two traits."""
    official = [
        one
        for one in load(shared / "golden/gca/official_detail.json")[LARGE]["per_dialogue"].values()
        if sum(one["turn_mistakes"])
    ]
    turns = [np.array(one["turn_mistakes"], float) for one in official]
    late = [(np.repeat(np.arange(len(m)), m.astype(int)).mean() - (len(m) - 1) / 2) / len(m) for m in turns]
    uneven = [np.abs(m - m.sum() / len(m)).sum() / (m.sum() / len(m)) for m in turns]
    gca = [one["GCA"] for one in official]
    found = {(one.trait, one.metric): one for one in study(shared / "golden/gca/data" / LARGE).correlations}
    for trait, column in (("to", late), ("nu", uneven)):
        expected, ours = stats.pearsonr(column, gca), found[trait, "gca"]
        assert ours.correlation == pytest.approx(expected.statistic, abs=1e-9)
        assert (ours.low, ours.high) == pytest.approx(tuple(expected.confidence_interval(0.95)), abs=1e-9)
        assert ours.dialogues == len(official)


def test_every_correlation_and_difference_follows_from_the_dialogues(shared: Path) -> None:
    found = study(shared / "golden/gca/data" / LARGE)
    for one in found.differences:
        rows = [d for d in found.dialogues if not math.isnan(d.values[one.metric] + d.values[one.against])]
        trait, first, second = (
            [getattr(d, one.trait) for d in rows],
            [d.values[one.metric] for d in rows],
            [d.values[one.against] for d in rows],
        )
        ours, theirs = stats.pearsonr(trait, first).statistic, stats.pearsonr(trait, second).statistic
        assert one.difference == pytest.approx(ours - theirs, abs=1e-9)
        ends = zou_interval(ours, theirs, stats.pearsonr(first, second).statistic, len(rows))
        assert (one.low, one.high) == pytest.approx(ends, abs=1e-9)
        assert one.is_significant == (not one.low <= 0 <= one.high)


@pytest.mark.parametrize(
    ("correlations", "ends"), [((0.08, -0.05, 0.69), (0.0880, 0.1717)), ((0.59, 0.40, 0.69), (0.1543, 0.2266))]
)
def test_zou_gives_the_papers_own_intervals(
    correlations: tuple[float, float, float], ends: tuple[float, float]
) -> None:
    """What cocor printed for the authors, over their 1,344 dialogues."""
    assert zou_interval(*correlations, 1344) == pytest.approx(ends, abs=5e-5)


def test_the_dialogues_of_most_disagreement(shared: Path) -> None:
    found = study(shared / "golden/gca/data" / LARGE)
    gaps = sorted((abs(one.values["fga"] - one.values["gca"]) for one in found.dialogues), reverse=True)
    shown = found.disagreements("fga", "gca", 20)
    assert [abs(one.values["fga"] - one.values["gca"]) for one in shown] == gaps[:20]


def test_a_copy_tracker_repeats_the_papers_finding(shared: Path) -> None:
    """A tracker of TRADE's family: FGA goes with both traits more than GCA, as the paper says of TRADE and SOM-DST."""
    found = study(shared / "data/predictions/copy-a-test.json.zip")
    differences = {one.trait: one for one in found.differences if one.metric == "fga"}
    assert all(one.low > 0 for one in differences.values())
    assert len(found.dialogues) > 700


def test_one_dialogue_has_no_correlation(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('{"d": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {}}, "1": {"gt": {}, "pr": {}}}}')
    (system,) = open_systems([file])
    found = study_bias(system, ["fga"], "gca")
    assert all(math.isnan(one.correlation) and math.isnan(one.low) for one in found.correlations)
    assert not any(one.is_significant for one in found.differences)
    with pytest.raises(DstressError, match="unknown variant"):
        system.judge("typos", ["jga"])


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=30))
def test_pearson_is_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert math.isnan(pearson(x, y))
    else:
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_pearson_of_too_little() -> None:
    assert math.isnan(pearson([1.0], [2.0]))


def test_zous_worked_example() -> None:
    """Zou 2007, overlapping correlations: .396 and .179, .088 between, 66 people. (Also a test of R's cocor.)"""
    interval = zou_interval(0.396, 0.179, 0.088, 66)
    assert (round(interval.low, 3), round(interval.high, 3)) == (-0.093, 0.517)


def test_zou_turned_round_is_the_mirror() -> None:
    low, high = zou_interval(0.59, 0.40, 0.7, 900)
    assert zou_interval(0.40, 0.59, 0.7, 900) == pytest.approx((-high, -low))
    assert low > 0


def test_zou_covers() -> None:
    covariance = np.array([[1, 0.59, 0.40], [0.59, 1, 0.7], [0.40, 0.7, 1]])
    rng, inside = np.random.default_rng(8), 0
    for _ in range(1500):
        x, y, z = rng.multivariate_normal(np.zeros(3), covariance, 60).T
        low, high = zou_interval(pearson(x, y), pearson(x, z), pearson(y, z), 60)
        inside += low <= 0.19 <= high
    assert 0.935 <= inside / 1500 <= 0.965


def test_zou_at_the_edges() -> None:
    assert all(math.isnan(end) for end in zou_interval(0.5, 0.4, 0.1, 3))
    low, high = zou_interval(1.0, 0.5, 0.5, 50)
    assert 0 < low < 0.5 < high < 1
    assert zou_interval(1.0, 1.0, 1.0, 50) == (0.0, 0.0)
