"""Columns under one convention: which cells match, and what each unit (turn or frame) has right, wrong, missed, extra.

Values are prepared and compared once per distinct (slot, gold, predicted), however often it occurs.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from dstress.conventions.base import Convention, without_gold
from dstress.dialogue import service_of
from dstress.scoring.alignment.columns import Booleans, Columns, Integers, Vocabulary

Floats = npt.NDArray[np.float64]


_CELL_COLUMNS = (
    *("unit", "turn", "frame", "slot", "row_start", "gold", "predicted", "similarity"),
    *("gold_form", "predicted_form", "gold_there", "predicted_there", "gold_value", "predicted_value"),
)
_GOLD_SHIFT, _SLOT_SHIFT, _MASK = 24, 48, (1 << 24) - 1
_UNIT_COLUMNS = ("columns", "convention", "unit_turn", "unit_service", "forms")


class Alignment:
    """Gold against prediction, cell by cell, judged by a convention.

    Cells are those of some unit. `gold` and `predicted` say which side fills the cell, `similarity` how right it is
    where both do; `gold_value` and `predicted_value` are the numbers of the values as they were given (0: none).
    `restricted` gives the part of some services.
    """

    def __init__(self, columns: Columns, convention: Convention) -> None:
        self.columns, self.convention = columns, convention
        self.services: frozenset[str] | None = None
        by_frame = convention.unit == "frame"
        self.unit_turn = columns.frame_turn if by_frame else np.arange(len(columns.turns))
        self.unit_service = columns.frame_service if by_frame else np.full(len(columns.turns), -1)
        # The cells that count: those of a unit, and of the schema and a gold frame where the convention says so.
        counts = np.ones(len(columns.slot), bool)
        if convention.within_schema or by_frame:
            counts &= columns.cell_frame >= 0
        if convention.within_schema:
            counts &= columns.in_schema[columns.slot]
        kept = np.flatnonzero(counts)
        self.unit = (columns.cell_frame if by_frame else columns.turn)[kept]
        self.turn = columns.turn[kept]
        self.frame = columns.cell_frame[kept]
        self.slot = columns.slot[kept]
        self._judge(kept)
        self._forget_ignored()

    def restricted(self, services: frozenset[str], slot: str = "") -> Alignment:
        """The same alignment with only the slots of some services, or one of them; units stay, so that statistics
        line up.
        """
        is_of_service = np.array([service in services for service in self.columns.services], bool)
        kept = is_of_service[self.columns.slot_service[self.slot]]
        if slot:
            kept &= self.slot == self.columns.slots.index(slot)
        part = object.__new__(Alignment)
        for name in _UNIT_COLUMNS:
            setattr(part, name, getattr(self, name))
        for name in _CELL_COLUMNS:
            setattr(part, name, getattr(self, name)[kept])
        part.services = services
        return part

    @property
    def units(self) -> int:
        """How many turns, or frames, there are."""
        return len(self.unit_turn)

    @property
    def unit_dialogue(self) -> Integers:
        """The dialogue of each unit."""
        return self.columns.turn_dialogue[self.unit_turn]

    def _judge(self, kept: Integers) -> None:
        """Runs of equal cells along a row are judged once, and equal runs once for all."""
        columns = self.columns
        row, gold, predicted = columns.row[kept], columns.gold[kept], columns.predicted[kept]
        self.gold_value, self.predicted_value = gold, predicted
        self.row_start = np.ones(len(kept), bool)
        self.row_start[1:] = row[1:] != row[:-1]
        run_start = self.row_start.copy()
        run_start[1:] |= (gold[1:] != gold[:-1]) | (predicted[1:] != predicted[:-1])
        run = np.cumsum(run_start) - 1
        first = np.flatnonzero(run_start)
        keys = (self.slot[first] << _SLOT_SHIFT) | (gold[first] << _GOLD_SHIFT) | predicted[first]
        distinct, which = np.unique(keys, return_inverse=True)
        # A convention's judge remembers what it has judged in earlier shards.
        judges = columns.vocabulary.judges
        if id(self.convention) not in judges:
            judges[id(self.convention)] = _Judge(columns.vocabulary, self.convention)
        judge: _Judge = judges[id(self.convention)]
        table = np.array(judge.verdicts(distinct.tolist()), np.float64).reshape(-1, 5)[which.ravel()][run]
        self.gold = table[:, 0] > 0
        self.predicted = table[:, 1] > 0
        self.similarity: Floats = np.ascontiguousarray(table[:, 2])
        self.gold_form = table[:, 3].astype(np.int64)
        self.predicted_form = table[:, 4].astype(np.int64)
        # Gold that lists `none` has no form from the start; a form that the convention takes away is silence.
        listed_empty = np.array([False, *(not forms for forms in columns.gold_values)], bool)
        self.gold_there = self.gold | listed_empty[gold]
        self.predicted_there = self.predicted | columns.predicted_empty[kept]
        self.forms = judge.forms

    def _forget_ignored(self) -> None:
        """Predicted slots that count for nothing beside this gold state (ConvLab)."""
        if type(self.convention).ignores is Convention.ignores:
            return
        gold_slots: dict[int, set[str]] = {}
        for unit, slot in zip(self.unit[self.gold].tolist(), self.slot[self.gold].tolist(), strict=True):
            gold_slots.setdefault(unit, set()).add(self.columns.slots[slot])
        for cell in np.flatnonzero(self.predicted & ~self.gold).tolist():
            slot = self.columns.slots[int(self.slot[cell])]
            listed = self.columns.predictions[int(self.turn[cell])].listed
            if self.convention.ignores(slot, gold_slots.get(int(self.unit[cell]), set()), listed):
                self.predicted[cell], self.predicted_there[cell], self.predicted_form[cell] = False, False, 0

    @cached_property
    def right(self) -> Booleans:
        """Both sides fill the cell, alike."""
        return np.asarray(self.gold & self.predicted & (self.similarity >= 1.0), bool)

    @cached_property
    def wrong(self) -> Booleans:
        """Both sides fill the cell, otherwise."""
        return np.asarray(self.gold & self.predicted & (self.similarity < 1.0), bool)

    @cached_property
    def missed(self) -> Booleans:
        """Only gold fills the cell."""
        return np.asarray(self.gold & ~self.predicted, bool)

    @cached_property
    def extra(self) -> Booleans:
        """Only the prediction fills the cell."""
        return np.asarray(self.predicted & ~self.gold, bool)

    def per_unit(self, cells: npt.NDArray[np.generic]) -> Floats:
        """Sums of a cell column by unit."""
        return np.asarray(np.bincount(self.unit, cells.astype(np.float64), self.units), np.float64)

    def by_unit(self, frames: Floats) -> Floats:
        """A table over gold frames as one over units: each turn has the sums of its frames."""
        if self.convention.unit == "frame":
            return frames
        turns = self.columns.frame_turn
        return np.column_stack([np.bincount(turns, column, self.units) for column in frames.T])

    def averaged(self, credit: npt.NDArray[np.generic], counted: npt.NDArray[np.generic]) -> Floats:
        """Statistics of a mean of credit / counted over units, or over frames where the script goes by frames."""
        by_frame = self.convention.within_schema
        groups, size = (self.frame, len(self.columns.frames)) if by_frame else (self.unit, self.units)
        part, whole = (np.bincount(groups, cells.astype(np.float64), size) for cells in (credit, counted))
        share = np.divide(part, whole, out=np.zeros(size), where=whole > 0)
        table = np.column_stack((share, whole > 0)).astype(np.float64)
        return self.by_unit(table) if by_frame else table

    @cached_property
    def joint(self) -> Floats:
        """Joint accuracy of each unit: the product of its gold slots' similarities, 0 with any extra slot."""
        return self.joint_over(np.ones(len(self.unit), bool))

    def joint_over(self, cells: Booleans) -> Floats:
        """Joint accuracy over some of the cells only (DSTC8's categorical and other slots)."""
        result = np.ones(self.units)
        spoiled = np.flatnonzero(cells & (self.wrong | self.missed | self.extra))
        np.multiply.at(result, self.unit[spoiled], np.where(self.wrong[spoiled], self.similarity[spoiled], 0.0))
        return result

    @cached_property
    def counts(self) -> dict[str, Floats]:
        """right, wrong, missed and extra slots of each unit, and the credit of near values (`similarity` summed)."""
        names = ("right", "wrong", "missed", "extra")
        counts = {name: self.per_unit(getattr(self, name)) for name in names}
        counts["credit"] = self.per_unit(np.where(self.gold & self.predicted, self.similarity, 0.0))
        return counts

    @cached_property
    def categorical(self) -> Booleans:
        """Whether each cell's slot is categorical."""
        kinds = np.array([kind.categorical for kind in self.columns.kinds], bool)
        return kinds[self.slot] if len(kinds) else np.zeros(0, bool)

    @cached_property
    def slots_of_unit(self) -> Floats:
        """K: how many slots the schema offers to each unit."""
        schema, columns = self.columns.schema, self.columns
        if self.convention.unit == "turn":
            offered = [s for s in schema.slots if self.services is None or service_of(s) in self.services]
            return np.full(self.units, float(len(offered)))
        sizes = {service.name: float(len(service.slots)) for service in schema.services}
        return np.array([sizes.get(service, 0.0) for service in columns.services])[self.unit_service]

    @cached_property
    def gold_known(self) -> Booleans:
        """Gold has filled the slot by now, in this turn or before."""
        return self._ever(self.gold_there)

    @cached_property
    def predicted_known(self) -> Booleans:
        """The prediction has filled the slot by now."""
        return self._ever(self.predicted_there)

    def _ever(self, filled: Booleans) -> Booleans:
        total = np.cumsum(filled)
        before_row = np.where(self.row_start, total - filled, 0)
        return np.asarray(total > np.maximum.accumulate(before_row), bool)

    @cached_property
    def gold_changed(self) -> Booleans:
        """Gold says something new here: another value, or none any more. Other forms of one value are no change."""
        return self._changed(self.gold_form, self.gold_known)

    @cached_property
    def predicted_changed(self) -> Booleans:
        """The prediction says something new here."""
        return self._changed(self.predicted_form, self.predicted_known)

    def _changed(self, form: Integers, filled: Booleans) -> Booleans:
        """A slot's first value is new; from then on, whatever shares no form with the turn before, silence included."""
        changed = filled.copy()
        changed[1:] &= self.row_start[1:] | ~filled[:-1]
        moved = np.flatnonzero((form[1:] != form[:-1]) & ~self.row_start[1:]) + 1
        pairs = zip(form[moved - 1].tolist(), form[moved].tolist(), strict=True)
        changed[moved] = [self.forms[before].isdisjoint(self.forms[after]) for before, after in pairs]
        return changed


