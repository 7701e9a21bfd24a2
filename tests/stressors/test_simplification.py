"""Telegraphic requests: what goes, and what must stay."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from dstress.dialogue import Dialogue, Turn
from dstress.errors import SpecError
from dstress.stressors import stressors
from dstress.stressors.simplification import VALUE, Part, Simplification
from tests.stressors.noise import ODD, check_page, keeps_protected, protected_texts, simulated_dialogues, stressed


def short(text: str, *values: str, parts: tuple[Part, ...] = ()) -> str:
    ranges = sorted((text.index(value), text.index(value) + len(value)) for value in values)
    return (Simplification(parts) if parts else Simplification()).rewrite(text, ranges, Random(0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello , I am looking for a train to Ely on Monday please .", "Looking for train to Ely on Monday ."),
        ("hello , i am looking for a train to ely please .", "looking for train to ely ."),
        ("I'd like to book a table, please.", "Book table."),
        ("Can you find me a hotel in the north?", "Hotel in north?"),
        ("What is the phone number and postcode ?", "Phone number and postcode ?"),
        ("Where is it ? What time does it leave ?", "Where is it ? What time does it leave ?"),
        ("Thank you so much for your help . Goodbye !", "Thanks . Bye !"),
        ("Great , thanks . I also need a taxi .", "Also need taxi ."),
        ("i would like a restaurant that s cheap .", "want restaurant cheap ."),
        ("I need a train that leaves after 10:00 .", "Need train leaving after 10:00 ."),
        ("I was wondering if you could help me find a museum .", "Find museum ."),
        ("No , but can you book it for me ?", "No , but book it ."),
        ("yes can you help me find a place ? what is the phone ?", "yes find place . phone ?"),
        ("how long is that ride by the way ?", "how long is that ride by the way ?"),
        ("I 'm looking for a place .   The hotel should have free wifi .", "Looking for place .   Have free wifi ."),
    ],
)
def test_what_goes(text: str, expected: str) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Yes please .",
        "Yes , please .",
        "yes please",
        "No , thank you !",
        "I do n't need it .",
        "That is all I need .",
        "The same day .",
        "that one",
        "Can you help me ?",
        "from Ely to Norwich after 18:15",
        "It does n't matter .",
        "What is the weather like ?",
        "Just for me .",
    ],
)
def test_what_stays(text: str) -> None:
    assert short(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I am looking for the the please , thanks", "the please"),
        ("Could you please book a a.b*(c)+[d] for me ?", "a.b*(c)+[d]"),
        ("Can you find me The Can You Help Me Cafe please ?", "The Can You Help Me Cafe"),
    ],
)
def test_a_value_is_not_cut(text: str, value: str) -> None:
    after = short(text, value)
    assert value in after and after != text


def test_parts_can_be_had_alone() -> None:
    text = "Hi , I would really like a train please ."
    assert short(text, parts=("articles",)) == "Hi , I would really like train please ."
    assert short(text, parts=("openers",)) == "I would really like a train please ."
    assert short(text, parts=("politeness",)) == "Hi , I would really like a train ."
    assert short(text, parts=("openers", "requests", "articles", "politeness")) == "Want train ."


def test_no_word_appears_but_those_of_the_rules() -> None:
    added = {"also", "need", "want", "prefer", "thanks", "bye", "with", "serving", "leaving", "arriving", "going"}
    dialogues = simulated_dialogues()
    for before, after in zip(dialogues, stressed("simplification", dialogues), strict=True):
        for old, new in zip(before.turns, after.turns, strict=True):
            new_words = {word.strip(".,?!").lower() for word in new.user.split()}
            assert new_words <= added | {word.strip(".,?!").lower() for word in old.user.split()} | {""}


def test_words_that_accept_an_offer_stay() -> None:
    offered = Turn("Perfect . What is the address ?", "Try the Acorn .", {"hotel-name": ("acorn",)})
    heard = Turn("Perfect . What is the address ?", "It is cheap .", {})
    [accepted], [known] = (stressed("simplification", [Dialogue("d", (turn,))])[0].turns for turn in (offered, heard))
    assert (accepted.user, known.user) == ("Perfect . Address ?", "Address ?")
    asked = Turn("that would be great , how long is it ?", "7 trains fit . may i book 1 of them for you ?", {})
    assert stressed("simplification", [Dialogue("d", (asked,))])[0].turns[0].user == asked.user


@given(protected_texts())
def test_protected_words_stay(case: tuple[str, list[tuple[int, int]]]) -> None:
    keeps_protected(Simplification().rewrite, *case, 0)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_stay_whole_enough(text: str) -> None:
    after = short(text)
    assert after.count(VALUE) == text.count(VALUE)
    assert bool(after.strip()) == bool(text.strip())


def test_a_very_long_utterance() -> None:
    assert short("Hello , I need a train please . " * 2_000).split() == ["Need", "train", "."] * 2_000


@pytest.mark.parametrize("spec", ["simplification(parts=[])", "simplification(parts=[nouns])"])
def test_bad_arguments(spec: str) -> None:
    with pytest.raises(SpecError):
        stressors.create(spec)


def test_the_page_shows_what_comes_out() -> None:
    check_page("simplification")
