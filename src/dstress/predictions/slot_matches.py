"""FGA's `trippy_result.json`: no states, only which of TripPy's thirty slots were right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dstress.dialogue import Schema
from dstress.errors import PredictionError
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames
from dstress.text.tables import read_table


class SlotMatches(Format):
    """{dialogue: {turn: [thirty times 0 or 1]}}, which of TripPy's slots are right.

    There are no values in it. Every slot's gold value reads "right", and its prediction "right" or "wrong": so JGA,
    SA and FGA come out as they should, and whatever looks at real values (GCA's changes, AGA, fuzzy conventions,
    another gold) means nothing.
    """

    name = "trippy-matches"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        turn = shape_of(source).turn
        return isinstance(turn, list) and bool(turn) and all(value in (0, 1) for value in turn)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names = SlotNames(schema)
        slots = [names.split(slot) for slot in read_table(__package__, "trippy_slots.toml")["slots"]]
        gold = dict.fromkeys(slots, ("right",))
        for dialogue, turn, here, right in checks.records(source, list[Literal[0, 1]], b"["):
            if len(right) != len(slots):
                raise PredictionError(
                    f"{len(right)} marks for {len(slots)} slots",
                    where=here,
                    fix="only TripPy's thirty MultiWOZ slots can be read this way",
                )
            state = {slot: "right" if mark else "wrong" for slot, mark in zip(slots, right, strict=True)}
            yield Prediction(dialogue, turn, state, gold=dict(gold))
