"""The output of T5DST (Zero-Shot-DST): TRADE's belief texts, a level deeper."""

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


class _Turn(msgspec.Struct, gc=False):
    pred_belief: list[str]
    turn_belief: list[str] | None = None


class _Dialogue(msgspec.Struct, gc=False):
    turns: dict[str, msgspec.Raw]


_FILE = msgspec.json.Decoder(dict[str, _Dialogue])
_TURN = msgspec.json.Decoder(_Turn)


class T5Dst(Format):
    """{dialogue: {"domain", "turns": {turn: {"turn_belief": ["domain-slot-value", ...], "pred_belief": [...]}}}}."""

    name = "t5dst"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        dialogues = (part for part in shape_of(source).members.values() if isinstance(part, dict))
        turns = (part.get("turns") for part in dialogues)
        records = (record for part in turns if isinstance(part, dict) for record in part.values())
        first = next(records, None)
        return isinstance(first, dict) and "pred_belief" in first

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        beliefs, turns = Beliefs(schema), checks.Turns()
        for file in data_files(source):
            data = checks.content(file)
            dialogues = checks.decode(data, _FILE, file.label)
            records = sum(len(found.turns) for found in dialogues.values())
            checks.unique_keys(data, b'"pred_belief"', records, file.label)
            for name, found in dialogues.items():
                dialogue = checks.dialogue_id(name, file.label)
                for key, raw in found.turns.items():
                    turn = checks.turn_number(key, place(file.label, dialogue))
                    turns.add(dialogue, turn, file.label)
                    here = place(file.label, dialogue, turn)
                    record = checks.decode(raw, _TURN, here)
                    gold = record.turn_belief if record.turn_belief is None else beliefs.gold(record.turn_belief, here)
                    yield Prediction(dialogue, turn, beliefs.state(record.pred_belief, here), gold=gold)
