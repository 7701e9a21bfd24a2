"""The output of TRADE and the many trackers built on its code: beliefs as `domain-slot-value` texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames, multiwoz_slots


class _Turn(msgspec.Struct, gc=False):
    pred_bs_ptr: list[str]
    turn_belief: list[str] | None = None


class Trade(Format):
    """{dialogue: {turn: {"turn_belief": ["domain-slot-value", ...], "pred_bs_ptr": [...]}}}, as TRADE writes.

    TRADE compares sets of texts, so `none` and even an empty value are values here, and stay.
    """

    name = "trade"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        turn = shape_of(source).turn
        return isinstance(turn, dict) and "pred_bs_ptr" in turn

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        beliefs = Beliefs(schema)
        records = checks.by_turn(source, msgspec.json.Decoder(_Turn), b'"pred_bs_ptr"')
        for file, dialogue, turn, record in checks.once(records):
            here = place(file, dialogue, turn)
            gold = record.turn_belief if record.turn_belief is None else beliefs.gold(record.turn_belief, here)
            yield Prediction(dialogue, turn, beliefs.state(record.pred_bs_ptr, here), gold=gold)

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        dialogues: dict[str, dict[str, dict[str, list[str]]]] = {}
        for prediction in predictions:
            turn = dialogues.setdefault(prediction.dialogue, {}).setdefault(str(prediction.turn), {})
            if prediction.gold is not None:
                turn["turn_belief"] = [f"{slot}-{forms[0]}" for slot, forms in prediction.gold.items() if forms]
            turn["pred_bs_ptr"] = [f"{slot}-{value}" for slot, value in prediction.state.items()]
        with replacing(path) as out:
            out.write(msgspec.json.encode(dialogues))


class Beliefs:
    """Reads `domain-slot-value`. A hyphen may be part of any of them, so the reading whose slot exists is preferred."""

    def __init__(self, schema: Schema | None) -> None:
        self._names = SlotNames(schema)
        self._known = frozenset(schema.slots if schema is not None else multiwoz_slots())
        self._read: dict[str, tuple[str, str]] = {}

    def state(self, beliefs: Iterable[str], where: str) -> dict[str, str]:
        """The state that a list of beliefs describes."""
        state: dict[str, str] = {}
        for belief in beliefs:
            if belief not in self._read:
                self._read[belief] = self._split(belief, where)
            slot, value = self._read[belief]
            checks.put(state, slot, value, where)
        return state

    def gold(self, beliefs: Iterable[str], where: str) -> dict[str, tuple[str, ...]]:
        """The same, with each value as the only accepted form."""
        return checks.accepted(self.state(beliefs, where))

    def _split(self, belief: str, where: str) -> tuple[str, str]:
        parts = belief.split("-")
        if len(parts) < 3:
            raise PredictionError(f"{belief!r} is not domain-slot-value", where=where, fix="write the whole belief")
        readings = [
            (self._names(parts[0], "-".join(parts[1:cut])), "-".join(parts[cut:])) for cut in range(2, len(parts))
        ]
        return next((reading for reading in readings if reading[0] in self._known), readings[0])
