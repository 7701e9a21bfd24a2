"""Times of day and dates: every way to say them, and what they are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.text.letters import letter_text
from dstress.text.times import date_of, find_date, find_time, half_day_time, time_hints, time_of


def said(text: str, time: str) -> list[str]:
    minutes = time_of(time)
    assert minutes is not None
    return [text[start:end] for start, end in find_time(letter_text(text), minutes)]


@pytest.mark.parametrize(
    ("text", "time", "place"),
    [
        ("at 17:15 .", "17:15", "17:15"),
        ("at 5:15", "17:15", "5:15"),
        ("at 5:15", "05:15", "5:15"),
        ("by 5:15 pm please", "17:15", "5:15 pm"),
        ("by 5:15 p.m. please", "17:15", "5:15 p.m."),
        ("by 5:15 pm.", "17:15", "5:15 pm"),
        ("5pm", "17:00", "5pm"),
        ("17.15", "17:15", "17.15"),
        ("1715", "17:15", "1715"),
        ("at 17 15", "17:15", "17 15"),
        ("5 o'clock", "17:00", "5 o'clock"),
        ("five o'clock in the morning", "05:00", "five o'clock in the morning"),
        ("quarter past five", "17:15", "quarter past five"),
        ("a quarter to six", "17:45", "a quarter to six"),
        ("half past 5", "17:30", "half past 5"),
        ("half five", "17:30", "half five"),
        ("twenty to six", "17:40", "twenty to six"),
        ("ten minutes past 5", "17:10", "ten minutes past 5"),
        ("five fifteen", "17:15", "five fifteen"),
        ("seventeen fifteen", "17:15", "seventeen fifteen"),
        ("nine oh five", "09:05", "nine oh five"),
        ("at noon", "12:00", "noon"),
        ("at midnight", "00:00", "midnight"),
        ("leave at 5", "17:00", "5"),
        ("after eight", "20:00", "eight"),
        ("at afternoon 12 ?", "12:00", "afternoon 12"),
        ("12:30 am", "00:30", "12:30 am"),
        ("24:15", "00:15", "24:15"),
    ],
)
def test_ways_to_say_a_time(text: str, time: str, place: str) -> None:
    assert said(text, time) == [place]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("5:15 am", "17:15"),
        ("17:15", "05:15"),
        ("for 5 people", "17:00"),
        ("by 5 people", "17:00"),
        ("5 nights", "05:00"),
        ("how about one arriving", "13:00"),
        ("£5.15", "05:15"),
        ("25:15", "01:15"),
        ("117:15", "17:15"),
    ],
)
def test_what_is_no_such_time(text: str, time: str) -> None:
    assert said(text, time) == []


@given(st.integers(0, 23), st.integers(0, 59))
def test_every_time_is_read_as_it_is_written(hour: int, minute: int) -> None:
    forms = [f"{hour:02d}:{minute:02d}", f"{hour % 12 or 12}:{minute:02d} {'ap'[hour > 11]}m"]
    for form in forms:
        assert time_of(form) == hour * 60 + minute
        text = letter_text(f"leave at {form} , please")
        assert find_time(text, hour * 60 + minute) == [(9, 9 + len(form))]
        assert any(hint in text.letters for hint in time_hints(hour * 60 + minute))


@pytest.mark.parametrize("text", ["5", "five", "monday", "", "17:", "5 people", "march 5"])
def test_what_is_no_time(text: str) -> None:
    assert time_of(text) is None


def test_a_bare_number_is_a_time_where_times_are_asked_for() -> None:
    assert time_of("five", hours=True) == 5 * 60


@pytest.mark.parametrize(
    ("text", "value", "place"),
    [
        ("on March 8th", "8 march", "March 8th"),
        ("on the 8th of March .", "March 8", "the 8th of March"),
        ("the 8th please", "March 8th", "the 8th"),
        ("on 8 mar", "8th of March", "8 mar"),
        ("11th of this month", "March 11th", "11th of this month"),
    ],
)
def test_dates(text: str, value: str, place: str) -> None:
    date = date_of(value)
    assert date is not None
    assert [text[start:end] for start, end in find_date(letter_text(text), *date)] == [place]


@pytest.mark.parametrize(("text", "value"), [("8 people", "8 march"), ("April 8th", "8 march"), ("18th", "8 march")])
def test_other_dates(text: str, value: str) -> None:
    date = date_of(value)
    assert date is not None
    assert find_date(letter_text(text), *date) == []


def test_times_on_a_half_day() -> None:
    assert [half_day_time(minutes) for minutes in (0, 435, 720, 1155)] == ["12 am", "7:15 am", "12 pm", "7:15 pm"]
