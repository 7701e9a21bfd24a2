"""Medians over seeds, marks and slack, against CheckDST's own tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dstress.reports.analysis.checkdst_tables import BEST, WORST, Slack, Summary, mark_ends, slack_behind_best

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


def slack(*columns: list[float], metric: str = "jga") -> Slack:
    return slack_behind_best([(str(n), metric, column) for n, column in enumerate(columns)], len(columns[0]))


def test_slack_gives_checkdst_table_3() -> None:
    """All but SimpleTOD, row 2, whose printed 14.11 does not follow from the printed scores."""
    printed = np.array([4.38, 6.71, 14.11, 4.13, 0.85, 6.38, 1.83])
    agree = np.abs(np.array(slack(*TABLE_5.T.tolist()).values) - printed) < 0.02
    assert agree.tolist() == [True, True, False, True, True, True, True]


def test_slack_of_costs_and_of_missing_scores() -> None:
    mixed = [("gain", "jga", [1.0, 3.0, 2.0]), ("cost", "newly-wrong", [10.0, math.nan, 30.0])]
    assert slack_behind_best(mixed, 3).values == pytest.approx([1.0, math.nan, 10.5], nan_ok=True)


def test_slack_is_over_a_named_set_of_fractions() -> None:
    columns = [("JGA", "jga", [0.5, 0.7]), ("broken", "newly-wrong", [0.1, 0.3]), ("bleu", "bleu", [10.0, 20.0])]
    made = slack_behind_best(columns, 2)
    assert made.values == pytest.approx([0.1, 0.1]) and made.measures == ["JGA", "broken"]
    assert made.left_out == {"bleu": "no percent"} and made.caption.endswith("; without bleu (no percent)")
    assert all(map(math.isnan, slack([1.0, 2.0], metric="bleu").values))
    lacking = slack_behind_best([*columns, ("cJGA", "cjga", [math.nan, 0.2])], 2).values
    assert math.isnan(lacking[0]) and lacking[1] == pytest.approx(0.2 / 3)


def test_a_summary_is_the_median_with_its_standard_error() -> None:
    runs = [61.0, 62.5, 60.0, 61.5, 75.0]
    assert Summary.of(runs) == pytest.approx((61.5, stats.sem(runs), 60.0, 75.0))
    assert Summary.of([4.0]).median == 4.0 and math.isnan(Summary.of([4.0]).error)


def marks(medians: list[float], errors: list[float], sign: int = 1) -> dict[int, str]:
    """The marks by row."""
    summaries = {str(n): Summary(*pair, 0.0, 0.0) for n, pair in enumerate(zip(medians, errors, strict=True))}
    return {int(name): mark for name, mark in mark_ends(summaries, sign).items()}


def test_marks_of_checkdst_table_2() -> None:
    """Two columns: TripPy alone is best at JGA; 3.3 -+ 1.0 and 2.5 -+ 0.5 are both worst at NED cJGA."""
    jga = marks([62.4, 62.0, 55.5, 61.1, 60.7, 59.4, 61.8], [0.1, 0.2, 0.8, 0.3, 0.2, 0.7, 0.4])
    assert jga == {0: BEST, 2: WORST}
    ned = marks([3.3, 2.5, 21.6, 19.8, 15.4, 7.0, 19.8], [1.0, 0.5, 0.2, 0.7, 0.7, 1.2, 0.9])
    assert ned == {2: BEST, 0: WORST, 1: WORST}


def test_marks_touch_and_turn_round() -> None:
    assert marks([0.3, 0.1, 0.2], [0.1, 0.0, 0.0]) == {0: BEST, 1: WORST, 2: BEST}
    assert marks([1.0, 2.0], [math.nan, 0.1], sign=-1) == {0: BEST, 1: WORST}


def test_whoever_overlaps_with_both_ends_is_neither() -> None:
    one, near, far = Summary.of([0.4, 0.5, 0.6]), Summary.of([0.45, 0.55, 0.65]), Summary.of([0.8, 0.81, 0.82])
    assert mark_ends({"one": one, "near": near}, 1) == {}
    assert mark_ends({"one": one, "near": near, "far": far}, 1) == {"one": WORST, "near": WORST, "far": BEST}
    assert mark_ends({"one": one, "far": far}, -1) == {"one": BEST, "far": WORST}
