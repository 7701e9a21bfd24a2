"""Placeholders: MultiWOZ's by mwzeval's table, any other service's by its slots."""

from __future__ import annotations

import pytest

from dstress.dialogue import Schema, Service, Slot
from dstress.text.placeholders import Placeholders

KNOWN = Placeholders(
    Schema(
        (
            Service("hotel", slots=(Slot("book day"),)),
            Service("Tables", slots=(Slot("party size"),), requestable=("phone", "fare")),
        )
    )
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hotel_name", "NAME"),
        ("value_name", "NAME"),
        ("Hotel_Phone", "PHONE"),
        ("train_trainid", "TRAINID"),
        ("train", "TRAINID"),
        ("entrance fee", "PRICE"),
        ("restaurant_postcode", "POST"),
        ("taxi_name", None),  # not in the script's table
        ("hotel_book day", None),
        ("hotel", None),
        ("tables_party size", "PARTY_SIZE"),
        ("party size", "PARTY_SIZE"),
        ("tables_phone", "PHONE"),
        ("tables_fare", "FARE"),
    ],
)
def test_a_name_has_its_kind(name: str, kind: str | None) -> None:
    assert KNOWN.kind(name) == kind


def test_a_response_is_unified() -> None:
    response = "The [hotel_name]s and [Value_Area]-es , [what] : [hotel_phone]es !"
    assert KNOWN.unify(response) == "the NAME and AREA ,  : PHONE !"
    assert KNOWN.names(response) == ["hotel_name", "value_area", "what", "hotel_phone"]
    assert KNOWN.services(KNOWN.names(response)) == {"hotel"}
    assert KNOWN.services(["tables_fare", "hotelname", "train_id"]) == {"Tables"}


def test_only_some_requests_are_scored_in_multiwoz() -> None:
    asked = ["hotel-phone", "hotel-area", "train-trainID", "taxi-car type", "Tables-fare", "Tables-phone"]
    assert [KNOWN.requested_kind(slot) for slot in asked] == ["PHONE", None, "TRAINID", None, "FARE", "PHONE"]
