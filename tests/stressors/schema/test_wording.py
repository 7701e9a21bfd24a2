"""A schema in other words is still one that dialogues can follow, whatever the words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import Intent, Schema, Service, Slot
from dstress.stressors.schema.wording import Element, reword
from tests import strategies

TAXI = Service(
    "taxi",
    "Cabs",
    (Slot("from"), Slot("to"), Slot("day")),
    (Intent("book", "", True, ("from",), {"day": "now"}, ("to",)),),
)


def told(element: Element) -> str:
    return f"a {element.kind}"


def test_intents_speak_of_slots_by_their_new_names() -> None:
    after = reword(Schema((TAXI,)), lambda element: [f"new {element.name}"], told).services[0]
    assert [slot.name for slot in after.slots] == ["new from", "new to", "new day"]
    assert after.intents == (Intent("new book", "a intent", True, ("new from",), {"new day": "now"}, ("new to",)),)
    assert (after.name, after.description, after.slots[0].description) == ("new taxi", "a service", "a slot")


def test_a_name_that_is_taken_gives_way_to_the_next() -> None:
    offered = {"from": ["place"], "to": ["Place", "goal"], "day": ["PLACE", "go_al"]}
    after = reword(Schema((TAXI,)), lambda element: offered.get(element.name, []), told).services[0]
    assert [slot.name for slot in after.slots] == ["place", "goal", "day"]


def test_one_without_another_name_keeps_its_own() -> None:
    after = reword(Schema((TAXI,)), lambda element: ["day"] if element.name == "from" else [], told).services[0]
    assert [slot.name for slot in after.slots] == ["from", "to", "day"]


def test_a_service_gets_no_hyphen_and_no_name_is_empty() -> None:
    after = reword(Schema((TAXI,)), lambda element: ["", "  ", "-", "cab-ride"], told).services[0]
    assert after.name == "cab_ride" and after.slots[0].name == "cab-ride"


@given(strategies.schemas, st.lists(st.text(max_size=4), max_size=3))
def test_names_differ_within_their_service(schema: Schema, words: list[str]) -> None:
    after = reword(schema, lambda element: words if element.kind != "service" else [], told)
    for old, new in zip(schema.services, after.services, strict=True):
        assert new.name == old.name and len(new.slots) == len(old.slots) and len(new.intents) == len(old.intents)
        for named in (new.slots, new.intents):
            names = [one.name for one in named]
            assert all(names)
            if words:
                assert len(set(names)) == len(names)
