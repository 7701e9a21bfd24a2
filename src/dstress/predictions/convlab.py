"""ConvLab-3's prediction files in its unified format: samples with gold `state` and `predictions.state`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_ABSENT = frozenset(("",))


class _Predicted(msgspec.Struct, gc=False):
    state: dict[str, dict[str, object]]


class _Sample(msgspec.Struct, gc=False):
    dialogue_id: str
    predictions: _Predicted
    state: dict[str, dict[str, object]] | None = None
    speaker: str = "user"
    utterance: str | None = None
    utt_idx: int | None = None
    turn_id: int | str | None = None


class ConvLab(Format):
    """[{"dialogue_id", "utt_idx", "state": {domain: {slot: value}}, "predictions": {"state": ...}}].

    An empty text is no value, but a gold slot with one is `listed`: ConvLab's script looks at no other slots.
    Alternatives, joined by `|`, are all accepted forms of gold; a prediction stays whole.
    """

    name = "convlab"
    convention = "convlab"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        item = shape_of(source).item
        predictions = item.get("predictions")
        return "dialogue_id" in item and isinstance(predictions, dict) and "state" in predictions

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns, passed = SlotNames(schema), checks.Turns(), Counter[str]()
        sample = msgspec.json.Decoder(_Sample)
        for where, raw in checks.items(data_files(source)):
            record = checks.decode(raw, sample, where)
            if record.speaker != "user":
                continue
            # `turn_id` counts user turns, `utt_idx` all utterances; without either, the order in the file counts.
            number: int | str = passed[record.dialogue_id]
            if record.turn_id is not None:
                number = record.turn_id
            elif record.utt_idx is not None:
                number = record.utt_idx // 2
            passed[record.dialogue_id] += 1
            dialogue, turn, here = turns.locate(record.dialogue_id, number, where)
            gold, listed = None, None
            if record.state is not None:
                listed = tuple(names(domain, slot) for domain, slots in record.state.items() for slot in slots)
                labels = checks.flat(record.state, names, here, _ABSENT)
                gold = {slot: tuple(text.split("|")) for slot, text in labels.items()}
            state = checks.flat(record.predictions.state, names, here, _ABSENT)
            yield Prediction(dialogue, turn, state, gold=gold, utterance=record.utterance, listed=listed)
