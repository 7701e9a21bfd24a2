"""Gold and predicted states side by side, in columns: gathered once, read by every convention and metric.

A *cell* is one slot in one turn; a *row* is one slot through one dialogue, for every slot that either side ever fills
there. Cells lie row after row, turn after turn, so "what changed since the turn before" is the cell before. Slots and
values are numbers; 0 stands for "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dstress.conventions.base import INFORMED
from dstress.dialogue import Dialogue, Frame, Schema, Slot, Turn, service_of
from dstress.predictions.base import FramePrediction, Prediction

if TYPE_CHECKING:  # reports read columns, and need nothing that makes corpora
    from dstress.corpora.database import Database

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)

_SLOT_SHIFT = 24
_TURN_SHIFT = 44
_VALUE_MASK = (1 << _SLOT_SHIFT) - 1
_SLOT_MASK = (1 << (_TURN_SHIFT - _SLOT_SHIFT)) - 1


class Interned(dict[K, int], Generic[K]):
    """Numbers for things, from 1, in the order in which they were first seen; `things` has them in that order."""

    def __init__(self, things: Iterable[K] = ()) -> None:
        self.things: list[K] = []
        for thing in things:
            self[thing]

    def __missing__(self, key: K) -> int:
        self.things.append(key)
        self[key] = number = len(self) + 1
        return number


class Vocabulary:
    """The numbers of slots, services and values. Shards of one scoring share it: what is judged stays judged."""

    def __init__(self, schema: Schema, open_database: Callable[[], Database | None] = lambda: None) -> None:
        self.schema, self.open_database = schema, open_database
        self.slots: Interned[str] = Interned(schema.slots)
        self.services: Interned[str] = Interned(service.name for service in schema.services)
        self.gold_values: Interned[tuple[str, ...]] = Interned()
        self.predicted_values: Interned[str] = Interned()
        self.judges: dict[int, Any] = {}
        """What conventions have said of values so far, by the convention's identity."""
        self.memo: dict[Hashable, Any] = {}
        """What metrics worked out once, for all shards."""

    def kind(self, slot: int) -> Slot:
        """The schema's entry for a slot, by its number from 0."""
        return self.schema.slots.get(self.slots.things[slot], Slot(""))

    @property
    def size(self) -> int:
        """How many values it holds: a long stream starts a new one now and then."""
        return len(self.gold_values) + len(self.predicted_values)


class FramePair:
    """A gold frame and its prediction, with the utterance that their spans point into."""

    __slots__ = ("gold", "predicted", "utterance")

    def __init__(self, gold: Frame, predicted: FramePrediction | None, utterance: str) -> None:
        self.gold, self.predicted, self.utterance = gold, predicted, utterance


class Columns:
    """The gathered columns. Everything here is independent of conventions."""

    def __init__(self, gatherer: Gatherer) -> None:
        self.vocabulary = vocabulary = gatherer.vocabulary
        self.schema = vocabulary.schema
        self.slots = vocabulary.slots.things.copy()
        self.kinds = [vocabulary.kind(slot) for slot in range(len(self.slots))]
        known = self.schema.slots.keys() | self.schema.requestable
        self.in_schema = np.array([slot in known for slot in self.slots], bool)
        self.services = vocabulary.services.things.copy()
        self.gold_values = vocabulary.gold_values.things
        self.predicted_values = vocabulary.predicted_values.things
        self.dialogues = [dialogue.id for dialogue in gatherer.dialogues]
        self.gold_dialogues = gatherer.dialogues
        self.turn_counts = np.array(gatherer.turn_counts, np.int64)
        self.turns = gatherer.turns
        self.predictions = gatherer.predictions
        self.frames = gatherer.frames
        self.memo: dict[Hashable, Any] = {}
        """What metrics worked out of these columns once, for whoever asks again."""
        self._build(gatherer)

    def _build(self, gatherer: Gatherer) -> None:
        counts = self.turn_counts
        self.turn_dialogue = np.repeat(np.arange(len(counts)), counts)
        first_turn = np.concatenate(([0], np.cumsum(counts)))[:-1]
        self.turn_index = np.arange(counts.sum()) - np.repeat(first_turn, counts)
        gold, predicted = (np.array(codes, np.int64) for codes in (gatherer.gold_codes, gatherer.predicted_codes))
        filled = np.zeros(len(counts) * (len(self.slots) + 1), bool)
        keys = [self._row_key(codes) for codes in (gold, predicted)]
        for key in keys:
            filled[key] = True
        rows = np.flatnonzero(filled)
        row_dialogue, row_slot = np.divmod(rows, len(self.slots) + 1)
        lengths = counts[row_dialogue]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        row_of_key = np.cumsum(filled) - 1
        self.row = np.repeat(np.arange(len(rows)), lengths)
        self.slot = np.repeat(row_slot, lengths) - 1
        self.turn = np.arange(starts[-1]) - np.repeat(starts[:-1] - first_turn[row_dialogue], lengths)
        self.gold = np.zeros(starts[-1], np.int64)
        self.predicted = np.zeros(starts[-1], np.int64)
        for column, codes, key in ((self.gold, gold, keys[0]), (self.predicted, predicted, keys[1])):
            turn = codes >> _TURN_SHIFT
            column[starts[row_of_key[key]] + self.turn_index[turn]] = codes & _VALUE_MASK
        # A prediction that says `none` has a code without a value.
        emptied = predicted & _VALUE_MASK == 0
        self.predicted_empty = np.zeros(starts[-1], bool)
        turn = predicted[emptied] >> _TURN_SHIFT
        self.predicted_empty[starts[row_of_key[keys[1][emptied]]] + self.turn_index[turn]] = True

    def _row_key(self, codes: Integers) -> Integers:
        slot = (codes >> _SLOT_SHIFT) & _SLOT_MASK
        return np.asarray(self.turn_dialogue[codes >> _TURN_SHIFT] * (len(self.slots) + 1) + slot, np.int64)

    @cached_property
    def slot_service(self) -> Integers:
        """The number of each slot's service, from 0."""
        numbers = {service: number for number, service in enumerate(self.services)}
        return np.array([numbers[service_of(slot)] for slot in self.slots], np.int64)

    @cached_property
    def frame_turn(self) -> Integers:
        """The turn of each gold frame."""
        return np.repeat(np.arange(len(self.turns)), [len(turn.frames) for turn in self.turns])

    @cached_property
    def frame_service(self) -> Integers:
        """The service of each gold frame."""
        numbers = {service: number for number, service in enumerate(self.services)}
        return np.array([numbers[pair.gold.service] for pair in self.frames], np.int64)

    @cached_property
    def cell_frame(self) -> Integers:
        """The gold frame that each cell belongs to: its turn's frame of its slot's service; -1 where there is none."""
        grid = np.full((len(self.turns), max(1, len(self.services))), -1, np.int64)
        grid[self.frame_turn, self.frame_service] = np.arange(len(self.frames))
        return grid[self.turn, self.slot_service[self.slot]] if len(self.slot) else np.zeros(0, np.int64)


