"""The result files of the FGA and GCA repositories: gold and prediction side by side."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema, State
from dstress.errors import place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_ABSENT = frozenset(("none",))


class _Turn(msgspec.Struct, gc=False):
    gt: dict[str, dict[str, object]]
    pr: dict[str, dict[str, object]]


class Gca(Format):
    """{dialogue: {turn: {"gt": {domain: {slot: value}}, "pr": {...}}}}, as FGA's and GCA's scripts read.

    Both scripts skip a slot whose value is `none`, except that GCA counts gold's `none` as a change. So a predicted
    `none` is absent, and gold's is a slot without any accepted form: inactive, but there to be counted.
    """

    name = "gca"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        turn = shape_of(source).turn
        return isinstance(turn, dict) and {"gt", "pr"} <= turn.keys()

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names = SlotNames(schema)
        records = checks.by_turn(source, msgspec.json.Decoder(_Turn), b'"gt"')
        for file, dialogue, turn, record in checks.once(records):
            here = place(file, dialogue, turn)
            gold: State = {
                slot: () if value == "none" else (value,) for slot, value in checks.flat(record.gt, names, here).items()
            }
            yield Prediction(dialogue, turn, checks.flat(record.pr, names, here, _ABSENT), gold=gold)
