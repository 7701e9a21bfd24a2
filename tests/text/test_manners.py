from __future__ import annotations

import pytest

from dstress.text.manners import dates_like, days_between, times_like, write_time_like
from dstress.text.times import date_of, time_of


@pytest.mark.parametrize(
    ("shown", "own", "new", "words"),
    [
        ("quarter to 6", "17:45", "20:45", "quarter to 9"),
        ("a quarter past nine in the evening", "21:15", "19:15", "a quarter past seven in the evening"),
        ("Half past 3", "15:30", "13:30", "Half past 1"),
        ("5 pm", "17:00", "20:00", "8 pm"),
        ("5:15", "17:15", "20:40", "8:40"),
        ("5:15", "05:15", "20:40", "20:40"),
        ("09:05", "09:05", "08:10", "08:10"),
        ("evening 6:30", "18:30", "19:45", "evening 7:45"),
        ("8 o'clock in the morning", "08:00", "11:00", "11 o'clock in the morning"),
        ("9.15pm", "21:15", "19:00", "7.00pm"),
        ("quarter to 6", "17:45", "20:30", ""),
        ("5 pm", "17:00", "20:17", ""),
        ("six in the evening", "18:00", "09:00", ""),
        ("noon", "12:00", "13:00", ""),
    ],
)
def test_a_time_is_said_as_another_is(shown: str, own: str, new: str, words: str) -> None:
    assert write_time_like(shown, time_of(own) or 0, time_of(new) or 0) == words


@pytest.mark.parametrize("shown", ["quarter to 6", "5:15 pm", "17:15", "half past nine in the morning", "night 10:30"])
def test_what_is_said_means_the_time(shown: str) -> None:
    own = time_of(shown) or 0
    said = times_like(shown, own)
    assert len(said) > 2 and said.get(own, shown) == shown
    assert all((time_of(words) or 0) % 720 == minutes % 720 for minutes, words in said.items())


@pytest.mark.parametrize(
    ("shown", "number", "words"),
    [
        ("March 8th", 4, "March 13th"),
        ("the 30th of march", 17, "the 17th of april"),
        ("8th of this month", 0, "9th of this month"),
        ("the 28th", 0, "the 1st"),
        ("12 may", 18, "31 may"),
        ("Dec 3", -1, "Dec 2"),
        ("Monday next week", 2, "Thursday next week"),
        ("today", 0, "tomorrow"),
    ],
)
def test_a_date_is_said_as_another_is(shown: str, number: int, words: str) -> None:
    assert dates_like(shown)[number] == words
    assert shown not in dates_like(shown)
    assert all(date_of(other) for other in dates_like(shown)) == bool(date_of(shown))


@pytest.mark.parametrize("shown", ["the day after tomorrow", "later today", "soon", ""])
def test_what_has_no_such_manner_has_no_others(shown: str) -> None:
    assert dates_like(shown) == ()


@pytest.mark.parametrize(
    ("first", "second", "days"),
    [
        ("March 8th", "10th of march", 2),
        ("March 8th", "the 3rd", -5),
        ("30 april", "May 1st", 2),
        ("friday", "the 3rd", None),
    ],
)
def test_days_between_dates(first: str, second: str, days: int | None) -> None:
    assert days_between(first, second) == days


def test_no_day_is_named_that_most_years_lack() -> None:
    assert not any("february 29" in other.casefold() for other in dates_like("March 15th"))
