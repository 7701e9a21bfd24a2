"""The prompt of the `llm` tracker: the schema in words, the dialogue so far, and the shape that answers must have.

An answer is a list of slots and values: `{"state": [{"slot": "hotel-area", "value": "north"}]}`. An object with a key
for each slot would be shorter to read, but the strict modes of common endpoints want every key written each time, and
a list names only what is filled. Slots are constrained to those of the schema, and their values where it lists them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from dstress.dialogue import DONTCARE, Schema, Slot, service_of, slot_id
from dstress.llm.chat import Reply
from dstress.trackers.base import Context, Exchange
from dstress.trackers.wire import Unreadable, read_state, read_value

TOOL = "set_state"
_MOST_LISTED = 100
"""Possible values of a slot that are listed and enforced; endpoints limit how many a schema may hold."""
_MOST_SUCH_AS = 5

Messages = list[dict[str, Any]]


@cache
def texts() -> dict[str, str]:
    """The texts of the prompt."""
    return tomllib.loads(template().decode())


def template() -> bytes:
    """The file that holds them."""
    return files(__package__).joinpath("prompt.toml").read_bytes()


def narrow(schema: Schema, services: Sequence[str]) -> Schema:
    """Only the named services; all where none of them is known."""
    known = tuple(service for service in schema.services if service.name in services)
    return Schema(known) if known else schema


def messages(context: Context, schema: Schema, shots: Sequence[Context], mode: str) -> Messages:
    """The whole conversation with the model: what to do, solved examples, and the turn to track."""
    first = f"{texts()['instructions'].strip()}\n\n{texts()[mode]}\n\n{schema_text(schema)}"
    conversation: Messages = [{"role": "system", "content": first}]
    for number, shot in enumerate(shots):
        state = {slot: forms[0] for slot, forms in shot.gold.state.items()}
        known = all(schema.slots.get(slot) == shot.schema.slots[slot] for slot in state)
        # An example from another schema, such as the original of a renamed one, brings its own.
        own = "" if known else schema_text(narrow(shot.schema, [service_of(slot) for slot in state])) + "\n\n"
        conversation.append({"role": "user", "content": own + dialogue_text(shot)})
        conversation += _solution(state, mode, f"call_{number}")
    return [*conversation, {"role": "user", "content": dialogue_text(context)}]


def _solution(state: dict[str, str], mode: str, call: str) -> Messages:
    answer = {"state": [{"slot": slot, "value": value} for slot, value in state.items()]}
    text = msgspec.json.encode(answer).decode()
    if mode == "json":
        return [{"role": "assistant", "content": text}]
    made = {"id": call, "type": "function", "function": {"name": TOOL, "arguments": text}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": call, "content": texts()["recorded"]},
    ]


def dialogue_text(context: Context) -> str:
    """All that was said, a line each."""
    lines = [texts()["dialogue"]]
    for exchange in [*context.history, Exchange(context.system, context.user)]:
        if exchange.system:
            lines.append(f"{texts()['system']}: {exchange.system}")
        lines.append(f"{texts()['user']}: {exchange.user}")
    return "\n".join(lines)


def schema_text(schema: Schema) -> str:
    """The services and slots in words."""
    lines = [texts()["services"]]
    for service in schema.services:
        lines.append(f"\n{service.name}: {service.description}" if service.description else f"\n{service.name}")
        lines += [f"- {slot_id(service.name, slot.name)}{_describe(slot)}" for slot in service.slots]
    return "\n".join(lines)


def _describe(slot: Slot) -> str:
    parts = [slot.description] if slot.description else []
    if _is_listed(slot):
        parts.append(f"{texts()['only']}: {', '.join(slot.values)}")
    elif slot.values:
        parts.append(f"{texts()['such_as']}: {', '.join(slot.values[:_MOST_SUCH_AS])}")
    return f": {'; '.join(parts)}" if parts else ""


def _is_listed(slot: Slot) -> bool:
    return slot.categorical and 0 < len(slot.values) <= _MOST_LISTED


def constraint(schema: Schema, mode: str) -> dict[str, Any]:
    """The request's fields that bind the model to the shape: a JSON schema, or a tool that it has to call."""
    shape = answer_schema(schema)
    if mode == "json":
        named = {"name": "dialogue_state", "strict": True, "schema": shape}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    tool = {"name": TOOL, "description": texts()["tool"], "strict": True, "parameters": shape}
    return {
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": {"type": "function", "function": {"name": TOOL}},
    }


def answer_schema(schema: Schema) -> dict[str, Any]:
    """The JSON schema of an answer: slots with the same possible values share a branch."""
    branches: dict[tuple[str, ...], list[str]] = {}
    for name, slot in schema.slots.items():
        values = tuple(dict.fromkeys((*slot.values, DONTCARE))) if _is_listed(slot) else ()
        branches.setdefault(values, []).append(name)
    pairs = [
        _object_schema(slot={"type": "string", "enum": names}, value={"type": "string"} | ({"enum": [*v]} if v else {}))
        for v, names in branches.items()
    ]
    return _object_schema(state={"type": "array", "items": {"anyOf": pairs}})


def _object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_state_of(reply: Reply, schema: Schema, mode: str) -> dict[str, str]:
    """The state in a model's reply. Raises Unreadable: whatever breaks the shape is malformed, and counted as such."""
    if reply.finish == "length":
        raise Unreadable("cut off: the answer is longer than max_tokens")
    text = _without_fence(reply.text) if mode == "json" else _read_call(reply)
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise Unreadable(f"no JSON: {text[:80]!r}") from None
    pairs = data.get("state") if isinstance(data, dict) else None
    state = _read_pairs(pairs) if isinstance(pairs, list) else read_state(pairs)
    for slot in state:
        if slot not in schema.slots:
            raise Unreadable(f"the schema has no slot {slot[:80]!r}")
    return {slot: value for slot, value in state.items() if value}


def _read_pairs(pairs: list[Any]) -> dict[str, str]:
    state: dict[str, str] = {}
    for pair in pairs:
        slot = pair.get("slot") if isinstance(pair, dict) else None
        if not isinstance(slot, str) or "value" not in pair:
            raise Unreadable(f"{pair!r:.80} is no slot and value")
        value = read_value(slot, pair["value"])
        if value is not None and state.setdefault(slot, value) != value:
            raise Unreadable(f"two values of {slot[:80]}: {state[slot]!r:.40} and {value!r:.40}")
    return state


def _read_call(reply: Reply) -> str:
    arguments = [call.arguments for call in reply.calls if call.name == TOOL]
    if len(arguments) != 1:
        names = ", ".join(call.name for call in reply.calls) or "none"
        raise Unreadable(f"one call of {TOOL} was asked for; called: {names[:80]}; said: {reply.text[:60]!r}")
    return arguments[0]


def _without_fence(text: str) -> str:
    """The text without the code fence that chat models like to put around JSON where a server enforces nothing."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text.partition("\n")[2][:-3].strip()
    return text
