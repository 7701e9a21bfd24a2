"""What a prediction file looks like from its first few thousand characters, so that finding its format costs nothing.

Formats are told apart by what their records hold, and a record is at the head of every file: the first line of JSON
lines, the first item of an array, the first dialogue of an object. Only that much is read and parsed.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

from dstress.errors import PredictionError
from dstress.storage.sources import Source, SourceFile

_BLANKS = re.compile(r"[\s,:]*")
_FIRST_LOOK = 1 << 16
_ENOUGH_MEMBERS = 40
_LONGEST_HEADER = 4096
_BESIDE = frozenset(("schema.json", "dialog_acts.json", "dialogues_and_metrics.json"))
"""What lies beside SGD's predictions: the corpus's own files, and what the official script leaves there."""
_JSON = json.JSONDecoder()
_seen: WeakKeyDictionary[Source, Shape] = WeakKeyDictionary()


class Shape:
    """The head of a file: the first members of its object (or first line), or the first items of its array."""

    def __init__(self, kind: Literal["object", "array", "other"], head: str, parts: list[tuple[str, object]]) -> None:
        self.kind, self.head = kind, head
        self.members = dict(parts) if kind == "object" else {}
        self.items = [part for _, part in parts] if kind == "array" else []

    @cached_property
    def item(self) -> dict[str, object]:
        """The first object in an array; empty where there is none."""
        return next((item for item in self.items if isinstance(item, dict)), {})

    @cached_property
    def turn(self) -> object:
        """The first record of `{dialogue: {turn: record}}`; None where there is none."""
        inner = (part for part in self.members.values() if isinstance(part, dict))
        return next((record for part in inner for turn, record in part.items() if turn.isdecimal()), None)

    @cached_property
    def listed(self) -> list[object] | None:
        """The records of the first dialogue of `{dialogue: [record, ...]}`; None where the shape is another."""
        if not self.members or not all(isinstance(part, list) for part in self.members.values()):
            return None
        return next((part for part in self.members.values() if isinstance(part, list) and part), None)

    @cached_property
    def records(self) -> dict[str, dict[str, object]]:
        """The first record of each list of objects in an object, by its key."""
        return {
            key: part[0]
            for key, part in self.members.items()
            if isinstance(part, list) and part and isinstance(part[0], dict)
        }

    def __str__(self) -> str:
        """What was found, in the words of an error message."""
        if self.kind == "object":
            return "a JSON object with the keys " + ", ".join(map(repr, list(self.members)[:6]))
        if self.kind == "array":
            keys = ", ".join(map(repr, list(self.item)[:8]))
            return f"a JSON array of objects with the keys {keys}" if keys else "a JSON array without objects"
        return f"something that begins with {self.head[:60]!r}" if self.head.strip() else "an empty file"


def data_files(source: Source) -> list[SourceFile]:
    """The files that hold predictions. Beside JSON files, notes and logs are passed over; so are files of `_BESIDE`."""
    files = [file for file in source.files if file.stem.casefold().endswith((".json", ".jsonl"))]
    files = [file for file in files if file.stem.casefold() not in _BESIDE] or files
    dialogues = [file for file in files if file.stem.casefold().startswith("dialogues_")]
    return dialogues or files or source.files


def shape_of(source: Source) -> Shape:
    """The shape of a source's first data file. It is looked at once, however many formats ask."""
    if source not in _seen:
        _seen[source] = _look(source)
    return _seen[source]


def _look(source: Source) -> Shape:
    files = data_files(source)
    if not files:
        raise PredictionError("there is no file in it", where=source.address, fix="give the prediction file itself")
    head, limit = bytearray(), _FIRST_LOOK
    for line in files[0].lines():
        head += line
        while len(head) >= limit:
            shape = _parse(head[:limit], whole=False)
            if shape is not None:
                return shape
            limit *= 8
    return _parse(head, whole=True) or Shape("other", "", [])


def _parse(head: bytes | bytearray, *, whole: bool) -> Shape | None:
    """The shape of this much of a file; None when its first record goes on beyond it."""
    text = head.removeprefix(BOM_UTF8).decode("utf-8", errors="replace").lstrip()
    if text[:1] not in ("{", "["):
        return Shape("other", text[:_LONGEST_HEADER], [])
    kind: Literal["object", "array"] = "object" if text[0] == "{" else "array"
    parts: list[tuple[str, object]] = []
    try:
        for part in _parts(text, keyed=kind == "object"):
            parts.append(part)
            if len(parts) >= _ENOUGH_MEMBERS:
                break
    except (ValueError, RecursionError):
        # Cut in the middle. What came before is enough if it holds a record; a line's leading texts do not.
        if not whole and not any(isinstance(part, dict | list) and part for _, part in parts):
            return None
        if not parts:
            return Shape("other", text[:200], [])
    return Shape(kind, text[:200], parts)


def _parts(text: str, *, keyed: bool) -> Iterator[tuple[str, object]]:
    """Each member of an object, or item of an array, that is whole in `text`."""
    at = _skip(text, 1)
    while text[at : at + 1] not in ("}", "]"):
        key = ""
        if keyed:
            key, at = _JSON.raw_decode(text, at)
            at = _skip(text, at)
        value, at = _JSON.raw_decode(text, at)
        yield str(key), value
        at = _skip(text, at)


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
