"""How an utterance is written is seen, and phrases are written alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Dialogue, Turn
from dstress.text.writing_style import WritingStyle, copy_capitals, corpus_style, style_of, write

PLAIN, SPACED, TRADE = WritingStyle(True, False, True), WritingStyle(True, True, True), WritingStyle(False, True, False)


@pytest.mark.parametrize(
    ("text", "system", "style"),
    [
        ("I'd like a train, please.", "", PLAIN),
        ("I 'd like a train , please .", "", SPACED),
        ("i would like a train , please .", "where to ?", TRADE),
        ("i 'd like a train , please .", "", WritingStyle(False, True, True)),
        ("i need a train", "Where to ?", TRADE),
        ("Ely", "Where to ?", SPACED),
        ("Ely", "", PLAIN),
        ("i need a place . The hotel is fine .", "", TRADE),
    ],
)
def test_the_style_is_read_off(text: str, system: str, style: WritingStyle) -> None:
    assert style_of(text, system) == style


@pytest.mark.parametrize(
    ("style", "written"),
    [
        (PLAIN, "Well, I'd say it isn't, can't be."),
        (SPACED, "Well , I 'd say it is n't , ca n't be ."),
        (TRADE, "well , i would say it is not , can not be ."),
        (WritingStyle(False, False, True), "well, i'd say it isn't, can't be."),
    ],
)
def test_a_phrase_is_written_alike(style: WritingStyle, written: str) -> None:
    assert write("Well, I'd say it isn't, can't be.", style) == written


def test_had_better_is_no_would() -> None:
    assert (
        write("I thought I'd better check, I'd like to.", TRADE) == "i thought i had better check , i would like to ."
    )


def test_what_belongs_to_somebody_is_no_is() -> None:
    phrase = "Let's see. Is it safe if it's my cat's name? That's St Anne's, and everyone's there."
    expected = "let us see . is it safe if it is my cat s name ? that is st anne s , and everyone is there ."
    assert write(phrase, TRADE) == expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_has_a_style(text: str, system: str) -> None:
    assert isinstance(write(text, style_of(text, system)), str)


def corpus_of(*texts: str, name: str = "acorn") -> list[Dialogue]:
    return [Dialogue("a", tuple(Turn(text, "", {"hotel-name": (name,)}) for text in texts))]


def test_a_corpus_writes_as_most_of_its_utterances_do() -> None:
    spaced = corpus_of("I 'd like the Acorn .", "It 's on Monday .", "Yes , thanks !")
    assert corpus_style(spaced) == WritingStyle(True, True, True, titled=True)
    assert corpus_style(corpus_of("I'd like the Acorn.", "Yes", name="Acorn")) == PLAIN
    assert corpus_style(corpus_of("it s in the hotel -s .")) == TRADE._replace(endings_apart=True)
    assert style_of("Ely", "", corpus_style(spaced)) == SPACED
    assert style_of("Ely", "Where to?", corpus_style(spaced)) == PLAIN


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
    assert copy_capitals(old, new) == shown


def test_a_common_noun_takes_a_capital_only_where_a_sentence_opens() -> None:
    assert copy_capitals("Italian", "taco", name=False) == "taco"
    assert copy_capitals("Italian", "taco", opens=True, name=False) == "Taco"
    assert copy_capitals("Cheap", "multiple sports", opens=True, name=False) == "Multiple sports"


def test_a_closed_contraction_among_parted_marks_is_a_slip() -> None:
    style = style_of("i would like it cheap .", "sure . i'll need a little more information .")
    assert write("I hope that isn't too much.", style) == "i hope that is not too much ."
    assert write("That's it.", style_of("i 'd like it cheap .")) == "that 's it ."
