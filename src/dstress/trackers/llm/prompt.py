"""The prompt of the `llm` tracker: the schema in words, the dialogue so far, and the shape that answers must have.

An answer has one property for each slot, null where the user has not filled it: `{"hotel-area": "north", "hotel-stars":
null}`. Each slot comes once, and a value ends after so many letters: a small model that repeats itself ends too, where
an open list of slots would go on until `max_tokens`. Values are bound to those of the schema where it lists them.
Where it is asked what the utterance is, `intent` and `out_of_domain` come before the slots; no slot can be called so.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec

from dstress.dialogue import DONTCARE, Dialogue, Schema, Service, Slot, State, service_of, slot_id
from dstress.llm import few_shot
from dstress.llm.chat import json_shape
from dstress.resources import Material
from dstress.text.tables import read_table
from dstress.trackers.base import Context

TOOL = "set_state"
INTENT, OOD = "intent", "out_of_domain"
_MOST_LISTED = 100
"""Possible values of a slot that are listed and enforced; endpoints limit how many a schema may hold."""
_MOST_SUCH_AS = 5
_FREE_VALUE = r'^[^"\\\n\r\t]{1,100}$'
"""Letters of a value that no list binds. A pattern, since strict modes of common endpoints know no `maxLength`."""

Messages = list[dict[str, Any]]


def texts() -> dict[str, str]:
    """The texts of the prompt."""
    return read_table(__package__, "prompt.toml")


def template() -> bytes:
    """The file that holds them."""
    return files(__package__).joinpath("prompt.toml").read_bytes()


def draw(train: Material, count: int, seed: int, name: str = "") -> list[Context]:
    """Solved examples: `count` turns of different dialogues that fill a slot, spread evenly over the services."""
    slots = train.schema.slots

    def solve(dialogue: Dialogue, number: int, update: State) -> few_shot.Candidate[Context] | None:
        filled = [slot for slot, forms in update.items() if forms]
        if not filled or not all(forms and slot in slots for slot, forms in dialogue.turns[number].state.items()):
            return None
        return few_shot.Candidate(service_of(filled[0]), Context(dialogue, number, train.schema))

    return few_shot.draw(train, solve, count, seed, name or "the training data")


def narrow(schema: Schema, services: Sequence[str]) -> Schema:
    """Only the named services; all where none of them is known."""
    of_dialogue = tuple(service for service in schema.services if service.name in services)
    return Schema(of_dialogue) if of_dialogue else schema


def split_schema(schema: Schema, most: int) -> list[Schema]:
    """The schema in parts of at most `most` slots, to be asked about one by one; services stay whole where they can."""
    parts: list[list[Service]] = [[]]
    for service in schema.services:
        for start in range(0, len(service.slots), most):
            piece = msgspec.structs.replace(service, slots=service.slots[start : start + most])
            if sum(len(other.slots) for other in parts[-1]) + len(piece.slots) > most:
                parts.append([])
            parts[-1].append(piece)
    return [Schema(tuple(part)) for part in parts]


def messages(
    context: Context, schema: Schema, shots: Sequence[Context], mode: str, utterance: bool = False
) -> Messages:
    """The whole conversation with the model about the slots of `schema`: what to do, solved examples, the turn.

    `utterance` is whether to ask what the last utterance is, too.
    """
    tasks = [texts()["instructions"], *([texts()["utterance"]] if utterance else []), texts()[mode]]
    first = "\n\n".join([*(text.strip() for text in tasks), schema_text(schema, utterance)])
    conversation: Messages = [{"role": "system", "content": first}]
    for number, shot in enumerate(shots):
        state = {slot: forms[0] for slot, forms in shot.gold.state.items()}
        is_known = all(context.schema.slots.get(slot) == shot.schema.slots[slot] for slot in state)
        if is_known and not schema.slots.keys().isdisjoint(state):
            shown, own = schema, ""
        else:  # An example from another schema, such as the original of a renamed one, brings its own.
            shown = narrow(shot.schema, [service_of(slot) for slot in state])
            own = schema_text(shown, utterance) + "\n\n"
        conversation.append({"role": "user", "content": own + dialogue_text(shot)})
        solution: dict[str, str | bool | None] = {slot: state.get(slot) for slot in shown.slots}
        if utterance:
            intent = next((frame.intent for frame in shot.gold.frames if frame.intent), None)
            solution = {INTENT: intent, OOD: shot.gold.ood} | solution
        text = msgspec.json.encode(solution).decode()
        if mode == "json":
            conversation.append({"role": "assistant", "content": text})
        else:
            call = {"id": f"call_{number}", "type": "function", "function": {"name": TOOL, "arguments": text}}
            conversation += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": texts()["recorded"]},
            ]
    return [*conversation, {"role": "user", "content": dialogue_text(context)}]


def dialogue_text(context: Context) -> str:
    """All that was said, a line each."""
    lines = [texts()["dialogue"]]
    for system, user in context.exchanges:
        if system:
            lines.append(f"{texts()['system']}: {system}")
        lines.append(f"{texts()['user']}: {user}")
    return "\n".join(lines)


def schema_text(schema: Schema, intents: bool = False) -> str:
    """The services and slots in words, and the intents if they are asked for."""
    lines = [texts()["services"]]
    for service in schema.services:
        lines.append(f"\n{service.name}: {service.description}" if service.description else f"\n{service.name}")
        if intents and service.intents:
            named = "; ".join(f"{intent.name}: {intent.description}".removesuffix(": ") for intent in service.intents)
            lines.append(f"{texts()['intents']}: {named}")
        for slot in service.slots:
            about = [slot.description] if slot.description else []
            if _is_listed(slot):
                about.append(f"{texts()['only']}: {', '.join(slot.values)}")
            elif slot.values:
                about.append(f"{texts()['such_as']}: {', '.join(slot.values[:_MOST_SUCH_AS])}")
            lines.append(": ".join([f"- {slot_id(service.name, slot.name)}", *filter(None, ["; ".join(about)])]))
    return "\n".join(lines)


def _is_listed(slot: Slot) -> bool:
    return slot.categorical and 0 < len(slot.values) <= _MOST_LISTED


def constraint(schema: Schema, mode: str, utterance: bool = False) -> dict[str, Any]:
    """The request's fields that bind the model to the shape: a JSON schema, or a tool that it has to call."""
    shape = answer_schema(schema, utterance)
    if mode == "json":
        return json_shape("dialogue_state", shape)
    tool = {"name": TOOL, "description": texts()["tool"], "strict": True, "parameters": shape}
    # Not the tool by its name, which means the same where there is one: llama.cpp reads that as leave not to call.
    return {
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }


def answer_schema(schema: Schema, utterance: bool = False) -> dict[str, Any]:
    """The JSON schema of an answer."""
    properties: dict[str, dict[str, Any]] = {}
    if utterance:
        intents = dict.fromkeys(intent.name for service in schema.services for intent in service.intents)
        properties = {INTENT: {"type": ["string", "null"], "enum": [*intents, None]}, OOD: {"type": "boolean"}}
    for name, slot in schema.slots.items():
        listed = {"enum": [*dict.fromkeys((*slot.values, DONTCARE)), None]}
        properties[name] = {"type": ["string", "null"]} | (listed if _is_listed(slot) else {"pattern": _FREE_VALUE})
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
