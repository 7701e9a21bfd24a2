from __future__ import annotations

import pytest

from dstress.text.edits import apply
from dstress.text.inflection import counted, edits, on_a_half_day, placed, plural, spelled, styled


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("pizza hut", "Grand Hyatt", "grand hyatt"),
        ("Pizza Hut", "statue of liberty", "Statue of Liberty"),
        ("PIZZA HUT", "grand hyatt", "GRAND HYATT"),
        ("SFO", "brentwood", "Brentwood"),
        ("SFO", "McLean", "McLean"),
        ("18:15", "9:04 pm", "9:04 pm"),
        ("the 6th", "March 2nd", "March 2nd"),
        ("مطعم", "grand hyatt", "grand hyatt"),
    ],
)
def test_capitals_are_those_of_the_old_words(old: str, new: str, shown: str) -> None:
    assert styled(old, new) == shown


def test_a_common_noun_takes_a_capital_only_where_a_sentence_opens() -> None:
    assert styled("Italian", "taco", name=False) == "taco"
    assert styled("Italian", "taco", opens=True, name=False) == "Taco"
    assert styled("Cheap", "multiple sports", opens=True, name=False) == "Multiple sports"


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("I want an italian place.", "italian", "sichuan", "I want a sichuan place."),
        ("I want a cheap place.", "cheap", "expensive", "I want an expensive place."),
        ("A cheap one.", "cheap", "expensive", "An expensive one."),
        ("a 4 star", "4", "8", "an 8 star"),
        ("an old school", "old", "university", "a university school"),
        ("Is there a? cheap", "cheap", "expensive", "Is there a? expensive"),
    ],
)
def test_an_article_agrees(text: str, old: str, new: str, said: str) -> None:
    start = text.index(old)
    assert apply(text, edits(text, [(start, start + len(old), new)])) == said


@pytest.mark.parametrize(
    ("noun", "many"),
    [("museum", "museums"), ("library", "libraries"), ("church", "churches"), ("hiking", "hiking"), ("park", "parks")],
)
def test_plurals(noun: str, many: str) -> None:
    assert plural(noun) == many


def test_numbers_in_letters() -> None:
    assert [spelled(number) for number in (1, 8, 20, 31, 99, 100)] == [
        "one", "eight", "twenty", "thirty-one", "ninety-nine", "100",
    ]  # fmt: skip


def test_times_on_a_half_day() -> None:
    assert [on_a_half_day(minutes) for minutes in (0, 435, 720, 1155)] == ["12 am", "7:15 am", "12 pm", "7:15 pm"]


def test_what_is_counted_agrees() -> None:
    assert counted("1 night", 1, 1, 3) == (7, " nights")
    assert counted("2 people.", 1, 2, 1) == (8, " person")
    assert counted("2 people.", 1, 2, 5) == (1, "")
    assert counted("1 star hotel", 1, 1, 4) == (1, "")


@pytest.mark.parametrize(
    ("text", "name", "town", "said"),
    [
        ("to the X .", "Times Square", False, "to Times Square ."),
        ("to X .", "Statue of Liberty", False, "to the Statue of Liberty ."),
        ("X is good", "Brooklyn Bridge", False, "The Brooklyn Bridge is good"),
        ("from the X .", "Ely", True, "from Ely ."),
        ("from the X station", "Ely", True, "from the Ely station"),
        ("at the X .", "The Gonville Hotel", False, "at The Gonville Hotel ."),
        ("called X .", "Statue of Liberty", False, "called Statue of Liberty ."),
    ],
)
def test_the_goes_before_names_that_have_it(text: str, name: str, town: bool, said: str) -> None:
    start, end, shown = placed(text, text.index("X"), text.index("X") + 1, name, town=town)
    assert text[:start] + shown + text[end:] == said
