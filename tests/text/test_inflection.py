from __future__ import annotations

import pytest

from dstress.text.edits import apply
from dstress.text.inflection import agree_articles, count_noun, edits_with_articles, place_name, plural


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
    assert apply(text, edits_with_articles(text, [(start, start + len(old), new)])) == said


@pytest.mark.parametrize(
    ("noun", "many"),
    [("museum", "museums"), ("library", "libraries"), ("church", "churches"), ("hiking", "hiking"), ("park", "parks")],
)
def test_plurals(noun: str, many: str) -> None:
    assert plural(noun) == many


def test_what_is_said_of_what_is_counted_agrees() -> None:
    assert count_noun("1 seat that is refundable", 1, 1, 4) == (14, " seats that are")
    assert count_noun("4 rooms which are near", 1, 4, 1) == (17, " room which is")


def test_what_is_counted_agrees() -> None:
    assert count_noun("1 night", 1, 1, 3) == (7, " nights")
    assert count_noun("2 people.", 1, 2, 1) == (8, " person")
    assert count_noun("2 people.", 1, 2, 5) == (1, "")
    assert count_noun("1 star hotel", 1, 1, 4) == (1, "")


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
    start, end, shown = place_name(text, text.index("X"), text.index("X") + 1, name, town=town)
    assert text[:start] + shown + text[end:] == said


def test_articles_agree_with_what_stands_for_the_next_word() -> None:
    assert agree_articles("a hour, an hotel and A 8") == "an hour, a hotel and A 8"
    assert agree_articles("a X", {"X": "umbrella"}.__getitem__) == "an X"
