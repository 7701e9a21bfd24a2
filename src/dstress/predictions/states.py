"""Bare states: what the gold state files of the MultiWOZ evaluation look like, and the least a tracker can write."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.errors import place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames


class States(Format):
    """{dialogue: [{domain: {slot: value}}, ...]}, one state a turn and nothing else."""

    name = "states"

    @classmethod
    def matches(cls, source: Source) -> bool:
        shape = shape_of(source)
        listed = [part for part in shape.members.values() if isinstance(part, list)]
        turns = [turn for part in listed for turn in part]
        states = [turn for turn in turns if isinstance(turn, dict) and all(isinstance(s, dict) for s in turn.values())]
        return bool(turns) and len(listed) == len(shape.members) and len(states) == len(turns)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names = SlotNames(schema)
        decoder = msgspec.json.Decoder(dict[str, dict[str, object]])
        for file, dialogue, turn, record in checks.once(checks.by_position(source, decoder, b"")):
            yield Prediction(dialogue, turn, checks.flat(record, names, place(file, dialogue, turn)))
