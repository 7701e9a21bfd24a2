from __future__ import annotations

import math

import pytest

from dstress.reports.numbers import PAGE, PLAIN


def test_percent_has_a_true_minus_and_a_dash_for_nothing() -> None:
    assert PAGE.percent(0.6125) == "61.3"
    assert PAGE.percent(-0.5) == "\N{MINUS SIGN}50.0"
    assert PAGE.percent(None) == PAGE.percent(math.nan) == "–"


@pytest.mark.parametrize(
    ("difference", "shown", "plain"),
    [
        (0.1, "+10.0", "+10.00"),
        (-0.1, "\N{MINUS SIGN}10.0", "-10.00"),
        (0.0, "0.0", "+0.00"),
        (-0.0, "0.0", "+0.00"),
        (-0.00001, "0.0", "-0.00"),
        (math.nan, "–", "-"),
    ],
)
def test_points_have_a_sign_but_on_the_page_a_zero_has_none(difference: float, shown: str, plain: str) -> None:
    assert (PAGE.points(difference), PLAIN.points(difference)) == (shown, plain)


def test_intervals_are_empty_where_there_are_none() -> None:
    assert PAGE.interval(0.1, 0.2) == "[10.0, 20.0]"
    assert PAGE.change_interval(-0.1, 0.1) == "[\N{MINUS SIGN}10.0, +10.0]"
    assert PAGE.change_interval(-0.1, -0.0001) == "[\N{MINUS SIGN}10.0, \N{MINUS SIGN}0.0]"  # 0 is not inside
    assert PAGE.interval(math.nan, math.nan) == PAGE.change_interval(math.nan, 0.1) == ""


def test_plain_text_has_two_decimals_and_the_signs_of_a_keyboard() -> None:
    assert PLAIN.percent(-0.61254) == "-61.25" and PLAIN.percent(0.61254, 1) == "61.3"
    assert PLAIN.interval(-0.1, 0.2) == "[-10.00, 20.00]"
    assert PLAIN.change_interval(-0.1, 0.1) == "[-10.00, +10.00]"
    assert PLAIN.percent(None) == PLAIN.interval(math.nan, math.nan) == PLAIN.change_interval(0.1, math.nan)
    assert PLAIN.percent(None) == "-"


def test_a_p_value_is_never_zero() -> None:
    assert (PAGE.probability(0.0), PLAIN.probability(0.0)) == ("< 0.001", "<0.0001")
    assert (PAGE.probability(0.04), PLAIN.probability(0.04)) == ("0.040", "0.0400")
    assert (PAGE.probability(0.001), PLAIN.probability(0.0001)) == ("0.001", "0.0001")
