"""JSON in what a model wrote: after its thoughts, within prose or a code fence, or cut off in the middle."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_THOUGHTS = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()
_CLOSING = {"{": "}", "[": "]"}
_MOST_BROKEN = 100
"""Openings of no JSON that are passed over: a text of nothing else would take for ever."""


class Found(NamedTuple):
    """An object or a list, and whether the text ended in the middle of it: then it holds what is whole."""

    value: Any
    is_cut: bool = False


def find_json(text: str) -> list[Found]:
    """The objects and lists of a text, in order; what lies within one of them is a part of it."""
    # A reasoning model thinks aloud first; some chat templates open the thoughts in the prompt, so that only their end
    # is in the answer.
    text = _THOUGHTS.sub("", text).rpartition("</think>")[2].strip()
    start, broken, values = 0, 0, list[Found]()
    while broken < _MOST_BROKEN and (opening := _OPENING.search(text, start)):
        start = opening.start()
        try:
            value, start = _DECODER.raw_decode(text, start)
            values.append(Found(value))
        except (ValueError, RecursionError):
            if whole := _close(text[start:]):
                values.append(Found(whole, is_cut=True))
                break
            start, broken = start + 1, broken + 1
    return values


def _close(text: str) -> Any:
    """What is whole in JSON that breaks off; None where nothing is, or where it does not break off but is broken."""
    open_marks: list[str] = []
    end, closing = 0, ""
    in_string = is_escaped = False
    for place, letter in enumerate(text):
        if in_string:
            in_string = letter != '"' or is_escaped
            is_escaped = letter == "\\" and not is_escaped
        elif letter == '"':
            in_string = True
        elif letter in _CLOSING:
            open_marks.append(letter)
        elif letter == ",":
            end, closing = place, _closing(open_marks)
        elif letter in "}]":
            if _CLOSING[open_marks.pop()] != letter or not open_marks:
                return None
            end, closing = place + 1, _closing(open_marks)
    # A last value that is whole although nothing follows it: a number may lack digits, a text and null lack nothing.
    is_last_whole = not in_string and text.endswith(('"', "null"))
    last = _decode(text + _closing(open_marks)) if is_last_whole else None
    return _decode(text[:end] + closing) if last is None else last


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _closing(open_marks: list[str]) -> str:
    return "".join(_CLOSING[mark] for mark in reversed(open_marks))
