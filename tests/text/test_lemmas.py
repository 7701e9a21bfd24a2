"""Lemmas: forms of one word meet, words that only look alike stay apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.text.lemmas import content, lemma

FORMS = {
    "city": ["cities", "city's"],
    "book": ["books", "booked", "booking"],
    "plan": ["planned", "planning", "plans"],
    "locate": ["located", "locates", "locating"],
    "treat": ["treated", "treating"],
    "reserve": ["reserved", "reserving", "reserves"],
    "contain": ["contained", "containing"],
    "travel": ["travelling", "traveling", "travelled"],
    "agree": ["agreed", "agreeing"],
    "pay": ["paid", "paying", "pays"],
    "box": ["boxes"],
    "movie": ["movies"],
    "carry": ["carried", "carries", "carrying"],
    "call": ["called", "calling"],
    "child": ["children"],
}


@pytest.mark.parametrize(("word", "form"), [(word, form) for word, forms in FORMS.items() for form in [word, *forms]])
def test_forms_meet(word: str, form: str) -> None:
    assert lemma(form) == word


@pytest.mark.parametrize("word", ["address", "bus", "need", "evening", "status", "gas", "red", "string", "this", "is"])
def test_words_that_look_like_forms_stay(word: str) -> None:
    assert lemma(word) == word


def test_content_leaves_stop_words_out() -> None:
    assert content("Whether the user’s reminders are repeated, e.g. daily") == {
        "user", "reminder", "repeat", "daily", "e", "g"
    }  # fmt: skip
    assert content("of the") == content("") == frozenset()


@given(st.text(max_size=60))
def test_any_text_has_lemmas(text: str) -> None:
    assert all(content(text)) and content(text) == content(f"the {text}, of")
