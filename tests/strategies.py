"""Hypothesis strategies for the data model and for component specs, for every test that wants any valid value."""

from __future__ import annotations

from hypothesis import strategies as st

from dstress.dialogue import (
    Act,
    Coreference,
    Dialogue,
    Frame,
    Goal,
    Intent,
    Schema,
    Service,
    Slot,
    Span,
    State,
    Turn,
    slot_id,
)
from dstress.spec import ComponentSpec

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Any text that JSON can hold."""
values = st.one_of(st.sampled_from(["dontcare", "yes", "18:15", "acorn guest house"]), texts.filter(bool))
service_names = st.sampled_from(["hotel", "taxi", "Restaurants_1", "Hotels_2"])
slot_names = st.sampled_from(["area", "book day", "leaveat", "city", "date_of-entry"])
slot_ids = st.builds(slot_id, service_names, slot_names)


def several(items: st.SearchStrategy[object], most: int = 3) -> st.SearchStrategy[tuple[object, ...]]:
    """A tuple of none to `most` of these."""
    return st.lists(items, max_size=most).map(tuple)


accepted = st.lists(values, min_size=1, max_size=3, unique=True).map(tuple)
states: st.SearchStrategy[State] = st.dictionaries(slot_ids, accepted, max_size=5)
spans = st.builds(Span, slot_names, st.integers(0, 50), st.integers(0, 50))
acts = st.builds(Act, st.sampled_from(["INFORM", "REQUEST"]), slot_names, several(values), several(values))
frames = st.builds(Frame, service_names, texts, several(slot_names), several(spans), several(acts))
coreferences = st.builds(Coreference, slot_ids, values, values, st.integers(-1, 9))
turns = st.builds(Turn, texts, texts, states, several(frames, 2), several(frames, 2), several(coreferences, 1))
goals = st.builds(Goal, texts, states, states, several(slot_ids))
dialogues = st.builds(
    Dialogue, values, st.lists(turns, max_size=4).map(tuple), several(service_names), st.none() | goals
)
"""Dialogues of up to four turns whose states follow no plot: slots come, change and go."""

slots = st.builds(Slot, slot_names, texts, st.booleans(), several(values))
intents = st.builds(Intent, values, texts, st.booleans(), several(slot_names))
services = st.builds(Service, service_names, texts, several(slots), several(intents, 2))
schemas = st.builds(Schema, st.lists(services, max_size=3, unique_by=lambda service: service.name).map(tuple))

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_./:-]{0,12}", fullmatch=True)
keys = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["", ".5", "-1", "1e5", "true", "none", "nan", "inf", "'", '"', "\\", "a+b", "a b", "a=1", "ü"]),
)


def _specs(arguments: st.SearchStrategy[object]) -> st.SearchStrategy[ComponentSpec]:
    return st.builds(ComponentSpec, names, several(arguments), st.dictionaries(keys, arguments, max_size=3))


arguments = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | _specs(inner), max_leaves=8)
specs = _specs(arguments)
"""Any component spec, nested and with every kind of value."""
