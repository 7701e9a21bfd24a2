"""No value in a file brings a stressor or a convention down, or keeps it busy for minutes."""

from __future__ import annotations

import pytest

from dstress.conventions import conventions
from dstress.dialogue import Slot
from dstress.pipeline.stress import stress
from dstress.scoring.score import ScoringOptions
from tests.attacks.poison import VALUES, at_most, poisoned

WORDS_ONLY = (
    "disfluency", "entities", "out_of_domain", "simplification", "speech_text", "typos", "unseen_entities", "values",
    "verbosity", "word_noise",
)  # fmt: skip
"""Stressors that need no program beside them."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", VALUES)
def test_every_stressor_survives_every_value(kind: str) -> None:
    with at_most(60):
        for stressor in WORDS_ONLY:
            (dialogue,) = stress(poisoned(VALUES[kind]), stressor, seed=1)
            assert dialogue.turns


def test_a_book_stays_as_it_was_and_is_counted() -> None:
    for stressor in ("typos", "entities"):
        (dialogue,) = stress(poisoned(VALUES["a book"]), stressor, seed=1)
        assert not any(turn.changed for turn in dialogue.turns)
        assert all(turn.stress and turn.stress.fallbacks == ("the utterance is too long",) for turn in dialogue.turns)


@pytest.mark.parametrize("name", list(conventions))
def test_every_convention_survives_every_value(name: str) -> None:
    convention = conventions.create(name)
    with at_most(60):
        for value in ("a" * 200_000, *VALUES.values()):
            for slot in ("hotel-name", "train-leaveat", "restaurant-book time"):
                accepted, predicted = convention.gold(slot, (value,)), convention.predicted(slot, value)
                if accepted and predicted is not None:
                    assert 0 <= convention.similarity(slot, accepted, predicted, Slot(slot)) <= 1


def test_a_lone_genitive_is_joined_as_before() -> None:
    convention = conventions.create("fnctod")
    said = {"st john 's college": "st john's college", "a 's b 's c": "a's b 's c", "'s x": "'s x", "b 's": "b 's"}
    assert {value: convention.predicted("attraction-name", value) for value in said} == said


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"resamples": -5}, {"level": 1.0}, {"level": float("nan")}])
def test_impossible_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(Exception, match="that cannot be"):
        ScoringOptions(**wrong)  # type: ignore[arg-type]
