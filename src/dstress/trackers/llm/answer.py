"""What a model answered: the state in its reply, in any of the shapes that models give it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dstress.dialogue import Schema, slot_id
from dstress.llm.chat import Reply
from dstress.llm.found_json import find_json
from dstress.text.slot_names import SlotNames
from dstress.trackers.llm.prompt import INTENT, OOD, TOOL
from dstress.trackers.wire import Unreadable, read_value

_STATE = "state"


class ReadState(NamedTuple):
    """A state; why slots of the answer are not in it; whether the answer broke off; what it says of the utterance."""

    state: dict[str, str]
    lost: tuple[str, ...] = ()
    is_cut: bool = False
    intent: str | None = None
    ood: bool | None = None


def read_state_of(reply: Reply, schema: Schema, utterance: bool = False) -> ReadState:
    """The state in a reply's call or, where it has none, in its text; and what the utterance is, if that was asked.

    What is wrong with a slot costs that slot; raises Unreadable where nothing can be read.
    """
    text = reply.text
    if reply.calls:
        arguments = [call.arguments for call in reply.calls if call.name == TOOL]
        if len(arguments) != 1:
            names = ", ".join(call.name for call in reply.calls)
            raise Unreadable(f"one call of {TOOL} was asked for; called: {names[:80]}; said: {reply.text[:60]!r}")
        [text] = arguments
    # Models reason first and answer last: the last object, or list of objects, is the answer.
    objects = []
    for each in find_json(text):
        items = each.value if isinstance(each.value, list) else [each.value]
        if all(isinstance(item, Mapping) for item in items):
            objects.append(each)
    if not objects:
        raise Unreadable(f"no JSON object, or none of which a slot is whole: {text[:80]!r}")
    data, is_cut = objects[-1]
    labels: dict[str, Any] = {}
    if utterance and isinstance(data, Mapping):
        labels = {name: data[name] for name in (INTENT, OOD) if name in data}
        data = {name: value for name, value in data.items() if name not in labels}
    slot_names, read, lost = SlotNames(schema), dict[str, str | None](), dict[str, str]()
    for name, value in _pairs(data, schema):
        slot = slot_names.split(name)
        problem = "" if slot in schema.slots else f"the schema has no slot {slot[:80]!r}"
        try:
            text_of = read_value(slot, value)
        except Unreadable as unreadable:
            text_of, problem = None, problem or str(unreadable)
        if not problem and read.setdefault(slot, text_of) != text_of:
            problem = f"two values of {slot[:80]}: {read[slot]!r:.40} and {text_of!r:.40}"
        if problem:
            lost.setdefault(slot, problem)
    if lost and lost.keys() >= read.keys():
        raise Unreadable(next(iter(lost.values())))
    state = {slot: value for slot, value in read.items() if value and slot not in lost}
    intent, ood = labels.get(INTENT, ...), labels.get(OOD)
    intent = "" if intent is None else intent if isinstance(intent, str) else None
    return ReadState(state, tuple(lost.values()), is_cut, intent, ood if isinstance(ood, bool) else None)


def _pairs(data: Any, schema: Schema) -> Iterator[tuple[str, object]]:
    """The slots and values of an answer: flat, by service, as a list of pairs, and any of these under `state`."""
    if isinstance(data, list):
        for pair in data:
            slot = pair.get("slot") if isinstance(pair, Mapping) and "value" in pair else None
            yield (slot, pair["value"]) if isinstance(slot, str) else (repr(pair), None)
    elif not isinstance(data, Mapping):
        raise Unreadable(f"{data!r:.80} is no state")
    elif _STATE in data and _STATE not in schema.by_name:
        yield from _pairs(data[_STATE], schema)
    else:
        for name, value in data.items():
            if isinstance(value, Mapping) and name in schema.by_name:
                yield from ((slot_id(name, slot), inner) for slot, inner in value.items())
            else:
                yield name, value
