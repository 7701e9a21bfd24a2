"""Dialogues that do not count."""

from __future__ import annotations

import pytest

import dstress
from dstress.errors import PredictionError
from dstress.predictions.base import Prediction
from dstress.scoring.score import ScoringOptions, score

GOLD = {"hotel-area": ("north",)}


def answers(*right: bool) -> list[Prediction]:
    """A dialogue a flag, of one turn, that is right or not."""
    states = [{"hotel-area": "north" if flag else "south"} for flag in right]
    return [Prediction(f"D{number}", 0, state, gold=GOLD) for number, state in enumerate(states)]


def test_neither_gold_nor_predictions_count_and_the_signature_says_so() -> None:
    card = score(answers(True, False, True), metrics="jga", options=ScoringOptions(leave_out=("d1.json",)))
    assert card["jga"].value == 1.0
    assert "|turns:2|" in card["jga"].signature
    assert "|without:d1.json|" in card["jga"].signature


def test_a_dialogue_that_only_the_predictions_have_may_be_left_out() -> None:
    corpus = dstress.load("reminder:test")
    said = [
        Prediction(dialogue.id, turn, {slot: forms[0] for slot, forms in dialogue.turns[turn].state.items()})
        for dialogue in corpus
        for turn in range(len(dialogue.turns))
    ]
    options = ScoringOptions(leave_out=("stranger",), resamples=2)
    card = score([*said, Prediction("stranger", 0, {})], corpus, metrics="jga", options=options)
    assert card["jga"].value == 1.0


def test_a_dialogue_that_nobody_has_is_refused() -> None:
    with pytest.raises(PredictionError, match="neither in gold nor in the predictions: D7"):
        score(answers(True), metrics="jga", options=ScoringOptions(leave_out=("D7",)))
