"""Tables: a row a value, a row a turn with its state in one cell, or a row a turn with a column for each slot."""

from __future__ import annotations

import csv
import io
import math
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.columns import Names, States, key_of
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_DELIMITERS = (",", "\t", ";")
_PARQUET = "PAR1"
_SLOT, _VALUE, _SERVICE = ("slot", "slotname"), ("value", "slotvalue"), ("service", "domain")
_HEADER = ("dialogue", "turn", "slot", "value")


class _Layout(NamedTuple):
    """Which column holds what; empty where there is none."""

    dialogue: str
    turn: str
    state: str
    slot: str
    value: str
    service: str
    utterance: str
    slots: list[str]


class _Table(NamedTuple):
    """A header, and the rows under it with their places."""

    columns: list[str]
    rows: Iterable[tuple[str, dict[str, str]]]


class CsvTable(Format):
    """A table (CSV, TSV, Parquet) with columns for dialogue, turn, and slot and value, a state, or one for each slot.

    The arguments say how the file calls its columns, as in `csv(dialogue=conv_id)`.
    """

    name = "csv"

    def __init__(
        self, dialogue: str = "", turn: str = "", state: str = "", gold: str = "", utterance: str = ""
    ) -> None:
        self.names = Names(dialogue, turn, state, gold, utterance)

    @classmethod
    def matches(cls, source: Source) -> bool:
        shape = shape_of(source)
        header = shape.head.partition("\n")[0]
        columns = [_split(header, delimiter) for delimiter in _DELIMITERS]
        is_text = shape.kind == "other" and any(_layout(each, Names()) for each in columns)
        return is_text or shape.head.startswith(_PARQUET)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        turns = checks.Turns()
        for file in data_files(source):
            is_parquet = file.head().startswith(_PARQUET.encode())
            table = _read_parquet(file) if is_parquet else _rows(file, self.names)
            yield from read_table(table, self.names, file.label, schema, turns)

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer)
        with replacing(path) as out:
            writer.writerow(_HEADER)
            for prediction in predictions:
                for slot, value in prediction.state.items() or [("", "")]:
                    if slot and not value:
                        raise PredictionError(
                            f"the empty value of the slot {slot!r} cannot be written: an empty cell is no value",
                            where=place(path, prediction.dialogue, prediction.turn),
                            fix="write dstress, which holds any value",
                        )
                    writer.writerow((prediction.dialogue, prediction.turn, slot, value))
                out.write(buffer.getvalue().encode())
                buffer.seek(0)
                buffer.truncate()
            out.write(buffer.getvalue().encode())


def read_table(
    table: _Table, columns: Names, label: str, schema: Schema | None, turns: checks.Turns
) -> Iterator[Prediction]:
    """The predictions of a table. `turns` are those that were read before."""
    states, names = States(schema), SlotNames(schema)
    predictions: dict[tuple[str, int], Prediction] = {}
    layout = _layout(table.columns, columns)
    if layout is None:
        missing = next(name for name in ("dialogue", "turn", "state") if columns.key(table.columns, name) is None)
        raise columns.missing(table.columns, missing, "the table", label)
    for where, row in table.rows:
        dialogue = checks.dialogue_id(row[layout.dialogue], where)
        turn = checks.turn_number(row[layout.turn].strip(), place(where, dialogue))
        here = place(where, dialogue, turn)
        if (dialogue, turn) not in predictions:
            utterance = row[layout.utterance] if layout.utterance else None
            predictions[dialogue, turn] = Prediction(dialogue, turn, {}, utterance=utterance)
            turns.add(dialogue, turn, where)
        elif not layout.slot:  # a turn has several rows only where each holds one value
            turns.add(dialogue, turn, where)
        for slot, value in _values(row, layout, states, names, here):
            checks.put(predictions[dialogue, turn].state, slot, value, here)
    if not predictions:
        raise PredictionError("there is no row", where=label, fix="check that the tracker wrote it all")
    yield from predictions.values()


def frame_table(frame: Any, label: str) -> _Table:
    """A pandas frame as a table of texts: a cell that holds a state becomes JSON, one without a value is empty."""
    columns = [str(column) for column in frame.columns]
    rows = (
        (f"{label}, row {number}", dict(zip(columns, map(_cell, row), strict=True)))
        for number, row in enumerate(frame.itertuples(index=False, name=None))
    )
    return _Table(columns, rows)


