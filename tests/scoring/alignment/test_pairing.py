"""Gold and predictions are joined in any order, and whatever does not fit is counted and named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Turn
from dstress.errors import PredictionError
from dstress.predictions import Prediction
from dstress.scoring.alignment.pairing import Pairing, looks_like_updates
from tests.scoring.metrics.pairs import SCHEMA, Pair, several


def gold(*lengths: int) -> list[Dialogue]:
    """Dialogues d0, d1 ... of so many turns."""
    return [Dialogue(f"d{number}", (Turn("?"),) * length) for number, length in enumerate(lengths)]


def predictions(*places: tuple[str, int]) -> list[Prediction]:
    return [Prediction(dialogue, turn, {}) for dialogue, turn in places]


def paired(dialogues: list[Dialogue], arriving: list[Prediction]) -> tuple[Pairing, dict[str, int]]:
    """The pairing after its work, and how many turns of each dialogue it paired."""
    pairing = Pairing(dialogues, arriving, SCHEMA)
    return pairing, {dialogue.id: len(found) for dialogue, found in pairing}


@given(found=several, data=st.data())
def test_any_order_of_either_side_pairs_the_same(found: list[Pair], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations([prediction for _, given in found for prediction in given]))
    pairing = Pairing(data.draw(st.permutations([dialogue for dialogue, _ in found])), shuffled, SCHEMA)
    again = {dialogue.id: (dialogue, answers) for dialogue, answers in pairing}
    assert again == {dialogue.id: (dialogue, answers) for dialogue, answers in found}
    assert pairing.coverage.complete


def test_ids_match_without_case_and_json() -> None:
    pairing, turns = paired([Dialogue("PMUL1.json", (Turn("?"),))], predictions(("pmul1", 0)))
    assert turns == {"PMUL1.json": 1}
    assert pairing.coverage.complete


def test_a_missing_turn_costs_only_itself() -> None:
    pairing, turns = paired(gold(4, 1), predictions(("d0", 0), ("d0", 1), ("d0", 3), ("d1", 0)))
    assert turns == {"d0": 3, "d1": 1}
    assert (pairing.coverage.turns, pairing.coverage.gold_turns) == (4, 5)
    assert pairing.coverage.misfits.describe() == "1 missing turns (d0 turn 2)"


def test_every_kind_of_misfit_is_told_with_its_number_and_first_offenders() -> None:
    arriving = predictions(("d0", 0), ("d0", 7), ("d0", 1), ("x", 0), ("x", 1), ("y", 0), ("z", 0), ("w", 0))
    pairing, turns = paired(gold(2, 3), arriving)
    assert turns == {"d0": 2}
    assert pairing.coverage.misfits.describe() == (
        "1 turns that the gold does not have (d0 turn 7); 1 missing dialogues (d1); "
        "4 dialogues that the gold does not have (x, y, z ...)"
    )
    assert pairing.strangers == ["x", "y", "z", "w"]


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_doubled_turn_is_told_wherever_it_comes(place: int) -> None:
    arriving = predictions(("d0", 0), ("d0", 1), ("d1", 0))
    arriving.insert(place, Prediction("D0", 0, {"hotel-area": "north"}))
    pairing, turns = paired(gold(2, 1), arriving)
    assert turns == {"d0": 2, "d1": 1}
    assert pairing.coverage.misfits.counts == {"doubled turns, of which the first counts": 1}
    with pytest.raises(PredictionError, match="1 doubled turns"):
        pairing.require_complete()


def test_a_slot_outside_the_schema_is_no_misfit_but_told_once_with_the_nearest_one() -> None:
    arriving = [Prediction("d0", turn, {"hotel-aera": "north", "taxi": "x"}) for turn in range(3)]
    pairing, turns = paired(gold(3), arriving)
    pairing.require_complete()
    assert turns == {"d0": 3} and pairing.coverage.complete
    (note,) = pairing.notes(conventions.create("exact"))
    assert note.startswith(
        "counted as wrong: 6 values of slots that the schema does not have (hotel-aera in d0 turn 0, "
    )
    assert "; did you mean 'hotel-area'" in note
    (note,) = pairing.notes(conventions.create("dstc8"))
    assert note.startswith("not looked at, as in the script: 6 values of slots")


def test_a_dialogue_without_turns_needs_no_prediction() -> None:
    pairing, turns = paired(gold(0, 1), predictions(("d1", 0)))
    assert turns == {"d0": 0, "d1": 1}
    assert pairing.coverage.complete


def test_predictions_are_held_only_until_their_dialogue_comes() -> None:
    pairing = Pairing(gold(1, 1, 1), predictions(("d0", 0), ("d1", 0), ("d2", 0)), SCHEMA)
    for _ in pairing:
        assert not pairing._waiting


def test_states_that_vanish_in_the_next_turn_look_like_updates() -> None:
    updates = [Prediction("d", turn, {f"hotel-{turn}": "x"}) for turn in range(4)]
    states = [Prediction("d", turn, {f"hotel-{n}": "x" for n in range(turn + 1)}) for turn in range(4)]
    assert looks_like_updates([updates])
    assert not looks_like_updates([states])
