"""The output of SOM-DST: TRADE's belief texts, in pairs of prediction and gold."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.errors import place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.predictions.trade import Beliefs
from dstress.storage.sources import Source

_FILE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PAIR = msgspec.json.Decoder(tuple[list[str], list[str]])


class SomDst(Format):
    """{"DIALOGUE_TURN": [["domain-slot-value", ...], [the same for gold]]}, SOM-DST's preds_N.json."""

    name = "som-dst"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        shape = shape_of(source)
        key = next(iter(shape.members), "")
        pair = shape.members.get(key)
        return (
            key.rpartition("_")[2].isdecimal()
            and isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(side, list) for side in pair)
        )

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        beliefs, turns = Beliefs(schema), checks.Turns()
        for file in data_files(source):
            data = checks.content(file)
            pairs = checks.decode(data, _FILE, file.label)
            checks.unique_keys(data, b'": [[', len(pairs), file.label)
            for key, raw in pairs.items():
                name, _, number = key.rpartition("_")
                dialogue = checks.dialogue_id(name, f"{file.label}, {key!r}")
                turn = checks.turn_number(number, place(file.label, dialogue))
                turns.add(dialogue, turn, file.label)
                here = place(file.label, dialogue, turn)
                predicted, gold = checks.decode(raw, _PAIR, here)
                yield Prediction(dialogue, turn, beliefs.state(predicted, here), gold=beliefs.gold(gold, here))
