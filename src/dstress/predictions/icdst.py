"""The running logs of IC-DST: samples with the state so far in `pred`, and gold in `slot_values`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames


class _Utterances(msgspec.Struct, gc=False):
    usr: list[str] = []


class _Sample(msgspec.Struct, gc=False):
    ID: str
    turn_id: int | str
    pred: dict[str, object]
    slot_values: dict[str, object] | None = None
    dialog: _Utterances | None = None


_SAMPLE = msgspec.json.Decoder(_Sample)


class IcDst(Format):
    """[{"ID", "turn_id", "dialog": {"sys", "usr"}, "slot_values": {slot: value}, "pred": {slot: value}, ...}].

    `|` parts the accepted forms of gold, as in the script.
    """

    name = "ic-dst"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        item = shape_of(source).item
        return {"ID", "turn_id", "pred"} <= item.keys() and isinstance(item["pred"], dict)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns = SlotNames(schema), checks.Turns()
        for where, raw in checks.items(data_files(source)):
            sample = checks.decode(raw, _SAMPLE, where)
            dialogue, turn, here = turns.locate(sample.ID, sample.turn_id, where)
            gold = None
            if sample.slot_values is not None:
                labels = checks.by_slot(sample.slot_values, names, here)
                gold = {slot: tuple(text.split("|")) for slot, text in labels.items()}
            state = checks.by_slot(sample.pred, names, here)
            utterances = sample.dialog.usr if sample.dialog else []
            yield Prediction(dialogue, turn, state, gold=gold, utterance=utterances[-1] if utterances else None)
