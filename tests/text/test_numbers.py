"""Numbers: how they are written, and what they count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.text.letters import letter_text
from dstress.text.numbers import find_number, number_of, number_pattern, spell


def said(text: str, slot: str, number: float) -> list[str]:
    return [text[start:end] for start, end in find_number(letter_text(text), slot, number)]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("6", 6),
        ("six", 6),
        ("twenty-five", 25),
        ("one hundred and five", 105),
        ("$84", 84),
        ("53 dollars", 53),
        ("seventy one bucks", 71),
        ("4.3", 4.3),
        ("1,500", 1500),
        ("6 star hotel", None),
        ("six seven", None),
        ("", None),
        ("march", None),
        ("3d", None),
    ],
)
def test_the_number_of_a_value(value: str, number: float | None) -> None:
    assert number_of(value) == number


@pytest.mark.parametrize(
    ("text", "slot", "number", "places"),
    [
        ("for six people", "hotel-book people", 6, ["six"]),
        ("3 people for 3 nights", "hotel-book people", 3, ["3"]),
        ("a four star hotel", "hotel-stars", 4, ["four"]),
        ("a 4-star hotel for 4 nights", "hotel-stars", 4, ["4"]),
        ("a star rating of 2", "hotel-stars", 2, ["2"]),
        ("there are 3 of us", "restaurant-book people", 3, ["3"]),
        ("a table for 7 at 17:00", "restaurant-book people", 7, ["7"]),
        ("a table for one on friday", "restaurant-book people", 1, ["one"]),
        ("twenty-five tickets", "train-book people", 25, ["twenty-five"]),
        ("send $50 now", "Payment_1-amount", 50, ["$50"]),
        ("send 53 bucks now", "Payment_1-amount", 53, ["53 bucks"]),
        ("rated at 4.1 or higher", "Hotels_2-rating", 4.1, ["4.1"]),
        ("with 2 beds and 2 baths", "Homes_2-number_of_baths", 2, ["2"]),
    ],
)
def test_numbers_by_what_they_count(text: str, slot: str, number: float, places: list[str]) -> None:
    assert said(text, slot, number) == places


def test_the_right_one_of_two() -> None:
    assert find_number(letter_text("3 people for 3 nights"), "hotel-book stay", 3) == [(13, 14)]
    assert find_number(letter_text("with 2 beds and 2 baths"), "Homes_2-number_of_baths", 2) == [(16, 17)]


@pytest.mark.parametrize(
    ("text", "slot", "number"),
    [
        ("3 nights", "hotel-book people", 3),
        ("at 17:05", "hotel-book people", 5),
        ("at 5", "hotel-book people", 5),
        ("looking for one that is cheap", "hotel-book people", 1),
        ("that one", "hotel-book people", 1),
        ("the 3rd", "hotel-book people", 3),
        ("twenty five", "hotel-book people", 5),
        ("4.5", "hotel-stars", 4),
        ("15", "hotel-stars", 5),
        ("in 3d", "cinema-tickets", 3),
    ],
)
def test_numbers_that_are_something_else(text: str, slot: str, number: float) -> None:
    assert said(text, slot, number) == []


@given(st.integers(0, 5000))
def test_every_number_is_found_in_digits(number: int) -> None:
    text = letter_text(f"we are {number} people")
    assert find_number(text, "hotel-book people", number) == [(7, 7 + len(str(number)))]
    assert any(hint in text.letters for hint in number_pattern(number)[1])


def test_numbers_in_letters() -> None:
    assert [spell(number) for number in (1, 8, 20, 31, 99, 100)] == [
        "one", "eight", "twenty", "thirty-one", "ninety-nine", "100",
    ]  # fmt: skip
