"""Taking over the usable changes of a rough back-translation."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dstress.stressors.paraphrase.phrase_table import Change, PhraseTable, apply_changes, everyday_phrases
from dstress.text.tables import read_table

EVERYDAY = PhraseTable(everyday_phrases())
OF_SCHEMAS = PhraseTable(everyday_phrases(), read_table("dstress.stressors.schema", "backtranslation.toml"))


def rephrase(original: str, back: str) -> str:
    return apply_changes(original, EVERYDAY.find_changes(original, back))


@pytest.mark.parametrize(
    ("original", "back", "expected"),
    [
        ("Can you book a table ?", "It can reserve a table ?", "Can you reserve a table ?"),
        ("I'm looking for a hotel.", "I am searching hotel.", "I am searching for a hotel."),
        ("THANKS !", "Thank you !", "THANK YOU !"),
        ("i also need a cab", "Also I need a taxi", "also i need a taxi"),
        ("I also need a cab", "Also I need a taxi", "Also I need a taxi"),
        ("and I also need it", "and also I need it", "and also I need it"),
        ("Is there an entrance fee ?", "Is there a cost of entrance ?", "Is there a cost of entry ?"),
        ("a cab, an option", "a taxi, a choice", "a taxi, a choice"),
        ("Please pick me up", "Please choose me up", "Please pick me up"),
        ("what is their phone number", "which is his number of telephone", "what is their telephone number"),
        ("I need food , thanks .", "Eaten , broken .", "I need food , thanks ."),
        ("It’s all I need, I don’t need people", "folks", "It’s all I need, I don’t need folks"),
    ],
)
def test_only_known_changes_are_taken_over(original: str, back: str, expected: str) -> None:
    assert rephrase(original, back) == expected


def test_a_contraction_alone_is_slight() -> None:
    assert EVERYDAY.find_changes("I 'm here", "I am here") == [Change(2, 4, "am", slight=True)]


def test_a_comma_ends_a_phrase() -> None:
    assert rephrase("All I need , to go", "All I must go") == "All I need , to go"


def test_compounds_turn_round_in_schemas_only() -> None:
    assert EVERYDAY.find_changes("alarm time", "time of alarm") == []
    assert apply_changes("alarm time", OF_SCHEMAS.find_changes("alarm time", "Time of alarm")) == "time of alarm"


@given(some.text(max_size=60), some.text(max_size=60))
def test_any_texts_and_only_changed_places_change(original: str, back: str) -> None:
    changes = EVERYDAY.find_changes(original, back)
    assert all(0 <= change.start < change.end <= len(original) for change in changes)
    assert all(first.end <= second.start for first, second in pairwise(changes))
    assert changes or apply_changes(original, changes) == original
    assert not changes or EVERYDAY.offers(original)
