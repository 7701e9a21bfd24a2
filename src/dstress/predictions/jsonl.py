"""dstress's own prediction format: one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from dstress.dialogue import Schema
from dstress.errors import UNREADABLE_JSON, PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_STRICT = msgspec.json.Decoder(Prediction)
_LOOSE = msgspec.json.Decoder(dict[str, object])


class Jsonl(Format):
    """JSON lines {"dialogue", "turn", "state": {slot id: value}, ...}, one a turn."""

    name = "dstress"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        return {"dialogue", "turn", "state"} <= shape_of(source).members.keys()

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns = SlotNames(schema), checks.Turns()
        for where, line in checks.lines(source):
            record = _prediction(line, where)
            dialogue, _, here = turns.locate(record.dialogue, record.turn, where)
            state: dict[str, str] = {}
            for slot, value in record.state.items():
                checks.put(state, checks.settled(slot, names, here), value, here)
            gold = record.gold and {checks.settled(slot, names, here): forms for slot, forms in record.gold.items()}
            yield msgspec.structs.replace(record, dialogue=dialogue, state=state, gold=gold)

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        encoder, buffer = msgspec.json.Encoder(), bytearray()
        with replacing(path) as out:
            for prediction in predictions:
                encoder.encode_into(prediction, buffer)
                buffer += b"\n"
                out.write(buffer)


def _prediction(line: bytes, where: str) -> Prediction:
    """Decode strictly; only a line that does not fit is looked at closer, for numbers and nulls among its values."""
    try:
        return _STRICT.decode(line)
    except msgspec.ValidationError:
        record = checks.decode(line, _LOOSE, where)
    except UNREADABLE_JSON as error:
        checks.refuse(error, line, where)
    state = record.get("state")
    if isinstance(state, dict):
        here = place(where, str(record.get("dialogue", "")), None) + f", turn {record.get('turn')}"
        texts = {slot: checks.text_of(value, slot, here) for slot, value in state.items()}
        record["state"] = {slot: text for slot, text in texts.items() if text is not None}
    try:
        return msgspec.convert(record, Prediction)
    except msgspec.ValidationError as error:
        raise PredictionError(f"{error}", where=where, fix="see the format dstress in docs/predictions.md") from None