class Gatherer:
    """Takes dialogues with their predictions, one after the other, and lays them out as columns."""

    def __init__(self, schema: Schema, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary(schema)
        self.dialogues: list[Dialogue] = []
        self.turn_counts: list[int] = []
        self.turns: list[Turn] = []
        self.predictions: list[Prediction] = []
        self.frames: list[FramePair] = []
        self.gold_codes: list[int] = []
        self.predicted_codes: list[int] = []

    def add(self, dialogue: Dialogue, predictions: list[Prediction]) -> None:
        """One dialogue with a prediction for each of its turns, in order."""
        slots = self.vocabulary.slots
        gold_values, predicted_values = self.vocabulary.gold_values, self.vocabulary.predicted_values
        for turn, prediction in zip(dialogue.turns, predictions, strict=True):
            base = len(self.turns) << _TURN_SHIFT
            self.gold_codes += [base | slots[s] << _SLOT_SHIFT | gold_values[v] for s, v in turn.state.items()]
            state = prediction.state if not prediction.informed else _marked(prediction, dialogue)
            self.predicted_codes += [base | slots[s] << _SLOT_SHIFT | predicted_values[v] for s, v in state.items()]
            self.predicted_codes += [base | slots[s] << _SLOT_SHIFT for s in prediction.emptied if s not in state]
            self.turns.append(turn)
            self.predictions.append(prediction)
            for frame in turn.frames:
                self.frames.append(FramePair(frame, _frame_of(prediction, frame.service), turn.user))
        self.dialogues.append(dialogue)
        self.turn_counts.append(len(dialogue.turns))

    def columns(self) -> Columns:
        """What was gathered, as columns."""
        services = self.vocabulary.services
        for slot in self.vocabulary.slots:
            services[service_of(slot)]
        for pair in self.frames:
            services[pair.gold.service]
        return Columns(self)


def _marked(prediction: Prediction, dialogue: Dialogue) -> dict[str, str]:
    """The predicted state, in which a value that was taken over carries the gold of that turn."""
    state = dict(prediction.state)
    for slot, turn in prediction.informed.items():
        if slot in state and 0 <= turn < len(dialogue.turns):
            state[slot] = INFORMED.join(("", state[slot], *dialogue.turns[turn].state.get(slot, ())))
    return state


def _frame_of(prediction: Prediction, service: str) -> FramePrediction | None:
    for frame in prediction.frames:
        if frame.service == service:
            return frame
    return None


def gather(schema: Schema, paired: Iterable[tuple[Dialogue, list[Prediction]]]) -> Columns:
    """Columns of all that is given."""
    gatherer = Gatherer(schema)
    for dialogue, predictions in paired:
        gatherer.add(dialogue, predictions)
    return gatherer.columns()
