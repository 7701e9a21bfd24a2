from __future__ import annotations

import math

import pytest

from dstress.reports.numbers import change_interval, count, interval, percent, points, probability


def test_percent_has_a_true_minus_and_a_dash_for_nothing() -> None:
    assert percent(0.6125) == "61.3"
    assert percent(-0.5) == "\N{MINUS SIGN}50.0"
    assert percent(None) == percent(math.nan) == "–"


@pytest.mark.parametrize(
    ("difference", "shown"), [(0.1, "+10.0"), (-0.1, "\N{MINUS SIGN}10.0"), (0.0, "0.0"), (-0.0001, "0.0")]
)
def test_points_have_a_sign_but_a_zero_has_none(difference: float, shown: str) -> None:
    assert points(difference) == shown


def test_intervals_are_empty_where_there_are_none() -> None:
    assert interval(0.1, 0.2) == "10.0 – 20.0"
    assert change_interval(-0.1, 0.1) == "\N{MINUS SIGN}10.0 to +10.0"
    assert interval(math.nan, math.nan) == change_interval(math.nan, 0.1) == ""


def test_a_p_value_is_never_zero() -> None:
    assert probability(0.0) == "< 0.001"
    assert probability(0.04) == "0.040"


def test_thousands_are_apart() -> None:
    assert count(7372) == "7,372"
