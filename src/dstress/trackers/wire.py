"""A context and an answer as JSON: what trackers behind a wire (`http`, `command`) are sent and send back.

    {"schema": {"services": [{"name", "description", "intents": [...], "slots": [{"id", "name", ...}]}]}}
    {"dialogue", "turn", "services", "history": [{"system", "user"}], "system", "user", "previous"}
    {"state": {"hotel-area": "north"}}          and, if the tracker says more: intent, requested, response, ood, frames
    {"calls": [{"tool", "arguments"}]}          where the context has `tools`, each with name, description, parameters

Every key is always there, so that a reader in any language needs no defaults; `previous` only where it was asked for,
`tools` only where there are any.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import asdict

from dstress.dialogue import Schema, join_values, slot_id
from dstress.predictions.base import Prediction
from dstress.trackers.base import Answer, Context, Failed

MALFORMED = "malformed"
"""The category of answers that came but cannot be read."""


_MORE = ("frames", "intent", "requested", "response", "ood", "failed", "calls")
"""What an answer may say besides the state."""
_INTENT_FIELDS = ("name", "description", "transactional", "required", "optional")


class Unreadable(ValueError):
    """Something that is no answer to this turn, such as a line of a log, or no state."""


def schema_data(schema: Schema) -> dict[str, Any]:
    """A schema as JSON data, each slot with its slot id."""
    return {
        "services": [
            {
                "name": service.name,
                "description": service.description,
                "intents": [{field: getattr(intent, field) for field in _INTENT_FIELDS} for intent in service.intents],
                "slots": [{"id": slot_id(service.name, slot.name)} | asdict(slot) for slot in service.slots],
            }
            for service in schema.services
        ]
    }


def context_data(context: Context, *, previous: bool = False) -> dict[str, Any]:
    """All that a tracker may see of a turn, but for the schema. Labels are not in it."""
    data: dict[str, Any] = {
        "dialogue": context.dialogue,
        "turn": context.turn,
        "services": list(context.services),
        "history": [{"system": before.system, "user": before.user} for before in context.history],
        "system": context.system,
        "user": context.user,
    }
    if context.tools:
        data["tools"] = [asdict(tool) for tool in context.tools]
    return data | {"previous": dict(context.previous or {})} if previous else data


def read_answer(data: object, context: Context) -> Answer:
    """An answer from JSON data: one whose content cannot be read has failed. Raises Unreadable for what is none.

    An answer that names another turn is out of step.
    """
    if not isinstance(data, dict) or not data.keys() & {"state", "calls", "failed"}:
        raise Unreadable(f"no answer: {data!r:.80}")
    place = {"dialogue": context.dialogue, "turn": context.turn, "state": {}}
    more = {name: data[name] for name in _MORE if data.get(name) is not None}
    named = {name: data[name] for name in ("dialogue", "turn") if data.get(name) is not None}
    try:
        answer = msgspec.convert(place | named | more, Prediction)
    except msgspec.ValidationError as error:
        return Failed(f"{MALFORMED}: {error}")
    if (answer.dialogue, answer.turn) != (context.dialogue, context.turn):
        at = f"dialogue {data.get('dialogue')}, turn {data.get('turn')}"
        raise Unreadable(f"an answer to {at}, which was not asked for now")
    state = data.get("state", {} if "calls" in more else None)
    if answer.failed or not isinstance(state, dict):
        return Failed(answer.failed or f"{MALFORMED}: {state!r:.80} is no state")
    try:
        values = {slot: read_value(slot, value) for slot, value in state.items()}
    except Unreadable as problem:
        return Failed(f"{MALFORMED}: {problem}")
    filled = {slot: value for slot, value in values.items() if value is not None}
    return msgspec.structs.replace(answer, state=filled) if more else filled


def read_value(slot: str, value: object) -> str | None:
    """A value's text; None if there is none. As in prediction files a number is its text; of a list, all are meant."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return join_values(filter(None, value)) or None
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Unreadable(f"the value of {slot[:80]} is no text: {value!r:.80}")
