"""Every spelling of the field leads to one slot id, and strangers are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Schema, Service, Slot
from dstress.text.slot_names import SlotNames, multiwoz_slots
from tests.strategies import schemas, texts

SGD = Schema((Service("Restaurants_1", slots=(Slot("city"), Slot("price_range"), Slot("has_live_music"))),))


@pytest.mark.parametrize(
    ("spelled", "slot"),
    [
        ("hotel-book people", "hotel-book people"),
        ("hotel-book_people", "hotel-book people"),
        ("hotel-bookpeople", "hotel-book people"),
        ("hotel-people", "hotel-book people"),
        ("hotel people", "hotel-book people"),
        ("hotel book people", "hotel-book people"),
        ("Hotel-Book-People", "hotel-book people"),
        ("hotel-stay", "hotel-book stay"),
        ("hotel-bookday", "hotel-book day"),
        ("hotel-price range", "hotel-pricerange"),
        ("hotel price range", "hotel-pricerange"),
        ("hotel-pricerange", "hotel-pricerange"),
        ("restaurant-time", "restaurant-book time"),
        ("taxi-leaveAt", "taxi-leaveat"),
        ("taxi-leave at", "taxi-leaveat"),
        ("taxi-leave", "taxi-leaveat"),
        ("train-arrive", "train-arriveby"),
        ("train-arriveBy", "train-arriveby"),
        ("train-people", "train-book people"),
        ("train-day", "train-day"),
    ],
)
def test_a_spelling_of_the_field(spelled: str, slot: str) -> None:
    assert SlotNames().split(spelled) == slot


def test_a_slot_that_repeats_its_service() -> None:
    assert SlotNames()("hotel", "hotel-bookday") == "hotel-book day"


@pytest.mark.parametrize("stranger", ["Restaurants_1-city", "RideSharing_2-destination", "hospital-department"])
def test_a_stranger_keeps_its_spelling(stranger: str) -> None:
    assert SlotNames().split(stranger) == stranger


@pytest.mark.parametrize("text", ["", "hotel", "hotel foyer", "bus people", "hotel-", "-area", "not mentioned"])
def test_a_text_that_is_no_slot_stays(text: str) -> None:
    assert SlotNames().split(text) == text


def test_there_are_thirty_slots_and_each_is_its_own_name() -> None:
    assert len(set(multiwoz_slots())) == 30
    assert [SlotNames().split(slot) for slot in multiwoz_slots()] == list(multiwoz_slots())


@given(schemas)
def test_the_names_of_any_schema_stay(schema: Schema) -> None:
    names = SlotNames(schema)
    for service in schema.services:
        for slot in service.slots:
            assert names(service.name, slot.name) == names.split(f"{service.name}-{slot.name}")
            assert names(service.name, slot.name) in schema.slots


def test_a_schema_settles_case_and_marks_but_invents_nothing() -> None:
    names = SlotNames(SGD)
    assert names.split("restaurants_1-Price Range") == "Restaurants_1-price_range"
    assert names.split("Restaurants_1-party_size") == "Restaurants_1-party_size"
    assert names.split("hotel-people") == "hotel-people"


@given(st.one_of(texts, st.sampled_from(multiwoz_slots()).flatmap(lambda slot: texts.map(lambda more: slot + more))))
def test_a_settled_id_settles_to_itself(text: str) -> None:
    names = SlotNames()
    assert names.split(names.split(text)) == names.split(text)
