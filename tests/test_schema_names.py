"""Dialogues under other names: everything that names a slot follows, nothing else does, and there is a way back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from dstress.dialogue import (
    Act,
    Coreference,
    Dialogue,
    Edit,
    Frame,
    Goal,
    Intent,
    Schema,
    Service,
    Slot,
    Span,
    Stress,
    Turn,
)
from dstress.errors import CorpusError
from dstress.schema_names import Names, map_names, rename_dialogue
from tests import strategies

ORIGINAL = Schema((Service("taxi", "", (Slot("to"), Slot("intent")), (Intent("book"),)),))
VARIANT = Schema((Service("cab", "", (Slot("target"), Slot("purpose")), (Intent("order"),)),))


def test_everything_that_names_a_slot_follows() -> None:
    acts = (Act("INFORM_INTENT", "intent", ("book",), ("book",)), Act("REQUEST", "intent"), Act("INFORM", "to", ("x",)))
    frame = Frame("taxi", "book", ("to",), (Span("to", 0, 1),), acts)
    turn = Turn("x", "y", {"taxi-to": ("x",)}, (frame,), (frame,), (Coreference("taxi-to", "there"),))
    goal = Goal("go", {"taxi-to": ("x",)}, {"taxi-intent": ("z",)}, ("taxi-to", "bus-to"))
    names = map_names([(ORIGINAL, VARIANT)])
    after = rename_dialogue(Dialogue("d", (turn,), ("taxi", "bus"), goal), names)
    acts = (Act("INFORM_INTENT", "intent", ("order",), ("order",)), Act("REQUEST", "purpose"))
    frame = Frame("cab", "order", ("target",), (Span("target", 0, 1),), (*acts, Act("INFORM", "target", ("x",))))
    turn = Turn("x", "y", {"cab-target": ("x",)}, (frame,), (frame,), (Coreference("cab-target", "there"),))
    goal = Goal("go", {"cab-target": ("x",)}, {"cab-purpose": ("z",)}, ("cab-target", "bus-to"))
    assert after == Dialogue("d", (turn,), ("cab", "bus"), goal)


def test_the_turns_that_a_stressed_turn_keeps_follow_too() -> None:
    old, new = Turn("old", state={"taxi-to": ("x",)}), Turn("old", state={"cab-target": ("x",)})
    stress = Stress(old, (Edit(0, "old", "new"),), alone=True, base=old, tags=("seen",))
    turn = msgspec.structs.replace(old, user="new", stress=stress)
    (after,) = rename_dialogue(Dialogue("d", (turn,)), map_names([(ORIGINAL, VARIANT)])).turns
    assert after.stress == Stress(new, (Edit(0, "old", "new"),), alone=True, base=new, tags=("seen",))


@given(strategies.dialogues)
def test_there_is_a_way_back(dialogue: Dialogue) -> None:
    services = {"hotel": "lodging", "taxi": "hotel", "Restaurants_1": "taxi"}
    slots = {"area": "city", "city": "area", "date_of-entry": "day-of-entry"}
    there = Names(services, dict.fromkeys(services, slots), {})
    back = Names(
        {after: before for before, after in services.items()},
        {name: {after: before for before, after in slots.items()} for name in services.values()},
        {},
    )
    assert rename_dialogue(rename_dialogue(dialogue, there), back) == dialogue
    assert rename_dialogue(dialogue, Names({}, {}, {})) == dialogue


def test_positions_must_match() -> None:
    with pytest.raises(CorpusError, match="1 services, the original 0"):
        map_names([(Schema(), VARIANT)])
    with pytest.raises(CorpusError, match="as many slots"):
        map_names([(Schema((Service("taxi"),)), VARIANT)])
