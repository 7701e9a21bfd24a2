"""What every prediction format must hold, checked in one place, and said in one voice.

A reader decodes one turn at a time from `msgspec.Raw`, so that whatever is wrong can be named with its file, dialogue
and turn. All that leaves here is a PredictionError.
"""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

import msgspec

from dstress.dialogue import State
from dstress.errors import UNREADABLE_JSON, PredictionError, place
from dstress.predictions.shape import data_files
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

T = TypeVar("T")
Record = tuple[str, str, int, T]
"""File label, dialogue, turn, and what the file says there."""
_MAX_NUMBER = 10**15
_MOST_BITS = 1024


def decode(data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], where: str) -> T:
    """Decode, or say what is wrong with the JSON and where."""
    try:
        return decoder.decode(data)
    except UNREADABLE_JSON as error:
        refuse(error, bytes(data), where)


def refuse(error: Exception, data: bytes, where: str) -> NoReturn:
    """Turn a decoding error into words that say what to repair."""
    if not data.strip():
        raise PredictionError("the file is empty", where=where, fix="check that the tracker wrote it") from None
    if isinstance(error, UnicodeDecodeError):
        raise PredictionError("not UTF-8 text", where=where, fix="write the file again as UTF-8") from None
    if isinstance(error, RecursionError):
        raise PredictionError("nested too deeply to be predictions", where=where) from None
    fix = ""
    if not isinstance(error, msgspec.ValidationError):
        named = b"NaN" in data or b"Infinity" in data
        fix = "NaN and Infinity are not JSON: leave the slot out" if named else "the file may be cut off: write it anew"
    raise PredictionError(f"{error}", where=where, fix=fix) from None


def content(file: SourceFile) -> bytes:
    """The file's bytes, without a byte order mark."""
    return file.read().removeprefix(BOM_UTF8)


def lines(source: Source) -> Iterator[tuple[str, bytes]]:
    """Each line that is not blank, with its place. Holds one line, never the file."""
    empty = True
    for file in data_files(source):
        for number, line in enumerate(file.lines(), start=1):
            if number == 1:
                line = line.removeprefix(BOM_UTF8)
            if line.strip():
                empty = False
                yield f"{file.label}, line {number}", line
    if empty:
        raise PredictionError("the file is empty", where=source.address, fix="check that the tracker wrote it")


def items(file: SourceFile) -> list[msgspec.Raw]:
    """The items of a file that is one JSON array, each still to be decoded."""
    return decode(content(file), _ITEMS, file.label)


_ITEMS: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])
_TURNS: msgspec.json.Decoder[dict[str, dict[str, msgspec.Raw]]] = msgspec.json.Decoder(
    dict[str, dict[str, msgspec.Raw]]
)
_LISTS: msgspec.json.Decoder[dict[str, list[msgspec.Raw]]] = msgspec.json.Decoder(dict[str, list[msgspec.Raw]])


def by_turn(source: Source, decoder: msgspec.json.Decoder[T], mark: bytes) -> Iterator[Record[T]]:
    """The records of `{dialogue: {turn: record}}`. `mark` is a text that each record holds once."""
    for file in data_files(source):
        data = content(file)
        dialogues = decode(data, _TURNS, file.label)
        unique_keys(data, mark, sum(map(len, dialogues.values())), file.label)
        for name, turns in dialogues.items():
            dialogue = dialogue_id(name, file.label)
            for key, raw in turns.items():
                turn = turn_number(key, place(file.label, dialogue))
                yield file.label, dialogue, turn, decode(raw, decoder, place(file.label, dialogue, turn))


def by_position(source: Source, decoder: msgspec.json.Decoder[T], mark: bytes) -> Iterator[Record[T]]:
    """The records of `{dialogue: [record, ...]}`, numbered from 0. `mark` is a text that each record holds once."""
    for file in data_files(source):
        data = content(file)
        dialogues = decode(data, _LISTS, file.label)
        unique_keys(data, mark, sum(map(len, dialogues.values())), file.label)
        for name, records in dialogues.items():
            dialogue = dialogue_id(name, file.label)
            for turn, raw in enumerate(records):
                yield file.label, dialogue, turn, decode(raw, decoder, place(file.label, dialogue, turn))


def unique_keys(data: bytes, mark: bytes, records: int, where: str) -> None:
    """Find a dialogue or turn written twice, of which a decoder keeps the last and says nothing.

    The exact search is slow, so it runs only if the file holds another number of marks than of records. Records
    without such a text have the empty mark, and are always searched.
    """
    if mark and data.count(mark) == records:
        return

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            doubled = next(key for key in keys if keys.count(key) > 1)
            raise PredictionError(f"the key {doubled!r} is there twice in one object", where=where, fix="keep one")
        return found

    try:
        json.loads(data, object_pairs_hook=members)
    except (ValueError, RecursionError) as error:
        raise PredictionError(f"not valid JSON: {error}", where=where) from None


