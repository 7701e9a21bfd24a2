"""The data model keeps what it is given, and derives updates that lead back to the states."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from dstress.dialogue import Dialogue, Schema, Service, Slot, State, Turn, service_of, slot_id, update
from tests.strategies import dialogues, schemas, slot_names, states, turns


@given(dialogues)
def test_a_dialogue_survives_json(dialogue: Dialogue) -> None:
    assert msgspec.json.decode(msgspec.json.encode(dialogue), type=Dialogue) == dialogue


@given(dialogues)
def test_a_dialogue_is_one_line(dialogue: Dialogue) -> None:
    assert b"\n" not in msgspec.json.encode(dialogue)


@given(schemas)
def test_a_schema_survives_json_and_lists_every_slot(schema: Schema) -> None:
    assert msgspec.json.decode(msgspec.json.encode(schema), type=Schema) == schema
    expected = {slot_id(service.name, slot.name) for service in schema.services for slot in service.slots}
    assert set(schema.slots) == expected


@given(dialogues)
def test_updates_lead_to_the_states(dialogue: Dialogue) -> None:
    state: State = {}
    for turn, changed in zip(dialogue.turns, dialogue.updates(), strict=True):
        state = {slot: values for slot, values in (state | changed).items() if values}
        assert state == turn.state


@given(states, states)
def test_an_update_holds_changes_only(before: State, after: State) -> None:
    for slot, values in update(before, after).items():
        assert before.get(slot, ()) != values
        assert after.get(slot, ()) == values


@given(turns)
def test_the_parts_of_a_state_make_the_whole(turn: Turn) -> None:
    parts = {
        slot_id(service, slot): values
        for service in {service_of(slot) for slot in turn.state}
        for slot, values in turn.state_of(service).items()
    }
    assert parts == turn.state


def test_a_service_does_not_get_the_slots_of_one_with_a_longer_name() -> None:
    turn = Turn("", state={"hotel-area": ("north",), "hotels-area": ("south",)})
    assert turn.state_of("hotel") == {"area": ("north",)}


def test_a_changed_and_a_dropped_slot() -> None:
    before: State = {"hotel-area": ("north",), "hotel-stars": ("4",), "hotel-type": ("hotel",)}
    after: State = {"hotel-area": ("south",), "hotel-stars": ("4",), "taxi-leaveat": ("18:15",)}
    expected = {"hotel-area": ("south",), "taxi-leaveat": ("18:15",), "hotel-type": ()}
    assert update(before, after) == expected


@given(slot_names)
def test_the_first_hyphen_parts_service_and_slot(slot: str) -> None:
    assert service_of(slot_id("Restaurants_1", slot)) == "Restaurants_1"


def test_a_default_is_not_written() -> None:
    assert msgspec.json.encode(Turn("hi")) == b'{"user":"hi"}'


def test_data_is_frozen() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Slot("area").name = "stars"  # type: ignore[misc]


def test_a_schema_finds_services_and_slots_in_order() -> None:
    schema = Schema((Service("b", slots=(Slot("y"), Slot("x"))), Service("a", slots=(Slot("z"),))))
    assert list(schema.slots) == ["b-y", "b-x", "a-z"]
    assert schema.by_name["a"].slots == (Slot("z"),)
