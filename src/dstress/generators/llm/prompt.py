"""The prompt of the `llm` generator: the system's turn, the goal with what its slots mean, the shape of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.generators.base import Request
from dstress.llm.chat import Reply
from dstress.text.tables import read_table

_LONGEST = 1000
"""Letters of an utterance; whatever is longer is none."""


class Solved(NamedTuple):
    """A turn of the training corpus: what was asked, and what the user said."""

    asked: Request
    user: str


class Unreadable(Exception):
    """An answer that has not the shape that was asked for."""


@cache
def words() -> dict[str, str]:
    """The texts of the prompt."""
    return read_table(__package__, "prompt.toml")


def messages(asked: Request, count: int, schema: Schema, shots: Sequence[Solved]) -> list[dict[str, str]]:
    """The conversation with the model: what to do, solved examples, and the goal to say."""
    told = words()
    found = [{"role": "system", "content": f"{told['instructions'].strip()}\n\n{told['json']}"}]
    for shot in shots:
        found.append({"role": "user", "content": question(shot.asked, 1, schema)})
        found.append({"role": "assistant", "content": msgspec.json.encode({"utterances": [shot.user]}).decode()})
    return [*found, {"role": "user", "content": question(asked, count, schema)}]


def question(asked: Request, count: int, schema: Schema) -> str:
    """One goal in words."""
    told, goal = words(), asked.goal
    lines = [f'{told["system"]}: "{asked.system}"' if asked.system.strip() else told["opening"], "", told["said"]]
    lines += _listed(goal.spoken, schema)
    if goal.unspoken:
        lines += ["", told["taken"], *_listed(goal.unspoken, schema)]
    return "\n".join([*lines, "", told["one"] if count == 1 else told["many"].format(count=count)])


def _listed(values: Mapping[str, str], schema: Schema) -> list[str]:
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
    text = _unfenced(reply.text)
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise Unreadable(f"no JSON: {text[:80]!r}") from None
    listed = data.get("utterances") if isinstance(data, dict) else data
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise Unreadable(f"no list of utterances: {text[:80]!r}")
    found = dict.fromkeys(" ".join(one.split()) for one in listed)
    utterances = [one for one in found if one and len(one) <= _LONGEST]
    if not utterances:
        raise Unreadable("no utterance")
    return utterances


def _unfenced(text: str) -> str:
    """The text without the code fence that chat models like to put around JSON where a server enforces nothing."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text.partition("\n")[2][:-3].strip()
    return text
