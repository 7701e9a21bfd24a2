"""Which misheard turns a careful reader could still label."""

from __future__ import annotations

import pytest

from dstress.dialogue import LOST, RECOVERABLE, Dialogue, Schema, Service, Slot, State, Turn
from dstress.pipeline.stress import stress
from dstress.stressors.speech.recoverability import Recoverability
from dstress.text.utterance import Utterance
from tests.stressors.samples import sample

SCHEMA = Schema(
    (
        Service(
            "inn",
            slots=(
                Slot("name"),
                Slot("people", categorical=True, values=("2", "4", "8")),
                Slot("price", categorical=True, values=("cheap", "expensive", "moderate")),
                Slot("arrive_by"),
                Slot("parking", categorical=True, values=("yes", "no")),
            ),
        ),
    )
)


def tag(said: str, heard: str, state: State, *names: str) -> str:
    """The tag of a dialogue's only turn, where the corpus has other names too."""
    dialogue = Dialogue("d", (Turn(said, state=state),))
    others = [Dialogue(name, (Turn(name, state={"inn-name": (name,)}),)) for name in names]
    rule = Recoverability([dialogue, *others], SCHEMA)
    [found] = rule.tagged(Utterance(dialogue, 0, SCHEMA, ()), heard).tags
    return found


@pytest.mark.parametrize(
    ("said", "heard", "state"),
    [
        ("a cheap inn", "i cheap in", {"inn-price": ("cheap",)}),
        ("four people please", "for people please", {"inn-people": ("4",)}),
        ("at quarter past five pm", "at 5:15 pm", {"inn-arrive_by": ("17:15",)}),
        ("at 17:15", "at seventeen fifteen", {"inn-arrive_by": ("17:15",)}),
        ("the Larkspur please", "the lark spur please", {"inn-name": ("Larkspur",)}),
        ("from Aldermoor please", "from alder more please", {"inn-name": ("Aldermoor",)}),
        ("thank you, bye", "hank who buy", {}),
    ],
)
def test_what_is_said_otherwise_or_sounds_alike_can_be_told(said: str, heard: str, state: State) -> None:
    assert tag(said, heard, state, "Quarry House") == RECOVERABLE


@pytest.mark.parametrize(
    ("said", "heard", "state"),
    [
        ("a cheap inn for four", "a cheap in or not", {"inn-price": ("cheap",), "inn-people": ("4",)}),
        ("four people please", "eight people please", {"inn-people": ("4",)}),
        ("at the Larkspur please", "at the quarry please", {"inn-name": ("Larkspur",)}),
        ("at the Larkspur please", "at please", {"inn-name": ("Larkspur",)}),
    ],
)
def test_what_is_gone_or_sounds_like_another_value_is_lost(said: str, heard: str, state: State) -> None:
    assert tag(said, heard, state, "Quarry House") == LOST


def test_a_name_is_lost_once_another_is_as_near() -> None:
    state = {"inn-name": ("Stansted",)}
    assert tag("to Stansted please", "to started please", state) == RECOVERABLE
    assert tag("to Stansted please", "to started please", state, "Started") == LOST


def test_what_the_words_only_refer_to_hangs_on_the_whole_utterance() -> None:
    state = {"inn-name": ("Larkspur",)}  # the system offered it
    assert tag("yes, that is fine", "yes that is find", state) == RECOVERABLE
    assert tag("yes, that is fine", "years of a wine", state) == LOST


@pytest.mark.parametrize("spec", ["speech_text", "speech_text(recognizer=pocketsphinx)", "phonetic_names"])
def test_every_misheard_turn_has_one_of_the_two_tags(spec: str) -> None:
    turns = [turn for dialogue in stress(sample("reminder", None, 10), spec) for turn in dialogue.turns]
    tags = [turn.stress.tags for turn in turns if turn.stress and turn.changed]
    assert {*tags} == {(RECOVERABLE,), (LOST,)}
