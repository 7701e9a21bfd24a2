"""Columns hold all that was given, and only that."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Dialogue, Frame, Turn
from dstress.predictions import FramePrediction, Prediction
from dstress.scoring.alignment.columns import Columns, Interned
from tests.scoring.metrics.pairs import OUTSIDE, SCHEMA, SLOTS, Pair, columns_of, named, pairs


def states(columns: Columns, side: str) -> list[dict[str, object]]:
    """The states, turn by turn, read back out of the cells."""
    values = columns.gold_values if side == "gold" else columns.predicted_values
    result: list[dict[str, object]] = [{} for _ in columns.turns]
    column = getattr(columns, side)
    for cell in np.flatnonzero(column).tolist():
        result[int(columns.turn[cell])][columns.slots[int(columns.slot[cell])]] = values[int(column[cell]) - 1]
    return result


@given(found=st.lists(pairs(), min_size=1, max_size=4).map(named))
def test_states_come_out_as_they_went_in(found: list[Pair]) -> None:
    columns = columns_of(*found)
    assert states(columns, "gold") == [turn.state for dialogue, _ in found for turn in dialogue.turns]
    assert states(columns, "predicted") == [prediction.state for _, given in found for prediction in given]


@given(found=st.lists(pairs(), min_size=1, max_size=4).map(named))
def test_a_row_is_one_slot_through_one_dialogue_turn_after_turn(found: list[Pair]) -> None:
    columns = columns_of(*found)
    rows = {}
    for row, slot, turn in zip(columns.row.tolist(), columns.slot.tolist(), columns.turn.tolist(), strict=True):
        rows.setdefault(row, []).append((slot, int(columns.turn_dialogue[turn]), int(columns.turn_index[turn])))
    for cells in rows.values():
        slot, dialogue, _ = cells[0]
        assert cells == [(slot, dialogue, index) for index in range(len(found[dialogue][0].turns))]
    assert len({cells[0][:2] for cells in rows.values()}) == len(rows)


@given(found=st.lists(pairs(), min_size=1, max_size=4).map(named))
def test_a_cell_belongs_to_its_turns_frame_of_its_service(found: list[Pair]) -> None:
    columns = columns_of(*found)
    for turn, slot, frame in zip(columns.turn, columns.slot, columns.cell_frame, strict=True):
        service = columns.slots[slot].partition("-")[0]
        shown = [known.service for known in columns.turns[turn].frames]
        assert (frame >= 0) == (service in shown)
        if frame >= 0:
            assert (columns.frame_turn[frame], columns.frames[frame][0].service) == (turn, service)


def test_informed_values_are_marked_and_slots_outside_the_schema_known_as_such() -> None:
    prediction = Prediction("d", 0, {SLOTS[0]: "x", OUTSIDE: "x"}, informed={SLOTS[0]: 0})
    turn = Turn("?", state={SLOTS[0]: ("y", "z")})
    columns = columns_of((Dialogue("d", (turn,)), [prediction]))
    assert columns.predicted_values == ["§§x§§y§§z", "x"]
    assert dict(zip(columns.slots, columns.in_schema.tolist(), strict=True)) == dict.fromkeys(SLOTS, True) | {
        OUTSIDE: False
    }


def test_frames_meet_the_prediction_of_their_service() -> None:
    answer = FramePrediction("Taxis_1", intent="Ride")
    turn = Turn("now", frames=(Frame("hotel"), Frame("Taxis_1", "Ride")))
    columns = columns_of((Dialogue("d", (turn,)), [Prediction("d", 0, {}, frames=(answer,))]))
    assert columns.frames == [(turn.frames[0], None, "now"), (turn.frames[1], answer, "now")]


def test_a_turn_without_a_prediction_is_left_out_and_the_others_keep_their_numbers() -> None:
    dialogue = Dialogue("d", (Turn("0"), Turn("1"), Turn("2")))
    columns = columns_of((dialogue, [Prediction("d", turn, {}) for turn in (0, 2)]))
    assert [turn.user for turn in columns.turns] == ["0", "2"]
    assert (columns.turn_number.tolist(), columns.turn_index.tolist()) == ([0, 2], [0, 1])


def test_nothing_at_all_makes_empty_columns() -> None:
    columns = columns_of()
    assert (len(columns.slot), len(columns.frame_turn), len(columns.cell_frame)) == (0, 0, 0)
    assert columns.services == [service.name for service in SCHEMA.services]


def test_numbers_start_at_one_in_the_order_of_first_sight() -> None:
    numbers: Interned[str] = Interned()
    assert [numbers[text] for text in ("b", "a", "b")] == [1, 2, 1]
