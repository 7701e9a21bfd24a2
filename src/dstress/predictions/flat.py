"""Flat records, a line, an item or a row a turn, with ids and a state under whatever names a person gave them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.checkdst import CheckDst
from dstress.predictions.columns import DIALOGUE, STATE, TURN, Names, States, key_of
from dstress.predictions.convlab import ConvLab
from dstress.predictions.csv_table import CsvTable
from dstress.predictions.icdst import IcDst
from dstress.predictions.jsonl import Jsonl
from dstress.predictions.shape import Shape, data_files, shape_of
from dstress.storage.sources import Source

_RECORD = msgspec.json.Decoder(dict[str, object])
_TAKEN: tuple[type[Format], ...] = (Jsonl, CheckDst, ConvLab, IcDst)


class Flat(Format):
    """JSON lines or an array of {"dialogue_id", "turn_id", "state"}, in any spelling of these and of the state.

    The arguments say how a file calls them, as in `flat(dialogue=conv_id, turn=index)`. The array may be under a key;
    a file that is no JSON is read as a table (`csv`).
    """

    name = "flat"
    carries_gold = True

    def __init__(
        self, dialogue: str = "", turn: str = "", state: str = "", gold: str = "", utterance: str = ""
    ) -> None:
        self.names = Names(dialogue, turn, state, gold, utterance)

    @classmethod
    def matches(cls, source: Source) -> bool:
        shape = shape_of(source)
        record = shape.members or shape.item
        if wrapper := cls._wrapper(shape, Names()):
            record = shape.records[wrapper]
        keys = [key_of(record, names) for names in (DIALOGUE, TURN, STATE)]
        if None in keys or any(format.matches(source) for format in _TAKEN):
            return False
        dialogue, turn, state = (record[key] for key in keys if key is not None)
        return (
            isinstance(dialogue, str | int)
            and isinstance(turn, str | int)
            and (state is None or isinstance(state, dict | list | str))
        )

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        shape, names = shape_of(source), self.names
        if shape.kind == "other":
            yield from CsvTable(*names).read(source, schema)
            return
        states, turns = States(schema), checks.Turns()
        wrapper = self._wrapper(shape, names)
        if not wrapper and names.key(shape.members, "dialogue") is None:
            wrapper = next(iter(shape.records), "")  # whose records then say what they lack
        is_array = shape.kind == "array" or bool(wrapper)
        records: Iterator[tuple[str, bytes | msgspec.Raw]]
        records = checks.items(data_files(source), wrapper) if is_array else checks.lines(source)
        for where, raw in records:
            record = checks.decode(raw, _RECORD, where)
            name, number = (record[names.require(record, column, self.name, where)] for column in ("dialogue", "turn"))
            dialogue, turn, here = turns.locate(str(name), number, where)
            gold, utterance = names.key(record, "gold"), record.get(names.key(record, "utterance") or "")
            yield Prediction(
                dialogue,
                turn,
                states.read(record[names.require(record, "state", self.name, here)], here),
                gold=None if gold is None else states.gold(record[gold], here),
                utterance=utterance if isinstance(utterance, str) else None,
            )

    @staticmethod
    def _wrapper(shape: Shape, names: Names) -> str:
        """The key under which an object has its records; empty where it has none."""
        columns = ("dialogue", "turn", "state")
        wrapped = (key for key, record in shape.records.items() if all(names.key(record, name) for name in columns))
        return next(wrapped, "")
