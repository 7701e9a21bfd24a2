"""Misheard words written into the utterance."""

from __future__ import annotations

from random import Random

import pytest

from dstress.stressors.speech.confusion_fit import shipped
from dstress.stressors.speech.mishearing import Error, Mishearing
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.written import write_errors
from tests.stressors.samples import sample


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
