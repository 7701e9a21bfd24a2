"""Turns as systems understood them, drawn and blinded for judges."""

from __future__ import annotations

from dstress.corpora import load
from dstress.dialogue import first_forms
from dstress.predictions.base import Prediction
from dstress.studies.human_check.questions import questions
from dstress.studies.human_check.systems import GOLD, Outcome, draw_outcomes

DIALOGUES = list(load("reminder:test", limit=6))
PLACES = [(dialogue.id, turn) for dialogue in DIALOGUES for turn in range(len(dialogue.turns))]
GOLDEN = {
    (dialogue.id, number): Prediction(dialogue.id, number, first_forms(turn.state))
    for dialogue in DIALOGUES
    for number, turn in enumerate(dialogue.turns)
}
EMPTY = {place: Prediction(*place, {}) for place in PLACES}
SPEAKING = {place: Prediction(*place, {}, response="Sure.") for place in PLACES}


def test_every_system_is_judged_on_the_same_turns_and_gold_beside_them() -> None:
    items = draw_outcomes(DIALOGUES, {"good": GOLDEN, "bad": EMPTY}, 10, seed=3)
    places = {
        name: sorted((item.dialogue, item.turn) for item, systems in items if name in systems)
        for name in (GOLD, "good", "bad")
    }
    assert places[GOLD] == places["good"] == places["bad"] and len(set(places[GOLD])) == 10
    assert draw_outcomes(DIALOGUES, {"good": GOLDEN, "bad": EMPTY}, 10, seed=3) == items
    assert draw_outcomes(DIALOGUES, {"good": GOLDEN, "bad": EMPTY}, 10, seed=4) != items


def test_what_looks_the_same_is_one_item() -> None:
    items = draw_outcomes(DIALOGUES, {"good": GOLDEN, "bad": EMPTY}, 1000, seed=1)
    assert len({item for item, _ in items}) == len(items)
    assert all({GOLD, "good"} <= set(systems) or systems == ("bad",) for _, systems in items)
    understood = {item.goal for item, systems in items if "bad" in systems}
    assert understood == {"nothing new"}


def test_only_a_system_that_speaks_is_asked_about_words() -> None:
    items = draw_outcomes(DIALOGUES, {"silent": EMPTY, "loud": SPEAKING}, 20, seed=1)
    asked = {name: {item.questions for item, systems in items if name in systems} for name in ("silent", "loud")}
    assert asked["silent"] == {("correct",)} and asked["loud"] == {tuple(questions("systems"))}
    spoken = {(item.dialogue, item.turn): item.response for item, systems in items if GOLD in systems}
    by_id = {dialogue.id: dialogue for dialogue in DIALOGUES}
    assert all(by_id[name].responses[turn] == response for (name, turn), response in spoken.items())


def test_a_turn_without_an_answer_is_left_out_for_all() -> None:
    missing, failed = PLACES[0], PLACES[1]
    partial = {place: answer for place, answer in EMPTY.items() if place != missing}
    partial[failed] = Prediction(*failed, {}, failed="timed out")
    items = draw_outcomes(DIALOGUES, {"good": GOLDEN, "partial": partial}, 1000, seed=1)
    assert {(item.dialogue, item.turn) for item, _ in items} == set(PLACES) - {missing, failed}


def test_the_history_is_shown_and_no_name_of_a_system() -> None:
    items = draw_outcomes(DIALOGUES, {"a rare name": EMPTY}, 1000, seed=1, history=2)
    deep = [item for item, _ in items if item.turn > 1]
    assert all(item.history.count("user: ") == 2 for item in deep) and deep
    assert not any("a rare name" in str(item) for item, _ in items) and isinstance(items[0][0], Outcome)
