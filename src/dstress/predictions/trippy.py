"""The prediction files of TripPy, and of DialoGLUE's copy of it: a class, a value and gold for every slot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_ITEM = msgspec.json.Decoder(dict[str, msgspec.Raw])
_GUID = msgspec.json.Decoder(list[str] | str)
_TEXT = msgspec.json.Decoder(str)
_CLASS = msgspec.json.Decoder(int)
_NONE, _COPY = 0, 2
_PREDICTED, _GOLD, _KIND = "slot_prediction_", "slot_groundtruth_", "class_prediction_"
_MARK = "§§"
_GLUED = re.compile(r"(?<=\d) : (?=\d)|(?<=\w) ' (?=s\b)")
_TRUTH = {
    "hotel-internet": {"true": "yes", "false": "no"},
    "hotel-parking": {"true": "yes", "false": "no"},
    "hotel-type": {"true": "hotel", "false": "guest house"},
}


class _Value(NamedTuple):
    """A slot's value, and the turn in which it was taken over, if it was."""

    text: str
    taken: int | None


class Trippy(Format):
    """[{"guid": ["test", DIALOGUE, TURN], "class_prediction_S", "slot_prediction_S", "slot_groundtruth_S", ...}].

    The state is what TripPy's script replays: class `none` keeps the slot's earlier value, and so does a reference to
    a slot without one. Word pieces are put together again, and TripPy's true and false become MultiWOZ's words.
    """

    name = "trippy"
    convention = "trippy"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        item = shape_of(source).item
        return "guid" in item and any(key.startswith(_PREDICTED) for key in item)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns = SlotNames(schema), checks.Turns()
        before = ""
        state: dict[str, _Value] = {}
        for where, raw in checks.items(data_files(source)):
            item = checks.decode(raw, _ITEM, where)
            guid = checks.decode(item.get("guid", msgspec.Raw(b"null")), _GUID, f"{where}, guid")
            pieces = guid.split("-") if isinstance(guid, str) else guid  # `test-DIALOGUE-TURN`, whole or in pieces
            if len(pieces) < 3:
                raise PredictionError(f"the guid {guid!r} is not SPLIT-DIALOGUE-TURN", where=where)
            dialogue, turn, here = turns.locate("-".join(pieces[1:-1]), pieces[-1], where)
            if turn == 0 or dialogue != before:
                before, state = dialogue, {}
            gold: dict[str, str] = {}
            for key, value in item.items():
                if key.startswith(_PREDICTED):
                    _update(state, key.removeprefix(_PREDICTED), item, turn, here)
                elif key.startswith(_GOLD):
                    gold[key.removeprefix(_GOLD)] = checks.decode(value, _TEXT, f"{here}, {key}")
            settled = {slot: names.split(slot) if "-" in slot else slot for slot in (*state, *gold)}
            yield Prediction(
                dialogue,
                turn,
                {settled[slot]: _plain(value.text, settled[slot]) for slot, value in state.items()},
                gold={settled[s]: (_plain(value, settled[s]),) for s, value in gold.items() if value != "none"},
                informed={settled[slot]: value.taken for slot, value in state.items() if value.taken is not None},
            )


def _update(state: dict[str, _Value], slot: str, item: dict[str, msgspec.Raw], turn: int, where: str) -> None:
    kind = item.get(_KIND + slot)
    chosen = _COPY if kind is None else checks.decode(kind, _CLASS, f"{where}, {_KIND}{slot}")
    if chosen == _NONE:
        return
    value = checks.decode(item[_PREDICTED + slot], _TEXT, f"{where}, {_PREDICTED}{slot}")
    if value.removeprefix(_MARK).strip() != "none":
        state[slot] = _Value(value, turn if value.startswith(_MARK) else None)
    elif chosen == _COPY:
        state.pop(slot, None)


def _plain(value: str, slot: str) -> str:
    """The value without marks and the seams of the tokeniser."""
    text = value.removeprefix(_MARK)
    if "\u0120" in text:
        text = text.replace(" ", "").replace("\u0120", " ")
    text = _GLUED.sub(lambda seam: seam[0].strip(), text.strip())
    return _TRUTH.get(slot, {}).get(text, text)
