"""The output of TRADE, SOM-DST, T5DST and the trackers built on them: beliefs as `domain-slot-value` texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames, multiwoz_slots


class _TradeTurn(msgspec.Struct, gc=False):
    pred_bs_ptr: list[str]
    turn_belief: list[str] | None = None


class _T5Turn(msgspec.Struct, gc=False):
    pred_belief: list[str]
    turn_belief: list[str] | None = None


class _T5Dialogue(msgspec.Struct, gc=False):
    turns: dict[str, msgspec.Raw]


_PAIRS = checks.Layout(
    msgspec.json.Decoder(dict[str, msgspec.Raw]),
    lambda pairs: ((key.rpartition("_")[0], key.rpartition("_")[2], raw) for key, raw in pairs.items()),
)
_DIALOGUES = checks.Layout(
    msgspec.json.Decoder(dict[str, _T5Dialogue]),
    lambda dialogues: ((name, turn, raw) for name, entry in dialogues.items() for turn, raw in entry.turns.items()),
)


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
        for dialogue, turn, here, record in checks.records(source, _TradeTurn, b'"pred_bs_ptr"'):
            yield beliefs.prediction(dialogue, turn, here, record.pred_bs_ptr, record.turn_belief)

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        dialogues: dict[str, dict[str, dict[str, list[str]]]] = {}
        for prediction in predictions:
            turn = dialogues.setdefault(prediction.dialogue, {}).setdefault(str(prediction.turn), {})
            if prediction.gold is not None:
                turn["turn_belief"] = [f"{slot}-{forms[0]}" for slot, forms in prediction.gold.items() if forms]
            turn["pred_bs_ptr"] = [f"{slot}-{value}" for slot, value in prediction.state.items()]
        with replacing(path) as out:
            out.write(msgspec.json.encode(dialogues))


class SomDst(Format):
    """{"DIALOGUE_TURN": [["domain-slot-value", ...], [the same for gold]]}, SOM-DST's preds_N.json."""

    name = "som-dst"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        key, pair = next(iter(shape_of(source).members.items()), ("", None))
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, list) for side in pair)
        return is_pair and key.rpartition("_")[2].isdecimal()

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        beliefs = Beliefs(schema)
        for dialogue, turn, here, pair in checks.records(source, tuple[list[str], list[str]], b'": [[', _PAIRS):
            yield beliefs.prediction(dialogue, turn, here, *pair)


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
        beliefs = Beliefs(schema)
        for dialogue, turn, here, record in checks.records(source, _T5Turn, b'"pred_belief"', _DIALOGUES):
            yield beliefs.prediction(dialogue, turn, here, record.pred_belief, record.turn_belief)


class Beliefs:
    """Reads `domain-slot-value`. A hyphen may be part of any of them, so the reading whose slot exists is preferred."""

    def __init__(self, schema: Schema | None) -> None:
        self._names = SlotNames(schema)
        self._slots = frozenset(schema.slots if schema is not None else multiwoz_slots())
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

    def prediction(
        self, dialogue: str, turn: int, where: str, predicted: Iterable[str], gold: Iterable[str] | None
    ) -> Prediction:
        """A turn of which both states are such lists, gold perhaps not there."""
        accepted = None if gold is None else checks.accepted(self.state(gold, where))
        return Prediction(dialogue, turn, self.state(predicted, where), gold=accepted)

    def _split(self, belief: str, where: str) -> tuple[str, str]:
        parts = belief.split("-")
        if len(parts) < 3:
            raise PredictionError(f"{belief!r} is not domain-slot-value", where=where, fix="write the whole belief")
        readings = [
            (self._names(parts[0], "-".join(parts[1:cut])), "-".join(parts[cut:])) for cut in range(2, len(parts))
        ]
        return next((reading for reading in readings if reading[0] in self._slots), readings[0])
