"""Tables: a row a value, a row a turn with its state in one cell, or a row a turn with a column for each slot."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.flat import DIALOGUE, STATE, TURN, UTTERANCE, States, key_of
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_DELIMITERS = (",", "\t", ";")
_SLOT, _VALUE, _SERVICE = ("slot", "slotname"), ("value", "slotvalue"), ("service", "domain")
_HEADER = ("dialogue", "turn", "slot", "value")


class _Layout(NamedTuple):
    """Which column holds what; empty where there is none."""

    delimiter: str
    columns: list[str]
    dialogue: str
    turn: str
    state: str
    slot: str
    value: str
    service: str
    utterance: str
    slots: list[str]


class CsvTable(Format):
    """A table, parted by commas, tabs or semicolons, with columns for dialogue, turn, and slot and value or a state."""

    name = "csv"

    @classmethod
    def matches(cls, source: Source) -> bool:
        shape = shape_of(source)
        return shape.kind == "other" and _layout(shape.head.partition("\n")[0]) is not None

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        states, names, turns = States(schema), SlotNames(schema), checks.Turns()
        for file in data_files(source):
            found: dict[tuple[str, int], Prediction] = {}
            layout, rows = _rows(file)
            for where, row in rows:
                dialogue = checks.dialogue_id(row[layout.dialogue], where)
                turn = checks.turn_number(row[layout.turn].strip(), place(where, dialogue))
                here = place(where, dialogue, turn)
                if (dialogue, turn) not in found:
                    turns.add(dialogue, turn, where)
                    said = row[layout.utterance] if layout.utterance else None
                    found[dialogue, turn] = Prediction(dialogue, turn, {}, utterance=said)
                elif not layout.slot:
                    turns.add(dialogue, turn, where)
                for slot, value in _values(row, layout, states, names, here):
                    checks.put(found[dialogue, turn].state, slot, value, here)
            if not found:
                raise PredictionError("there is no row", where=file.label, fix="check that the tracker wrote it all")
            yield from found.values()

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


def _layout(header: str) -> _Layout | None:
    """What a header names; None where it is not that of a table of predictions."""
    for delimiter in _DELIMITERS:
        try:
            columns = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            return None
        dialogue, turn, state, slot, value, service, utterance = (
            key_of(columns, names) or "" for names in (DIALOGUE, TURN, STATE, _SLOT, _VALUE, _SERVICE, UTTERANCE)
        )
        slots = [column for column in columns if "-" in column and column not in (dialogue, turn)]
        paired = bool(slot and value)
        if dialogue and turn and (state or paired or slots):
            if paired:
                return _Layout(delimiter, columns, dialogue, turn, "", slot, value, service, utterance, [])
            return _Layout(delimiter, columns, dialogue, turn, state, "", "", "", utterance, [] if state else slots)
    return None


def _values(
    row: dict[str, str], layout: _Layout, states: States, names: SlotNames, where: str
) -> Iterator[tuple[str, str]]:
    if layout.state:
        yield from states.read(row[layout.state], where).items()
        return
    given = [(slot, row[slot]) for slot in layout.slots]
    if layout.slot:
        service = row[layout.service].strip() if layout.service else ""
        given = [(f"{service}-{row[layout.slot].strip()}" if service else row[layout.slot].strip(), row[layout.value])]
    yield from ((checks.settled(slot, names, where), value) for slot, value in given if value)


def _rows(file: SourceFile) -> tuple[_Layout, Iterator[tuple[str, dict[str, str]]]]:
    lines = _lines(file)
    header = next(lines, "")
    layout = _layout(header.rstrip("\r\n"))
    if layout is None:
        raise PredictionError(
            f"the first line is not a header of predictions: {header[:80]!r}",
            where=file.label,
            fix="name the columns dialogue, turn, slot and value",
        )
    if doubled := next((column for column in layout.columns if layout.columns.count(column) > 1), None):
        raise PredictionError(f"the column {doubled!r} is there twice", where=file.label, fix="keep one")
    return layout, _cells(csv.reader(lines, delimiter=layout.delimiter, strict=True), layout, file.label)


def _cells(rows: Iterator[list[str]], layout: _Layout, label: str) -> Iterator[tuple[str, dict[str, str]]]:
    number = 1
    while True:
        number += 1
        where = f"{label}, row {number}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise PredictionError(f"not a row of a table: {error}", where=where) from None
        if row is None:
            return
        if row and len(row) != len(layout.columns):
            raise PredictionError(f"{len(row)} cells under {len(layout.columns)} columns", where=where)
        if row:
            yield where, dict(zip(layout.columns, row, strict=True))


def _lines(file: SourceFile) -> Iterator[str]:
    for number, line in enumerate(file.lines(), start=1):
        try:
            yield (line.removeprefix(BOM_UTF8) if number == 1 else line).decode()
        except UnicodeDecodeError:
            raise PredictionError(
                "not UTF-8 text", where=f"{file.label}, line {number}", fix="write the file again as UTF-8"
            ) from None
