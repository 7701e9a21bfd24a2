"""The result files of the FGA and GCA repositories: gold and prediction side by side."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema, State
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_NONE = "none"


class _Turn(msgspec.Struct, gc=False):
    gt: dict[str, dict[str, object]]
    pr: dict[str, dict[str, object]]


class Gca(Format):
    """{dialogue: {turn: {"gt": {domain: {slot: value}}, "pr": {...}}}}, as FGA's and GCA's scripts read.

    GCA's scripts skip a slot whose value is `none` when they compare states, but count it as a change. So gold's is a
    slot without any accepted form, and a predicted one is `emptied`: inactive, but there to be counted.
    """

    name = "gca"
    convention = "gca"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        turn = shape_of(source).turn
        return isinstance(turn, dict) and {"gt", "pr"} <= turn.keys()

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names = SlotNames(schema)
        for dialogue, turn, here, record in checks.records(source, _Turn, b'"gt"'):
            labels, predicted = checks.flat(record.gt, names, here), checks.flat(record.pr, names, here)
            gold: State = {slot: () if value == _NONE else (value,) for slot, value in labels.items()}
            state = {slot: value for slot, value in predicted.items() if value != _NONE}
            emptied = tuple(slot for slot in predicted if slot not in state)
            yield Prediction(dialogue, turn, state, gold=gold, emptied=emptied)
