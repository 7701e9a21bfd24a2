"""The confusion model at work."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.stressors.speech.confusion_fit import shipped
from dstress.stressors.speech.confusions import Fit, fit
from dstress.stressors.speech.mishearing import Draw, Mishearing
from dstress.stressors.speech.recognizer import RecognizerName

SAID = ["i", "need", "a", "cheap", "guesthouse", "in", "the", "east", "of", "town", "for", "two", "people"]
HEARD = [
    SAID,
    ["i", "need", "cheap", "guest", "house", "in", "the", "least", "of", "town", "for", "two", "people"],
    ["i", "need", "a", "cheap", "guesthouse", "and", "the", "east", "of", "down", "for", "to", "people"],
    ["i", "needed", "cheap", "guesthouse", "in", "east", "of", "town", "for", "two", "people", "there"],
]


def small_fit() -> Fit:
    return fit({"white": [[(SAID, SAID)] * 3 + [(SAID, heard) for heard in HEARD]]})


@pytest.mark.parametrize("wer", [0.1, 0.3, 0.6])
def test_the_rate_is_what_was_asked_for(wer: float) -> None:
    model = Mishearing(small_fit(), "white", wer)
    sample = [SAID] * 200
    assert model.tune(sample).rate == pytest.approx(wer, abs=0.01)
    assert model.measure(sample).rate == pytest.approx(wer, abs=0.01)


@pytest.mark.parametrize("recognizer", get_args(RecognizerName))
@pytest.mark.parametrize("noise", ["white", "babble"])
def test_the_mix_is_the_channels(noise: str, recognizer: RecognizerName) -> None:
    model = Mishearing(shipped(recognizer), noise, 0.3)
    words = [word for word, (times, _) in model.fit.words.items() if times > 9]
    sample = [Random(seed).choices(words, k=12) for seed in range(300)]
    assert model.tune(sample).mix == pytest.approx(model.target.mix, abs=0.04)


def test_known_confusions_come_back() -> None:
    model = Mishearing(small_fit(), "white", 0.3)
    model.tune([SAID] * 50)
    heard = {" ".join(model.mishear(SAID, Random(seed))) for seed in range(200)}
    assert any("guest house" in text for text in heard)
    assert any("least of" in text for text in heard)


def test_names_that_the_recogniser_does_not_know_are_hardly_ever_heard() -> None:
    model = Mishearing(shipped("pocketsphinx"), "white", 0.3)
    said = ["a", "taxi", "to", "wandlebury", "please"]
    model.tune([said, ["thank", "you"]] * 50)
    right = sum("wandlebury" in model.mishear(said, Random(seed)) for seed in range(200))
    assert right < 50
    assert sum("taxi" in model.mishear(said, Random(seed)) for seed in range(200)) > 100


@given(st.lists(st.text("abcdefgh'", min_size=1), max_size=20), st.integers())
def test_any_words_can_be_misheard_and_always_in_the_same_way(words: list[str], seed: int) -> None:
    model = Mishearing(small_fit(), "white", 0.9)
    once = model.mishear(words, Random(seed))
    assert once == model.mishear(words, Random(seed))
    assert all(once)


def test_a_draw_follows_its_weights() -> None:
    draw = Draw([("a", 3.0), ("b", 1.0)])
    random = Random(1)
    draw_sample = [draw(random) for _ in range(4000)]
    assert draw_sample.count("a") / 4000 == pytest.approx(0.75, abs=0.03)
