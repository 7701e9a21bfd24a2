from __future__ import annotations

from random import Random

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn
from dstress.stressors.disfluency.alternatives import Alternatives
from dstress.stressors.disfluency.stressor import (
    AdditionStyle,
    build_repair,
    draw_phrase,
    draw_wrong_value,
    phrases,
    repairable_mentions,
    says_right_values_last,
)
from dstress.text.utterance import Utterance
from dstress.text.word_row import WordRow
from dstress.text.writing_style import style_of

SCHEMA = Schema((Service("train", slots=(Slot("destination"), Slot("leaveat"), Slot("food"), Slot("people"))),))
TOWNS = [
    Dialogue(town, (Turn(f"to {town}", "", {"train-destination": (town.lower(),)}),))
    for town in ("Ely", "London", "York")
] + [Dialogue("f", (Turn("Chinese food", "", {"train-food": ("chinese",)}),))]
POOL = Alternatives(SCHEMA, TOWNS)


def make_utterance(text: str, state: State, before: State | None = None) -> Utterance:
    turns = (Turn("so", "", before), Turn(text, "", state)) if before else (Turn(text, "", state),)
    return Utterance(Dialogue("d", turns), len(turns) - 1, SCHEMA, ("key",))


def repaired(utterance: Utterance, wrong: str, term: str, random: Random) -> str:
    words = WordRow(utterance.text, utterance.protected)
    style = AdditionStyle(style_of(utterance.text), "," in utterance.text or "." in utterance.text)
    mention = repairable_mentions(utterance, words)[0]
    return words.with_additions([build_repair(words, mention, wrong, term, style, random)])


class Always(Random):
    """Every chance comes true."""

    def random(self) -> float:
        return 0.0


class Never(Random):
    """No chance comes true."""

    def random(self) -> float:
        return 0.999


@pytest.mark.parametrize(
    ("text", "state", "wrong", "retraced", "plain"),
    [
        (
            "I leave at 5 pm.",
            {"train-leaveat": ("17:00",)},
            "6 pm",
            "I leave at 6 pm, no, I mean at 5 pm.",
            "I leave at 6 pm, no, I mean 5 pm.",
        ),
        (
            "i go to ely",
            {"train-destination": ("ely",)},
            "york",
            "i go to york no i mean to ely",
            "i go to york no i mean ely",
        ),
        (
            "An Italian place , please .",
            {"train-food": ("italian",)},
            "Chinese",
            "A Chinese , no , I mean an Italian place , please .",
            "A Chinese , no , I mean an Italian place , please .",
        ),
        ("Ely.", {"train-destination": ("ely",)}, "York", "York, no, I mean Ely.", "York, no, I mean Ely."),
    ],
)
def test_the_wrong_value_comes_first(text: str, state: State, wrong: str, retraced: str, plain: str) -> None:
    assert repaired(make_utterance(text, state), wrong, "no, I mean", Always()) == retraced
    assert repaired(make_utterance(text, state), wrong, "no, I mean", Never()) == plain


def test_a_value_that_hangs_on_another_word_is_left_alone() -> None:
    utterance = make_utterance("a 4-person table", {"train-people": ("4",)})
    assert repairable_mentions(utterance, WordRow(utterance.text, utterance.protected)) == []


def test_the_wrong_value_is_one_that_nobody_has_said() -> None:
    utterance = make_utterance("to Ely, not London", {"train-destination": ("ely",)})
    assert {draw_wrong_value(utterance, utterance.mentions[0], POOL) for _ in range(20)} <= {"York", ""}
    assert "York" in {draw_wrong_value(utterance, utterance.mentions[0], POOL) for _ in range(20)}


def test_the_guard_sees_a_wrong_value_behind_the_right_one() -> None:
    utterance = make_utterance("to Ely at 9:15", {"train-destination": ("ely",), "train-leaveat": ("09:15",)})
    assert says_right_values_last("to York, no, Ely at 9:15", utterance, POOL)
    assert says_right_values_last("to Ely at 9:30, no, 9:15", utterance, POOL)
    assert not says_right_values_last("to Ely, no, York at 9:15", utterance, POOL)
    assert not says_right_values_last("to Ely at 9:15, no, 9:30", utterance, POOL)
    assert not says_right_values_last("to York at 9:15", utterance, POOL)


def test_another_value_that_was_there_before_is_no_objection() -> None:
    utterance = make_utterance("to Ely, not London", {"train-destination": ("ely",)})
    assert says_right_values_last("to York, sorry, Ely, not London", utterance, POOL)
    assert not says_right_values_last("to Ely, not London, London", utterance, POOL)


def test_values_are_taken_back_in_many_ways() -> None:
    random = Random(1)
    drawn = [draw_phrase(phrases()["repairs"]["terms"], random) for _ in range(4_000)]
    assert len({*drawn}) == len(phrases()["repairs"]["terms"]) >= 50
    assert max(map(drawn.count, {*drawn})) < len(drawn) / 12


@pytest.mark.parametrize("term", phrases()["repairs"]["terms"])
def test_after_every_phrase_the_right_value_is_the_last(term: str) -> None:
    utterance = make_utterance("I want to go to Ely.", {"train-destination": ("ely",)})
    text = repaired(utterance, "London", term, Random(1))
    assert text.endswith("Ely.") and "London, " in text and says_right_values_last(text, utterance, POOL)
