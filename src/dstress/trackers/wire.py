"""A context and an answer as JSON: what trackers behind a wire (`http`, `command`) are sent and send back.

    {"schema": {"services": [{"name", "description", "intents": [...], "slots": [{"id", "name", ...}]}]}}
    {"dialogue", "turn", "services", "history": [{"system", "user"}], "system", "user", "previous"}
    {"state": {"hotel-area": "north"}}          and, if the tracker says more: intent, requested, response, ood, frames

Every key is always there, so that a reader in any language needs no defaults; `previous` only where it was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dstress.dialogue import Schema, Service, slot_id
from dstress.predictions.base import FramePrediction, Prediction
from dstress.trackers.base import Answer, Context, Failed

MALFORMED = "malformed"
"""The category of answers that came but cannot be read."""


class Unreadable(ValueError):
    """An answer that cannot be read."""


class NoAnswer(Unreadable):
    """Something that is no answer to this turn at all, such as a line of a log."""


class _WireAnswer(msgspec.Struct):
    """An answer's fields as they may stand on the wire."""

    state: Any = None
    dialogue: str | None = None
    turn: int | None = None
    frames: tuple[FramePrediction, ...] = ()
    intent: str | None = None
    requested: tuple[str, ...] | None = None
    response: str | None = None
    ood: bool | None = None
    failed: str = ""


def schema_data(schema: Schema) -> dict[str, Any]:
    """A schema as JSON data, each slot with its slot id."""
    return {"services": [_service_data(service) for service in schema.services]}


def _service_data(service: Service) -> dict[str, Any]:
    intents = [
        {
            "name": intent.name,
            "description": intent.description,
            "transactional": intent.transactional,
            "required": list(intent.required),
            "optional": dict(intent.optional),
        }
        for intent in service.intents
    ]
    slots = [
        {
            "id": slot_id(service.name, slot.name),
            "name": slot.name,
            "description": slot.description,
            "categorical": slot.categorical,
            "values": list(slot.values),
        }
        for slot in service.slots
    ]
    return {"name": service.name, "description": service.description, "intents": intents, "slots": slots}


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
    return data | {"previous": dict(context.previous or {})} if previous else data


def group_by_schema(contexts: Sequence[Context]) -> list[list[Context]]:
    """The contexts in order, split where the schema changes."""
    groups: list[list[Context]] = []
    for context in contexts:
        if groups and (context.schema is groups[-1][0].schema or context.schema == groups[-1][0].schema):
            groups[-1].append(context)
        else:
            groups.append([context])
    return groups


def read_answer(data: object, context: Context) -> Answer:
    """An answer from JSON data. One that names another turn is out of step."""
    if not isinstance(data, dict) or not data.keys() & {"state", "failed"}:
        raise NoAnswer(f"no answer: {data!r:.80}")
    try:
        answer = msgspec.convert(data, _WireAnswer)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from None
    if answer.dialogue not in (None, context.dialogue) or answer.turn not in (None, context.turn):
        raise NoAnswer(f"an answer to dialogue {answer.dialogue}, turn {answer.turn}, which was not asked for now")
    if answer.failed:
        return Failed(answer.failed)
    state = read_state(answer.state)
    if not answer.frames and (answer.intent, answer.requested, answer.response, answer.ood) == (None, None, None, None):
        return state
    return Prediction(
        context.dialogue,
        context.turn,
        state,
        frames=answer.frames,
        intent=answer.intent,
        requested=answer.requested,
        response=answer.response,
        ood=answer.ood,
    )


def read_state(data: object) -> dict[str, str]:
    """Slot ids and values. As in prediction files a number is taken as its text, and null as no value."""
    if not isinstance(data, Mapping):
        raise Unreadable(f"{data!r:.80} is no state")
    return {slot: text for slot, value in data.items() if (text := read_value(slot, value)) is not None}


def read_value(slot: str, value: object) -> str | None:
    """A value's text; None if there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise Unreadable(f"the value of {slot[:80]} is no text: {value!r:.80}")
