"""What every prediction format must hold, checked in one place, and said in one voice.

A reader decodes one turn at a time from `msgspec.Raw`, so that whatever is wrong can be named with its file, dialogue
and turn. All that leaves here is a PredictionError.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeVar

import msgspec

from dstress.dialogue import State, join_values
from dstress.errors import UNREADABLE_JSON, PredictionError, place
from dstress.predictions.shape import data_files
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

T = TypeVar("T")
Record = tuple[str, int, str, T]
"""Dialogue, turn, the words for this place, and what the file says there."""
_MAX_NUMBER = 10**15
_MOST_BITS = 1024
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])


def decode(data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], where: str) -> T:
    """Decode, or say what is wrong with the JSON and where."""
    try:
        return decoder.decode(data)
    except UNREADABLE_JSON as error:
        refuse(error, bytes(data), where)


def refuse(error: Exception, data: bytes, where: str) -> NoReturn:
    """Turn a decoding error into words that say what to repair."""
    problem, fix = f"{error}", ""
    if not data.strip():
        problem, fix = "the file is empty", "check that the tracker wrote it"
    elif isinstance(error, UnicodeDecodeError):
        problem, fix = "not UTF-8 text", "write the file again as UTF-8"
    elif isinstance(error, RecursionError):
        problem = "nested too deeply to be predictions"
    elif not isinstance(error, msgspec.ValidationError):
        named = b"NaN" in data or b"Infinity" in data
        fix = "NaN and Infinity are not JSON: leave the slot out" if named else "the file may be cut off: write it anew"
    raise PredictionError(problem, where=where, fix=fix) from None


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


def items(files: Iterable[SourceFile], wrapper: str = "") -> Iterator[tuple[str, msgspec.Raw]]:
    """The items of files that are each one JSON array, with their places, still to be decoded.

    `wrapper` is the key under which the array is, where the file is an object.
    """
    for file in files:
        data: bytes | msgspec.Raw = content(file)
        if wrapper:
            data = decode(data, _MEMBERS, file.label).get(wrapper, msgspec.Raw(b"[]"))
        array = decode(data, _ITEMS, file.label)
        for number, raw in enumerate(array):
            yield f"{file.label}, item {number}", raw


class Layout(NamedTuple):
    """How a JSON object holds records: its decoder, and dialogue, turn and record of each in what that gives."""

    decoder: msgspec.json.Decoder[Any]
    rows: Callable[[Any], Iterable[tuple[str, object, msgspec.Raw]]]


BY_TURN = Layout(
    msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]),
    lambda dialogues: ((name, turn, raw) for name, turns in dialogues.items() for turn, raw in turns.items()),
)
"""`{dialogue: {turn: record}}`"""
BY_POSITION = Layout(
    msgspec.json.Decoder(dict[str, list[msgspec.Raw]]),
    lambda dialogues: ((name, turn, raw) for name, turns in dialogues.items() for turn, raw in enumerate(turns)),
)
"""`{dialogue: [record, ...]}`, turns numbered from 0."""


def records(source: Source, kind: type[T], mark: bytes, layout: Layout = BY_TURN) -> Iterator[Record[T]]:
    """The records of files that are one JSON object. `mark` is a text that each record holds once."""
    turns, decoder = Turns(), msgspec.json.Decoder(kind)
    for file in data_files(source):
        data = content(file)
        rows = list(layout.rows(decode(data, layout.decoder, file.label)))
        unique_keys(data, mark, len(rows), file.label)
        for name, number, raw in rows:
            dialogue, turn, here = turns.locate(name, number, file.label)
            yield dialogue, turn, here, decode(raw, decoder, here)


def unique_keys(data: bytes, mark: bytes, records: int, where: str) -> None:
    """Find a dialogue or turn written twice, of which a decoder keeps the last and says nothing.

    The exact search is slow, so it runs only if the file holds another number of marks than of records. Records
    without such a text have the empty mark, and are always searched.
    """
    if mark and data.count(mark) == records:
        return

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        unique = dict(pairs)
        if len(unique) < len(pairs):
            keys = [key for key, _ in pairs]
            doubled = next(key for key in keys if keys.count(key) > 1)
            raise PredictionError(f"the key {doubled!r} is there twice in one object", where=where, fix="keep one")
        return unique

    try:
        json.loads(data, object_pairs_hook=members)
    except (ValueError, RecursionError) as error:
        raise PredictionError(f"not valid JSON: {error}", where=where) from None


def dialogue_id(name: str, where: str) -> str:
    """The id as the file spells it, without the `.json` that MultiWOZ's ids once had."""
    dialogue = name.removesuffix(".json")
    if not dialogue:
        raise PredictionError("a dialogue without an id", where=where, fix="give every dialogue its corpus id")
    return dialogue


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
    """A value as text. A number is its text; null is no value; of a list all values are meant, in any order."""
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return join_values(text for each in value if (text := text_of(each, slot, where))) or None
    if isinstance(value, str):
        return value
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_NUMBER:
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


def by_slot(flat_state: dict[str, object], names: SlotNames, where: str) -> dict[str, str]:
    """`{slot: value}` as slot id -> value, with every slot in the schema's spelling."""
    state: dict[str, str] = {}
    for slot, value in flat_state.items():
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
    values_of: dict[str, dict[str, None]] = {}
    for slot, value in pairs:
        values_of.setdefault(slot, {})[value] = None
    return {slot: " | ".join(values) for slot, values in values_of.items()}


class Turns:
    """Refuses a turn that was there before. Ids are compared without case, as predictions are matched with gold."""

    def __init__(self) -> None:
        # A hash a dialogue and a bit a turn: names and sets of turns would be most of a long stream's memory.
        self._seen: dict[int, int] = {}
        self._far: set[tuple[int, int]] = set()

    def locate(self, name: str, number: object, where: str) -> tuple[str, int, str]:
        """The dialogue's id, the turn, and the words for this place, of a turn that was not there before."""
        dialogue = dialogue_id(name, where)
        turn = turn_number(number, place(where, dialogue))
        self.add(dialogue, turn, where)
        return dialogue, turn, place(where, dialogue, turn)

    def add(self, dialogue: str, turn: int, where: str) -> None:
        """Note a turn, or refuse it."""
        key = hash(dialogue.casefold())
        if turn < _MOST_BITS:
            turns = self._seen.get(key, 0)
            self._seen[key] = turns | 1 << turn
            is_new = self._seen[key] != turns
        else:
            is_new = (key, turn) not in self._far
            self._far.add((key, turn))
        if not is_new:
            raise PredictionError(
                "this turn is there twice",
                where=place(where, dialogue, turn),
                fix="keep one prediction per turn; do not give two runs' files together",
            )
