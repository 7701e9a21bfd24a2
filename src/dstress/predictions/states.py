"""Bare states: what the gold state files of the MultiWOZ evaluation look like, and the least a tracker can write."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.gca import Gca
from dstress.predictions.plain import is_turn_record, numbered_turns, read_plain, unwrapped
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.sources import Source

_DIALOGUES = msgspec.json.Decoder(dict[str, object])


class States(Format):
    """{dialogue: [{domain: {slot: value}}, ...]} or {dialogue: {turn: {"domain-slot": value}}}, also under a key."""

    name = "states"

    @classmethod
    def matches(cls, source: Source) -> bool:
        dialogues = [numbered_turns(part) for part in unwrapped(shape_of(source).members).values()]
        turns = [turn for numbered in dialogues for _, turn in numbered or ()]
        return bool(turns) and None not in dialogues and all(map(_is_state, turns)) and not Gca.matches(source)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        turns = checks.Turns()
        for file in data_files(source):
            data = checks.content(file)
            dialogues = checks.decode(data, _DIALOGUES, file.label)
            checks.unique_keys(data, b"", 0, file.label)
            yield from read_plain(dialogues, file.label, schema, turns)


def _is_state(turn: object) -> bool:
    if is_turn_record(turn):
        return True
    return isinstance(turn, dict) and all(
        isinstance(value, dict) or ("-" in slot and _is_value(value)) for slot, value in turn.items()
    )


def _is_value(value: object) -> bool:
    return not isinstance(value, list) or all(isinstance(each, str | int | float) for each in value)
