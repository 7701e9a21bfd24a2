"""The prompt of the `llm` generator: the system's turn, the goal with what its slots mean, the shape of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.generators.base import Request
from dstress.llm.chat import Reply
from dstress.llm.found_json import find_json
from dstress.text.tables import read_table

_LONGEST = 1000
"""Letters of an utterance; whatever is longer is none."""


class Solved(NamedTuple):
    """A turn of the training corpus: what there was to say, and what the user said."""

    request: Request
    user: str


class Unreadable(Exception):
    """An answer that does not have the wanted shape."""


@cache
def prompt_texts() -> dict[str, str]:
    """The texts of the prompt."""
    return read_table(__package__, "prompt.toml")


def messages(request: Request, count: int, schema: Schema, shots: Sequence[Solved]) -> list[dict[str, str]]:
    """The conversation with the model: what to do, solved examples, and the goal to say."""
    texts = prompt_texts()
    conversation = [{"role": "system", "content": f"{texts['instructions'].strip()}\n\n{texts['json']}"}]
    for shot in shots:
        conversation.append({"role": "user", "content": question(shot.request, 1, schema)})
        answer = msgspec.json.encode({"utterances": [shot.user]}).decode()
        conversation.append({"role": "assistant", "content": answer})
    return [*conversation, {"role": "user", "content": question(request, count, schema)}]


def question(request: Request, count: int, schema: Schema) -> str:
    """One goal in words."""
    texts, goal, system = prompt_texts(), request.goal, request.system
    lines = [f'{texts["system"]}: "{system}"' if system.strip() else texts["opening"], "", texts["said"]]
    lines += _list_values(goal.spoken, schema)
    if goal.unspoken:
        lines += ["", texts["taken"], *_list_values(goal.unspoken, schema)]
    return "\n".join([*lines, "", texts["one"] if count == 1 else texts["many"].format(count=count)])


def _list_values(values: Mapping[str, str], schema: Schema) -> list[str]:
    lines = []
    for slot, value in values.items():
        about = schema.slots[slot].description if slot in schema.slots else ""
        lines.append(f"- {slot}{f' ({about})' if about else ''}: {value}")
    return lines


def constraint() -> dict[str, Any]:
    """The field of a request that binds the model to the shape."""
    shape = {
        "type": "object",
        "properties": {"utterances": {"type": "array", "items": {"type": "string"}}},
        "required": ["utterances"],
        "additionalProperties": False,
    }
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "utterances", "strict": True, "schema": shape},
        }
    }


def read_utterances(reply: Reply) -> list[str]:
    """The different utterances of a reply, in order. Raises Unreadable where the shape is broken."""
    if reply.finish == "length":
        raise Unreadable("cut off: the answer is longer than max_tokens")
    found = find_json(reply.text)
    if not found or found[-1].is_cut:
        raise Unreadable(f"no JSON: {reply.text[:80]!r}")
    data = found[-1].value
    listed = data.get("utterances") if isinstance(data, dict) else data
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise Unreadable(f"no list of utterances: {reply.text[:80]!r}")
    different = dict.fromkeys(" ".join(item.split()) for item in listed)
    utterances = [utterance for utterance in different if utterance and len(utterance) <= _LONGEST]
    if not utterances:
        raise Unreadable("no utterance")
    return utterances