Verdict = tuple[bool, bool, float, int, int]
"""Filled by gold, by the prediction, how similar, and the numbers of the two forms."""


class _Judge:
    """Prepares and compares values under a convention, each distinct one once."""

    def __init__(self, vocabulary: Vocabulary, convention: Convention) -> None:
        self.vocabulary, self.convention = vocabulary, convention
        self.forms: list[frozenset[str]] = [frozenset()]
        self._numbers: dict[frozenset[str], int] = {frozenset(): 0}
        self._accepted, self._value = cache(self._read_gold), cache(self._read_predicted)
        self._verdicts: dict[int, Verdict] = {}

    def verdicts(self, keys: list[int]) -> list[Verdict]:
        """What is to be said of each (slot, gold, predicted), coded as one number."""
        verdicts = self._verdicts
        for key in keys:
            if key not in verdicts:
                verdicts[key] = self._judged(key >> _SLOT_SHIFT, key >> _GOLD_SHIFT & _MASK, key & _MASK)
        return [verdicts[key] for key in keys]

    def _judged(self, slot: int, gold: int, predicted: int) -> Verdict:
        accepted, gold_form = self._accepted(slot, gold)
        value, form = self._value(slot, predicted)
        similarity = 0.0
        if accepted and value is not None:
            name = self.vocabulary.slots.things[slot]
            similarity = self.convention.similarity(name, accepted, value, self.vocabulary.kind(slot))
        return bool(accepted), value is not None, similarity, gold_form, form

    def _read_gold(self, slot: int, number: int) -> tuple[tuple[str, ...], int]:
        things = self.vocabulary.gold_values.things
        accepted = self.convention.gold(self.vocabulary.slots.things[slot], things[number - 1]) if number else ()
        return accepted, self._form(frozenset(accepted))

    def _read_predicted(self, slot: int, number: int) -> tuple[str | None, int]:
        if not number:
            return None, 0
        raw = self.vocabulary.predicted_values.things[number - 1]
        shown = raw if self.convention.reads_informed else without_gold(raw)
        value = self.convention.predicted(self.vocabulary.slots.things[slot], shown)
        return value, self._form(frozenset() if value is None else frozenset((value,)))

    def _form(self, forms: frozenset[str]) -> int:
        if forms not in self._numbers:
            self._numbers[forms] = len(self.forms)
            self.forms.append(forms)
        return self._numbers[forms]
