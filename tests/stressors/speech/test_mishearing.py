"""The confusion model at work."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fit_confusions import fit
from dstress.stressors.speech.confusions import Fit, shipped
from dstress.stressors.speech.mishearing import Draw, Error, Mishearing, write_errors
from dstress.stressors.speech.recognizers import RecognizerName
from dstress.stressors.speech.spoken import words
from tests.stressors.samples import sample

SAID = ["i", "need", "a", "cheap", "guesthouse", "in", "the", "east", "of", "town", "for", "two", "people"]
HEARD = [
    SAID,
    ["i", "need", "cheap", "guest", "house", "in", "the", "least", "of", "town", "for", "two", "people"],
    ["i", "need", "a", "cheap", "guesthouse", "and", "the", "east", "of", "down", "for", "to", "people"],
    ["i", "needed", "cheap", "guesthouse", "in", "east", "of", "town", "for", "two", "people", "there"],
]


def small_fit() -> Fit:
    return fit({"white": [[(SAID, SAID)] * 3 + [(SAID, heard) for heard in HEARD]]})


@pytest.mark.slow
@pytest.mark.parametrize("wer", [0.1, 0.3, 0.6])
def test_the_rate_is_what_was_asked_for(wer: float) -> None:
    model = Mishearing(small_fit(), "white", wer)
    repeated = [SAID] * 200
    assert model.tune(repeated).rate == pytest.approx(wer, abs=0.01)
    assert model.measure(repeated).rate == pytest.approx(wer, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("recognizer", get_args(RecognizerName))
@pytest.mark.parametrize("noise", ["white", "babble"])
def test_the_mix_is_the_channels(noise: str, recognizer: RecognizerName) -> None:
    model = Mishearing(shipped(recognizer), noise, 0.3)
    frequent = [word for word, (times, _) in model.fit.words.items() if times > 9]
    drawn = [Random(seed).choices(frequent, k=12) for seed in range(300)]
    assert model.tune(drawn).mix == pytest.approx(model.target.mix, abs=0.04)


def test_known_confusions_come_back() -> None:
    model = Mishearing(small_fit(), "white", 0.3)
    model.tune([SAID] * 50)
    heard = {" ".join(model.mishear(SAID, Random(seed))) for seed in range(200)}
    assert any("guest house" in text for text in heard)
    assert any("least of" in text for text in heard)


def test_a_fit_of_long_errors_alone_still_mishears_one_word() -> None:
    model = Mishearing(fit({"white": [[(["a", "cheap", "room"], ["two"])] * 9]}), "white", 0.9)
    assert {len(model.mishear(["room"], Random(seed))) for seed in range(50)} == {1}


def test_names_that_the_recogniser_does_not_know_are_hardly_ever_heard() -> None:
    model = Mishearing(shipped("pocketsphinx"), "white", 0.3)
    said = ["a", "taxi", "to", "wandlebury", "please"]
    model.tune([said, ["thank", "you"]] * 50)
    right = sum("wandlebury" in model.mishear(said, Random(seed)) for seed in range(200))
    assert right < 50
    assert sum("taxi" in model.mishear(said, Random(seed)) for seed in range(200)) > 100


@given(st.lists(st.text("abcdefgh'", min_size=1), max_size=20), st.integers())
def test_any_words_can_be_misheard_and_always_in_the_same_way(said: list[str], seed: int) -> None:
    model = Mishearing(small_fit(), "white", 0.9)
    once = model.mishear(said, Random(seed))
    assert once == model.mishear(said, Random(seed))
    assert all(once)


def test_a_draw_follows_its_weights() -> None:
    draw = Draw([("a", 3.0), ("b", 1.0)])
    random = Random(1)
    draw_sample = [draw(random) for _ in range(4000)]
    assert draw_sample.count("a") / 4000 == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("text", "errors", "written"),
    [
        ("A taxi to Larkspur at 17:15, please!", [], "A taxi to Larkspur at 17:15, please!"),
        ("To Larkspur, please.", [Error(1, 2, ["lark", "sport"])], "To Lark sport, please."),
        ("at 17:15.", [Error(2, 3, ["fifty"])], "at seventeen fifty."),
        ("a cheap hotel", [Error(1, 3, ["chapel"])], "a chapel"),
        ("a cheap hotel", [Error(0, 1, []), Error(2, 2, ["old"])], "cheap old hotel"),
        ("saint john 's college .", [Error(0, 1, ["sand"])], "sand john's college ."),
        ("for $ 5", [Error(0, 1, ["four"])], "four five dollars"),
    ],
)
def test_what_was_heard_right_stays_as_it_was_written(text: str, errors: list[Error], written: str) -> None:
    assert write_errors(text, errors) == written


def test_the_words_are_those_that_were_misheard() -> None:
    model = Mishearing(shipped("whisper"), "white", 0.3)
    for dialogue in sample("reminder", None):
        for place, turn in enumerate(dialogue.turns):
            written = write_errors(turn.user, model.errors(words(turn.user), Random(place)))
            assert words(written) == words(" ".join(model.mishear(words(turn.user), Random(place))))