def dialogue_id(name: str, where: str) -> str:
    """The id as the file spells it, without the `.json` that MultiWOZ's ids once had."""
    found = name.removesuffix(".json")
    if not found:
        raise PredictionError("a dialogue without an id", where=where, fix="give every dialogue its corpus id")
    return found


def turn_number(turn: object, where: str) -> int:
    """The turn, counted from 0, from a number or its text."""
    if isinstance(turn, str) and turn.isascii() and turn.removeprefix("-").isdecimal() and len(turn) < 10:
        turn = int(turn)
    if not isinstance(turn, int) or isinstance(turn, bool):
        raise PredictionError(f"the turn {turn!r} is not a number", where=where, fix="count user turns from 0")
    if not 0 <= turn < _MAX_NUMBER:
        raise PredictionError(f"the turn {turn} cannot be", where=where, fix="count user turns from 0")
    return turn


def text_of(value: object, slot: str, where: str) -> str | None:
    """A value as text. A number is its text; null is no value; anything else is an error that names the slot."""
    if isinstance(value, str):
        return value
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.fabs(value) < _MAX_NUMBER:
        return str(int(value)) if value == int(value) else str(value)
    shown = {dict: "an object", list: "a list", bool: "true or false"}.get(type(value), "a number out of range")
    raise PredictionError(
        f"the value of the slot {slot!r} is {shown}, not a text", where=where, fix="give one text per slot"
    )


def flat(
    nested: dict[str, dict[str, object]], names: SlotNames, where: str, absent: frozenset[str] = frozenset()
) -> dict[str, str]:
    """`{service: {slot: value}}` as slot id -> value. Values in `absent` (in any case) are slots without one."""
    state: dict[str, str] = {}
    for service, slots in nested.items():
        for slot, value in slots.items():
            text = text_of(value, f"{service}-{slot}", where)
            if text is not None and not (absent and text.casefold() in absent):
                put(state, names(service, slot), text, where)
    return state


def by_slot(given: dict[str, object], names: SlotNames, where: str) -> dict[str, str]:
    """`{slot: value}` as slot id -> value, with every slot in the schema's spelling."""
    state: dict[str, str] = {}
    for slot, value in given.items():
        text = text_of(value, slot, where)
        if text is not None:
            put(state, settled(slot, names, where), text, where)
    return state


def settled(slot: str, names: SlotNames, where: str) -> str:
    """The slot id that one text names, such as `hotel-book_people`."""
    if "-" not in slot:
        raise PredictionError(f"the slot {slot!r} names no service", where=where, fix="write slots as service-slot")
    return names.split(slot)


def put(state: dict[str, str], slot: str, value: str, where: str) -> None:
    """Set a slot once; two spellings of one slot may not disagree."""
    if state.setdefault(slot, value) != value:
        raise PredictionError(
            f"the slot {slot!r} has two values, {state[slot]!r} and {value!r}", where=where, fix="give one of them"
        )


def accepted(state: dict[str, str]) -> State:
    """A gold state, with each value as the only accepted form."""
    return {slot: (value,) for slot, value in state.items()}


def together(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Slots and values that a model wrote. Two values of one slot match no gold; they stay, as `one | other`."""
    found: dict[str, dict[str, None]] = {}
    for slot, value in pairs:
        found.setdefault(slot, {})[value] = None
    return {slot: " | ".join(values) for slot, values in found.items()}


class Turns:
    """Refuses a turn that was there before. Ids are compared without case, as predictions are matched with gold."""

    def __init__(self) -> None:
        # A hash a dialogue and a bit a turn: names and sets of turns would be most of a long stream's memory.
        self._seen: dict[int, int] = {}
        self._far: set[tuple[int, int]] = set()

    def add(self, dialogue: str, turn: int, where: str) -> None:
        """Note a turn, or refuse it."""
        if not self._is_new(hash(dialogue.casefold()), turn):
            raise PredictionError(
                "this turn is there twice",
                where=place(where, dialogue, turn),
                fix="keep one prediction per turn; do not give two runs' files together",
            )

    def _is_new(self, dialogue: int, turn: int) -> bool:
        if turn >= _MOST_BITS:
            before = len(self._far)
            self._far.add((dialogue, turn))
            return len(self._far) > before
        turns = self._seen.get(dialogue, 0)
        self._seen[dialogue] = turns | 1 << turn
        return self._seen[dialogue] != turns


def once(records: Iterable[Record[T]]) -> Iterator[Record[T]]:
    """The same records, after a look that no turn comes twice."""
    turns = Turns()
    for record in records:
        turns.add(record[1], record[2], record[0])
        yield record
