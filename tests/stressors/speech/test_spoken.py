"""Text as one says it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.stressors.speech.spoken import script, words


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("17:15", "seventeen fifteen"),
        ("17:00", "seventeen hundred"),
        ("9:00", "nine o'clock"),
        ("09:05 am", "nine oh five a m"),
        ("11.15am", "eleven fifteen a m"),
        ("8.15 p.m.", "eight fifteen p m"),
        ("00:00", "midnight"),
        ("at17:00", "at seventeen hundred"),
        ("5pm", "five p m"),
        ("I am 5", "i am five"),
        ("1530", "fifteen thirty"),
        ("123", "one hundred twenty three"),
        ("1,200", "one thousand two hundred"),
        ("01223", "zero one two two three"),
        ("£12.50", "twelve pounds fifty"),
        ("4.5", "four point five"),
        ("1st 2nd 3rd 12th 20th 31st", "first second third twelfth twentieth thirty first"),
        ("TR1234", "t r one two three four"),
        ("cb21nt", "c b two one n t"),
        ("2people", "two people"),
        ("4-star B&B", "four star b and b"),
        ("I 'm sure it does n't", "i'm sure it doesn't"),
        ("Wi-Fi and e-mail", "wifi and email"),
        ("the e fi wi mail", "the e fi wi mail"),
        ("the guests' café", "the guests cafe"),
        ("St. John's", "saint john's"),
        ("Hmm , ok", "hmm okay"),
        ("TV", "t v"),
        ("🙂 שלום \x00", ""),
        ("", ""),
    ],
)
def test_spoken_words(written: str, spoken: str) -> None:
    assert " ".join(words(written)) == spoken


def test_a_script_has_pauses_and_spelt_letters() -> None:
    assert script("Hello , is TR7 at 5 am ? Yes!") == "hello, is T R seven at five A M? yes."


@given(st.text())
def test_any_text_becomes_plain_words(text: str) -> None:
    for word in words(text):
        assert word.isascii() and word.replace("'", "").isalpha() and word == word.lower()


@given(st.text("abc '.,:0123456789-pm£", max_size=40))
def test_saying_what_is_spoken_changes_nothing(text: str) -> None:
    once = words(text)
    assert words(" ".join(once)) == once