def _read_parquet(file: SourceFile) -> _Table:
    try:
        import pandas

        return frame_table(pandas.read_parquet(io.BytesIO(file.read())), file.label)
    except ImportError:
        fix = "pip install pandas pyarrow, or write the table as CSV"
        raise PredictionError("Parquet is read by pandas and pyarrow", where=file.label, fix=fix) from None
    except (ValueError, OSError) as error:
        raise PredictionError(f"no whole Parquet file: {error}", where=file.label) from None


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):  # Parquet gives every row all keys that any row has
        value = {key: inner for key, inner in value.items() if inner is not None}
    elif hasattr(value, "tolist"):  # a number or an array of numpy
        value = value.tolist()
    if value is None or str(value) in ("<NA>", "NaT") or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(value, enc_hook=lambda inner: inner.tolist()).decode()
    return str(value)


def _split(header: str, delimiter: str) -> list[str]:
    """The columns that a header names; none where it is not that of a table."""
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:
        return []


def _layout(columns: list[str], names: Names) -> _Layout | None:
    """What columns hold; None where they are not those of a table of predictions."""
    dialogue, turn, state, utterance = (
        names.key(columns, name) or "" for name in ("dialogue", "turn", "state", "utterance")
    )
    slot, value, service = (key_of(columns, spellings) or "" for spellings in (_SLOT, _VALUE, _SERVICE))
    slots = [column for column in columns if "-" in column and column not in (dialogue, turn)]
    if dialogue and turn and slot and value and not names.state:
        return _Layout(dialogue, turn, "", slot, value, service, utterance, [])
    if dialogue and turn and (state or slots):
        return _Layout(dialogue, turn, state, "", "", "", utterance, [] if state else slots)
    return None


def _values(
    row: dict[str, str], layout: _Layout, states: States, names: SlotNames, where: str
) -> Iterator[tuple[str, str]]:
    if layout.state:
        yield from states.read(row[layout.state], where).items()
        return
    cells = [(slot, row[slot]) for slot in layout.slots]
    if layout.slot:
        service, slot = row[layout.service].strip() if layout.service else "", row[layout.slot].strip()
        cells = [(f"{service}-{slot}" if service else slot, row[layout.value])]
    yield from ((checks.settled(slot, names, where), value) for slot, value in cells if value)


def _rows(file: SourceFile, names: Names) -> _Table:
    """What the header says, and the rows under it with their places."""

    def lines() -> Iterator[str]:
        for number, line in enumerate(file.lines(), start=1):
            try:
                yield (line.removeprefix(BOM_UTF8) if number == 1 else line).decode()
            except UnicodeDecodeError:
                raise PredictionError(
                    "not UTF-8 text", where=f"{file.label}, line {number}", fix="write the file again as UTF-8"
                ) from None

    text = lines()
    header = next(text, "")
    split = {delimiter: _split(header.rstrip("\r\n"), delimiter) for delimiter in _DELIMITERS}
    fitting = (delimiter for delimiter, columns in split.items() if _layout(columns, names))
    # Of a header that does not fit, the most columns are what was meant.
    delimiter = next(fitting, "") or max(split, key=lambda delimiter: len(split[delimiter]))
    columns = split[delimiter]
    if doubled := next((column for column in columns if columns.count(column) > 1), None):
        raise PredictionError(f"the column {doubled!r} is there twice", where=file.label, fix="keep one")

    def rows() -> Iterator[tuple[str, dict[str, str]]]:
        where = f"{file.label}, row 2"
        try:
            for number, row in enumerate(csv.reader(text, delimiter=delimiter, strict=True), start=2):
                where = f"{file.label}, row {number}"
                if row and len(row) != len(columns):
                    raise PredictionError(f"{len(row)} cells under {len(columns)} columns", where=where)
                if row:
                    yield where, dict(zip(columns, row, strict=True))
                where = f"{file.label}, row {number + 1}"
        except csv.Error as error:
            raise PredictionError(f"not a row of a table: {error}", where=where) from None

    return _Table(columns, rows())
