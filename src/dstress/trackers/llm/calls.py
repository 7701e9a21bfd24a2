"""`llm(mode=call)`: the dialogue's tools sent to the endpoint as its own, or written into the prompt, and calls read.

An endpoint that takes no tools is asked in text, and so is one whose model writes its calls as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dstress.dialogue import Call, Tool
from dstress.llm.chat import Reply
from dstress.predictions.base import Prediction
from dstress.predictions.call_styles import STYLES, listed, read_answer
from dstress.trackers.base import Context

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""The leaderboard's types in JSON schema's words."""

_INSTRUCTION = """Answer the user by calling the tools below. Write nothing but the calls, as a list in this form:
[tool_name(parameter=value, parameter=value), tool_name(...)]
Values are written as in Python. If no tool fits, say so in a sentence and call nothing.

"""


def messages(context: Context, instruction: str = "") -> list[dict[str, Any]]:
    """The conversation, as a chat; the instruction comes first."""
    chat = [{"role": "system", "content": instruction}] if instruction else []
    for system, user in context.exchanges:
        if system:
            chat.append({"role": "assistant", "content": system})
        chat.append({"role": "user", "content": user})
    # What was said before a dialogue of one turn, such as a system prompt, is the first message of nobody.
    if not instruction and chat[0]["role"] == "assistant":
        chat[0]["role"] = "system"
    return chat


def native(tools: tuple[Tool, ...]) -> dict[str, Any]:
    """The request's field that offers the tools; empty where there is none."""
    functions = [
        {"name": _sent(tool.name), "description": tool.description, "parameters": _json_schema(tool.parameters)}
        for tool in tools
    ]
    return {"tools": [{"type": "function", "function": function} for function in functions]} if functions else {}


def written(tools: tuple[Tool, ...]) -> str:
    """The instruction that describes the tools."""
    described = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    return _INSTRUCTION + json.dumps(described, ensure_ascii=False)


def read(context: Context, reply: Reply) -> Prediction:
    """The calls of a reply, under the tools' own names."""
    if reply.calls:
        calls, unparsed = read_answer(listed, [{call.name: call.arguments or "{}"} for call in reply.calls])
    else:
        calls, unparsed = read_answer(STYLES["any"], reply.text)
    names = {_sent(tool.name): tool.name for tool in context.tools}
    made = tuple(Call(names.get(n, n), given if isinstance(given, dict) else {"": given}) for n, given in calls)
    return Prediction(context.dialogue, context.turn, {}, calls=made, unparsed=unparsed)


def _sent(name: str) -> str:
    """A tool's name as endpoints take it."""
    return re.sub(r"[^\w-]", "_", name, flags=re.ASCII)[:64]


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    sent = dict(schema)
    if isinstance(sent.get("type"), str):
        sent["type"] = _TYPES.get(sent["type"], sent["type"])
    if isinstance(sent.get("properties"), Mapping):
        sent["properties"] = {name: _json_schema(part) for name, part in sent["properties"].items()}
        sent.setdefault("type", "object")
    if isinstance(sent.get("items"), Mapping):
        sent["items"] = _json_schema(sent["items"])
    return sent or {"type": "object", "properties": {}}
