"""Sentences in other frames: what they may become, what stays, and that the table is one whole."""

from __future__ import annotations

import re
from random import Random

import pytest

from dstress.stressors.paraphrase.sentence_frames import Masks, Sentences
from dstress.text.tables import read_table

TABLE = read_table("dstress.stressors.paraphrase", "sentence_frames.toml")
ALWAYS = {"I", "me", "my"}


def drafts(text: str, *kept: str) -> set[str]:
    spans = [(text.index(words), text.index(words) + len(words)) for words in kept]
    return {Sentences(text, spans).restate(Random(seed)) for seed in range(60)}


@pytest.mark.parametrize(
    ("text", "kept", "wanted"),
    [
        ("I need a taxi.", (), "What I'm after is a taxi."),
        ("Can I get their phone number, please?", (), "Please let me have their telephone number."),
        ("we need a room for 3 nights", (), "could you arrange a room for a stay of 3 nights for us?"),
        ("I 'd like a cheap restaurant .", ("cheap",), "What I 'm after is a restaurant that is cheap ."),
        ("i am leaving from ely and going to cambridge .", ("ely", "cambridge"), "my trip is from ely to cambridge ."),
        ("How about Friday?", ("Friday",), "Would Friday be possible?"),
        ("6 please", ("6",), "let's go for 6, please"),
        ("No, that's all. Thank you!", (), "Nope, that covers everything. Thanks!"),
        ("Does it have wifi?", ("wifi",), "I wonder if it has wifi."),
        (
            "I also need an Indian restaurant.",
            ("Indian",),
            "Another thing: what I need is a place that does Indian food.",
        ),
        ("I just need the train id.", (), "All I need is the train id."),
        ("Let's go with the acorn.", ("acorn",), "I've decided on the acorn."),
        ("i would like to know their postcode .", (), "please let me have their postal code ."),
    ],
)
def test_what_a_sentence_may_become(text: str, kept: tuple[str, ...], wanted: str) -> None:
    assert wanted in drafts(text, *kept)


@pytest.mark.parametrize(
    "text", ["That is not right.", "I prefer the ferry to the bus.", "You decide.", "Its name is unusual.", "Why?"]
)
def test_what_no_frame_fits_stays(text: str) -> None:
    assert drafts(text) == {text}


def test_a_name_that_nobody_marked_is_not_torn() -> None:
    assert drafts("is the meze bar restaurant available ?") == {"is the meze bar restaurant available ?"}
    assert "could you check whether the restaurant is available ?" in drafts("is the restaurant available ?")


def test_what_readers_found_nobody_to_say_is_not_said() -> None:
    frames = " ".join(say for frame in TABLE["frame"] for say in frame["say"])
    for phrase in ("still have to know", "have in mind", "counting on", "come up with", "might be a good choice"):
        assert phrase not in frames
    assert not any("know of" in draft for draft in drafts("i am looking for a train to ely .", "ely"))


def test_masks_are_letters_that_come_back() -> None:
    text = "Take Anna to King's Lynn on Friday at 9:15 for 3 people, one way"
    masks = Masks(text, [])
    for words in ("Anna", "King's Lynn", "Friday", "9:15", "3"):
        assert words not in masks.text
    assert masks.restore(masks.text) == text
    assert masks.all_in(masks.text) and not masks.all_in(masks.text[:-20])


def test_every_sentence_is_filled_by_what_its_frame_catches() -> None:
    macros = "".join(TABLE["macros"].values())
    for frame in TABLE["frame"]:
        for said in frame["said"]:
            caught = {*re.findall(r"\?P<(\w+)>", said), *re.findall(r"\{(\w+)\}", said)} | ALWAYS
            common = {name for name in re.findall(r"\{(\w+)\}", "".join(frame["say"])) if name not in caught}
            assert common <= {"where", "rest", "of", "when"}, (said, common)
        for sentence in frame["say"]:
            assert sentence[-1] in ".?" and (sentence[0] in "{I" or sentence[0].islower()), sentence
    assert macros.isprintable()
