"""Answers of agents that call tools: result files of the Berkeley leaderboard, logs with `tool_calls`, plain lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dstress.corpora.bfcl import category_of
from dstress.dialogue import Call, Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.call_styles import listed, read_answer, style_of
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source
from dstress.text.python_calls import NoCalls

_LINE = msgspec.json.Decoder(dict[str, Any])
_IDS = ("dialogue", "id", "custom_id")
_SHAPES = 'a line is {"id", "result"}, {"id", "calls": [{"tool", "arguments"}]}, or a reply with "tool_calls"'
_OLDER = ("simple_", "multiple_function_", "parallel_function_", "parallel_multiple_function_", "relevance_")
_NEWER = "simple_python_"
"""What ids of questions begin with, until August 2024 and since."""


class Calls(Format):
    """JSON lines of calls: {"id", "result"} (BFCL), OpenAI-style replies with tool_calls, or {"dialogue", "calls"}."""

    name = "calls"
    convention = "bfcl"

    @classmethod
    def matches(cls, source: Source) -> bool:
        members = shape_of(source).members
        if not members.keys() & set(_IDS):
            return False
        return "result" in members or isinstance(members.get("calls"), list) or _message(members) is not None

    def choose(self, source: Source, split: str) -> None:
        """Keep the files of one category, where the leaderboard's folder of a model has one for each."""
        if any(category_of(file) == split for file in source.files):
            source.keep(lambda file: category_of(file) == split)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        turns = checks.Turns()
        by_file: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for where, line in checks.lines(source):
            by_file.setdefault(where.rpartition(", line ")[0], []).append((where, checks.decode(line, _LINE, where)))
        for path, records in by_file.items():
            first = _id(records[0][1])
            newer = not first.startswith(_OLDER) or first.startswith(_NEWER)
            results = [record["result"] for _, record in records if "result" in record]
            style, underscored = style_of(path, results, newer)
            for where, record in records:
                here = place(where, _id(record))
                if "result" in record:
                    calls, unparsed = read_answer(style, record["result"])
                elif "calls" in record:
                    calls, unparsed = _plain(record["calls"], here), ""
                else:
                    calls, unparsed = _native(record, here)
                # Arguments that are no object are of no parameter, and so never right.
                made = tuple(Call(name, given if isinstance(given, dict) else {"": given}) for name, given in calls)
                dialogue, turn, _ = turns.locate(_id(record), record.get("turn", 0), where)
                yield Prediction(dialogue, turn, {}, calls=made, unparsed=unparsed, underscored=underscored)


def _id(record: dict[str, Any]) -> str:
    return str(next((record[key] for key in _IDS if key in record), ""))


def _plain(calls: Any, where: str) -> list[tuple[str, Any]]:
    if not isinstance(calls, list):
        raise PredictionError("the calls are no list", where=where, fix=_SHAPES)
    read = []
    for call in calls:
        name = call.get("tool", call.get("name")) if isinstance(call, dict) else None
        if not isinstance(name, str):
            raise PredictionError(f"a call that is no object with a tool: {call!r:.60}", where=where, fix=_SHAPES)
        if not isinstance(call.get("arguments", {}), dict):
            raise PredictionError(f"the arguments of {name!r} are no object", where=where, fix=_SHAPES)
        read.append((name, call.get("arguments", {})))
    return read


def _message(record: dict[str, Any]) -> dict[str, Any] | None:
    """The message of a reply: of a batch's line, of a completion, or the line itself."""
    for key in ("response", "body"):
        record = record[key] if isinstance(record.get(key), dict) else record
    choices = record.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        record = choices[0]
    message = record.get("message", record)
    return message if isinstance(message, dict) and ("tool_calls" in message or "content" in message) else None


def _native(record: dict[str, Any], where: str) -> tuple[list[tuple[str, Any]], str]:
    message = _message(record)
    if message is None:
        raise PredictionError("the line has no result, no calls and no message", where=where, fix=_SHAPES)
    functions = [
        call.get("function", call) if isinstance(call, dict) else {} for call in message.get("tool_calls") or ()
    ]
    if not functions:
        return read_answer(listed, str(message.get("content") or ""))
    if not all(isinstance(function, dict) and isinstance(function.get("name"), str) for function in functions):
        raise PredictionError("a tool call without the name of a function", where=where, fix=_SHAPES)
    try:
        return listed([{function["name"]: function.get("arguments") or {}} for function in functions]), ""
    except NoCalls as problem:
        return [], str(problem)
