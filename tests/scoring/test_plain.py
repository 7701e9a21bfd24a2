"""States in Python's memory are scored as they are: dicts of dialogues, records, dialogues themselves."""

from __future__ import annotations

from typing import Any

import pytest

import dstress
from dstress.errors import DstressError, PredictionError
from dstress.scoring.score import ScoringOptions

GOLD = {"d1": [{"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": "4"}], "d2": [{"taxi-day": "monday"}]}
SAID = {"d1": [{"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": 3}], "d2": [{"taxi-day": "monday"}]}


def records(states: dict[str, list[dict[str, Any]]], key: str = "state") -> list[dict[str, Any]]:
    return [
        {"dialogue": d, "turn": turn, key: state} for d, turns in states.items() for turn, state in enumerate(turns)
    ]


def turn_of(state: dict[str, str]) -> dstress.Turn:
    return dstress.Turn("x", state={slot: (value,) for slot, value in state.items()})


def prediction_of(record: dict[str, Any]) -> dstress.Prediction:
    state = {slot: str(value) for slot, value in record["state"].items()}
    return dstress.Prediction(record["dialogue"], record["turn"], state)


SHAPES: list[tuple[Any, Any]] = [
    (SAID, GOLD),
    ({d: dict(enumerate(turns)) for d, turns in SAID.items()}, GOLD),
    ({d: {str(turn): state for turn, state in enumerate(turns)} for d, turns in SAID.items()}, GOLD),
    (records(SAID), records(GOLD)),
    (iter(records(SAID)), records(GOLD, "gold")),
    ([one | {"gold": GOLD[one["dialogue"]][one["turn"]]} for one in records(SAID, "Predicted State")], None),
    ({"d1": [{"hotel": {"area": "north"}}, {"hotel": {"area": "north", "stars": 3}}], "d2": SAID["d2"]}, GOLD),
    (SAID, {d: [{s: (v, "other") for s, v in turn.items()} for turn in turns] for d, turns in GOLD.items()}),
    (SAID, [dstress.Dialogue(name, tuple(map(turn_of, turns))) for name, turns in GOLD.items()]),
    ([prediction_of(one) for one in records(SAID)], GOLD),
]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_a_shape_is_read(number: int) -> None:
    said, gold = SHAPES[number]
    card = dstress.score(said, gold, metrics=["jga", "slot-f1"])
    assert card["jga"].value == pytest.approx(2 / 3) and card["jga"].n == 3
    assert card["slot-f1"].value == pytest.approx(0.75)


def test_slots_go_by_the_golds_spelling() -> None:
    card = dstress.score({"d": [{"hotel-book_day": "friday"}]}, {"d": [{"hotel-book day": ["friday", "fri"]}]})
    assert card["jga"].value == 1


def test_systems_in_memory_are_compared() -> None:
    comparison = dstress.compare({"good": GOLD, "bad": SAID}, GOLD, metrics=["jga"])
    assert [scores["jga"].value for scores in comparison.systems.values()] == [1, pytest.approx(2 / 3)]


WRONG: list[tuple[Any, Any, str]] = [
    ({"hotel-area": "north"}, GOLD, "predictions, dialogue hotel-area: 'north' are no turns"),
    ({"d1": {"hotel-area": "north"}}, GOLD, "predictions, dialogue d1: {'hotel-area': 'north'} are no turns"),
    ([{"hotel-area": "north"}], GOLD, "predictions: {'hotel-area': 'north'} does not say dialogue, turn and state"),
    (records(GOLD, "gold"), None, "predictions: {'dialogue': 'd1', .* does not say dialogue, turn and state"),
    ([3], GOLD, "predictions: 3 does not say dialogue, turn and state"),
    ({"d1": [{"area": "north"}]}, GOLD, "predictions, dialogue d1, turn 0: the slot 'area' names no service"),
    ({"d1": ["north"]}, GOLD, "predictions, dialogue d1, turn 0: 'north' is no slot and value"),
    ({"d1": [{"hotel-area": object()}]}, GOLD, "predictions, dialogue d1, turn 0: .* is no state"),
    (records(SAID) * 2, GOLD, "predictions, dialogue d1, turn 0: this turn is there twice"),
    (SAID, {"d1": {0: {}, 2: {}}}, "gold, dialogue d1, turn 1: this turn is missing"),
    (SAID, [dstress.Prediction("d1", 0, {})], "gold: a prediction is no gold"),
    (SAID, {}, "gold: there is no state in it"),
    (SAID | {"d3": [{}]}, GOLD, "the predictions do not fit the gold"),
]


@pytest.mark.parametrize(("said", "gold", "message"), WRONG)
def test_a_wrong_shape_is_told(said: Any, gold: Any, message: str) -> None:
    with pytest.raises(PredictionError, match=message):
        dstress.score(said, gold)


def test_a_part_of_gold_leaves_the_other_predictions_out() -> None:
    corpus = dstress.load("reminder:test")
    answers = [
        dstress.Prediction(one.id, turn, {slot: forms[0] for slot, forms in said.state.items()} if place < 5 else {})
        for place, one in enumerate(corpus)
        for turn, said in enumerate(one.turns)
    ]
    few = dstress.score(answers, corpus, metrics=["jga"], limit=5)
    assert few["jga"].value == 1 == dstress.score(answers, corpus[:5], metrics=["jga"])["jga"].value
    assert few.signature["corpus"] == "reminder.test.first5" and few.signature["turns"] == str(
        sum(len(one.turns) for one in corpus[:5])
    )
    drawn = dstress.score(iter(answers), "reminder:test", metrics=["jga"], draw=7, seed=3)
    assert drawn.signature["corpus"] == "reminder.test.draw7" and drawn["jga"].value < 1
    two = dstress.compare({"a": answers, "b": answers}, corpus, metrics=["jga"], options=ScoringOptions(limit=5))
    assert two.systems["b"]["jga"].value == 1 and two.signature["corpus"] == "reminder.test.first5"
    strange = [*answers, dstress.Prediction("stranger", 0, {})]
    with pytest.raises(PredictionError, match="stranger"):
        dstress.score(strange, corpus, metrics=["jga"], limit=5)
    with pytest.raises(TypeError, match="limits"):
        dstress.score(answers, corpus, limits=5)  # type: ignore[call-arg]
    with pytest.raises(DstressError, match="exclude each other"):
        dstress.score(answers, corpus, limit=5, draw=5)
