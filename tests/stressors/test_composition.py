"""Stressors one after the other: whatever the written order, each gets words that it can read."""

from __future__ import annotations

import re

import pytest

from dstress.stressors import create
from tests.stressors.noise import simulated_dialogues, stressed


@pytest.mark.parametrize(
    ("written", "done"),
    [
        ("disfluency+simplification", "simplification+disfluency"),
        ("typos+verbosity+values", "values+verbosity+typos"),
        ("paraphrase+counterfactual", "counterfactual+paraphrase"),
        ("schema_noise+typos+entities", "entities+typos+schema_noise"),
        ("typos+disfluency", "typos+disfluency"),
        ("verbosity+simplification", "verbosity+simplification"),
    ],
)
def test_what_is_wanted_comes_before_how_it_is_said_and_that_before_its_errors(written: str, done: str) -> None:
    assert create(written).spec == done


def test_a_telegram_said_with_hesitations_keeps_every_word_in_its_order() -> None:
    """A rule that shortens "I would like to" finds nothing in "I would, um, I would like to", or half of it."""
    said = simulated_dialogues()
    broken = 0
    for short, both in zip(stressed("simplification", said), stressed("disfluency+simplification", said), strict=True):
        for telegram, turn in zip(short.turns, both.turns, strict=True):
            words = iter(re.findall(r"\w+", turn.user.lower()))
            assert all(word in words for word in re.findall(r"\w+", telegram.user.lower())), turn.user
            broken += turn.user != telegram.user
    assert broken > 50
