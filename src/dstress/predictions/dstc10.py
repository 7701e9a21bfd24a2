"""Submissions to DSTC10 track 2, task 1: a state for each instance of `logs.json`, in its order and without ids."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_PARTS = ("semi", "book")
_STATE = msgspec.json.Decoder(dict[str, dict[str, dict[str, list[str]]]])


class Dstc10(Format):
    """[{domain: {"semi": {slot: [value, ...]}, "book": {...}}}, ...], DSTC10 track 2's submissions and labels.

    An instance is a dialogue of one turn, and its number in the file is the dialogue's id.
    """

    name = "dstc10"

    @classmethod
    def matches(cls, source: Source) -> bool:
        domains = [domain for item in shape_of(source).items if isinstance(item, dict) for domain in item.values()]
        parts = [part for domain in domains if isinstance(domain, dict) for part in domain.items()]
        recognised = [part in _PARTS and isinstance(slots, dict) for part, slots in parts]
        return bool(parts) and all(recognised) and all(isinstance(domain, dict) for domain in domains)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns = SlotNames(schema), checks.Turns()
        for file in data_files(source):
            for number, (_, raw) in enumerate(checks.items([file])):
                dialogue, turn, here = turns.locate(str(number), 0, file.label)
                state: dict[str, str] = {}
                for service, parts in checks.decode(raw, _STATE, here).items():
                    for part, slots in parts.items():
                        for slot, values in slots.items():
                            name = names(service, f"book {slot}" if part == "book" else slot)
                            checks.put(state, name, "|".join(values), here)
                yield Prediction(dialogue, turn, state)
