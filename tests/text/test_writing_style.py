"""How an utterance is written is seen, and phrases are written alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.text.writing_style import Manner, dressed, free, manner_of
from tests.stressors.noise import protected_texts

PLAIN, PARTED, TRADE = Manner(False, False, False), Manner(False, True, False), Manner(True, True, True)


@pytest.mark.parametrize(
    ("text", "beside", "manner"),
    [
        ("I'd like a train, please.", "", PLAIN),
        ("I 'd like a train , please .", "", PARTED),
        ("i would like a train , please .", "where to ?", TRADE),
        ("i 'd like a train , please .", "", Manner(True, True, False)),
        ("i need a train", "Where to ?", Manner(True, True, True)),
        ("Ely", "Where to ?", PARTED),
        ("Ely", "", PLAIN),
        ("i need a place . The hotel is fine .", "", Manner(True, True, True)),
    ],
)
def test_the_manner_is_read_off(text: str, beside: str, manner: Manner) -> None:
    assert manner_of(text, beside) == manner


@pytest.mark.parametrize(
    ("manner", "written"),
    [
        (PLAIN, "Well, I'd say it isn't, can't be."),
        (PARTED, "Well , I 'd say it is n't , ca n't be ."),
        (TRADE, "well , i would say it is not , can not be ."),
        (Manner(True, False, False), "well, i'd say it isn't, can't be."),
    ],
)
def test_a_phrase_is_written_alike(manner: Manner, written: str) -> None:
    assert dressed("Well, I'd say it isn't, can't be.", manner) == written


@given(protected_texts())
def test_free_words_are_those_that_touch_no_range(case: tuple[str, list[tuple[int, int]]]) -> None:
    text, ranges = case
    words = list(re.finditer(r"\w+", text))
    expected = [w for w in words if all(w.end() <= start or end <= w.start() for start, end in ranges)]
    assert list(free(words, ranges)) == expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_has_a_manner(text: str, beside: str) -> None:
    assert isinstance(dressed(text, manner_of(text, beside)), str)
