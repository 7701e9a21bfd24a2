"""Gold and predicted states side by side, in columns: gathered once, read by every convention and metric.

A *cell* is one slot in one turn; a *row* is one slot through one dialogue, for every slot that either side ever fills
there. Cells lie row after row, turn after turn, so "what changed since the turn before" is the cell before; after
a gap in the predictions that is the last predicted turn, for gold as well, so that both sides have had as many turns
to change. Slots and values are numbers; 0 stands for "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dstress.conventions.base import INFORMED
from dstress.dialogue import Dialogue, Frame, Schema, Slot, Turn, in_order, service_of
from dstress.predictions.base import FramePrediction, Prediction

if TYPE_CHECKING:  # reports read columns, and need nothing that makes corpora
    from dstress.corpora.database import Database

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)


class Interned(dict[K, int], Generic[K]):
    """Numbers for things, from 1, in the order in which they were first seen; `things` has them in that order.

    `spelled` writes a thing as it is compared.
    """

    def __init__(self, things: Iterable[K] = (), spelled: Callable[[K], K] = lambda thing: thing) -> None:
        self.things, self.spelled = list[K](), spelled
        for thing in things:
            self[thing]

    def __missing__(self, key: K) -> int:
        self.things.append(self.spelled(key))
        self[key] = number = len(self) + 1
        return number


class Vocabulary:
    """The numbers of slots, services and values. Shards of one scoring share it: what is judged stays judged."""

    def __init__(self, schema: Schema, open_database: Callable[[], Database | None] = lambda: None) -> None:
        self.schema, self.open_database = schema, open_database
        self.slots: Interned[str] = Interned(schema.slots)
        self.services: Interned[str] = Interned(service.name for service in schema.services)
        self.gold_values = Interned[tuple[str, ...]](spelled=lambda forms: tuple(map(in_order, forms)))
        self.predicted_values = Interned[str](spelled=in_order)
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


FramePair = tuple[Frame, FramePrediction | None, str]
"""A gold frame and its prediction, with the utterance that their spans point into."""


class Filled:
    """What one side fills, turn by turn: slots and values as numbers, and how many of each turn."""

    def __init__(self, slots: Interned[str], values: Interned[Any]) -> None:
        self.slots, self.values, self.counts = list[int](), list[int](), list[int]()
        # Looked up by what a dict itself does, without a step of Python for each.
        self._slot, self._value = slots.__getitem__, values.__getitem__

    def add(self, state: Mapping[str, Any], emptied: Sequence[str] = ()) -> None:
        """One turn; what is emptied has the value 0."""
        self.slots += map(self._slot, state)
        self.values += map(self._value, state.values())
        for slot in emptied:
            self.slots.append(self._slot(slot))
            self.values.append(0)
        self.counts.append(len(state) + len(emptied))


class Columns:
    """Dialogues and the predictions for their turns as columns: `add` them one after the other, then `finish`.

    Nothing here depends on conventions.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary, self.schema = vocabulary, vocabulary.schema
        self.gold_dialogues: list[Dialogue] = []
        self.turns: list[Turn] = []
        self.predictions: list[Prediction] = []
        self.frames: list[FramePair] = []
        self.memo: dict[Hashable, Any] = {}
        """What metrics worked out of these columns once, for whoever asks again."""
        self._counts: list[int] = []
        self._gold = Filled(vocabulary.slots, vocabulary.gold_values)
        self._predicted = Filled(vocabulary.slots, vocabulary.predicted_values)

    def add(self, dialogue: Dialogue, predictions: list[Prediction]) -> None:
        """One dialogue with the predictions for its turns, in order; turns without one are left out."""
        for prediction in predictions:
            turn = dialogue.turns[prediction.turn]
            state = prediction.state if not prediction.informed else _marked(prediction, dialogue)
            self._gold.add(turn.state)
            self._predicted.add(state, [slot for slot in prediction.emptied if slot not in state])
            for frame in turn.frames:
                for answer in prediction.frames:
                    if answer.service == frame.service:
                        self.frames.append((frame, answer, turn.user))
                        break
                else:
                    self.frames.append((frame, None, turn.user))
            self.turns.append(turn)
        self.predictions += predictions
        self.gold_dialogues.append(dialogue)
        self._counts.append(len(predictions))

    def finish(self) -> Columns:
        """Lay out what was added."""
        vocabulary, counts = self.vocabulary, np.array(self._counts, np.int64)
        for name in vocabulary.slots:
            vocabulary.services[service_of(name)]
        for frame, _, _ in self.frames:
            vocabulary.services[frame.service]
        self.slots, self.services = vocabulary.slots.things.copy(), vocabulary.services.things.copy()
        self.kinds = [vocabulary.kind(number) for number in range(len(self.slots))]
        of_schema = self.schema.slots.keys() | self.schema.requestable
        self.in_schema = np.array([name in of_schema for name in self.slots], bool)
        self.gold_values, self.predicted_values = vocabulary.gold_values.things, vocabulary.predicted_values.things
        self.dialogues, self.turn_counts = [dialogue.id for dialogue in self.gold_dialogues], counts
        self.turn_number = np.array([prediction.turn for prediction in self.predictions], np.int64)
        """The number of each turn in its gold dialogue; `turn_index` is its place among those that were predicted."""
        self.turn_dialogue = np.repeat(np.arange(len(counts)), counts)
        first_turn = np.concatenate(([0], np.cumsum(counts)))[:-1]
        self.turn_index = np.arange(counts.sum()) - np.repeat(first_turn, counts)
        turns = np.arange(len(self.turns))
        sides, filled = [], np.zeros(len(counts) * (len(self.slots) + 1), bool)
        for side in (self._gold, self._predicted):
            slot, value = np.array(side.slots, np.int64), np.array(side.values, np.int64)
            turn = np.repeat(turns, side.counts)
            key = self.turn_dialogue[turn] * (len(self.slots) + 1) + slot
            filled[key] = True
            sides.append((key, turn, value))
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
        self.predicted_empty = np.zeros(starts[-1], bool)
        for column, (key, turn, value) in zip((self.gold, self.predicted), sides, strict=True):
            cell = starts[row_of_key[key]] + self.turn_index[turn]
            column[cell] = value
        self.predicted_empty[cell[value == 0]] = True  # the prediction says `none`
        return self

    def paired(self) -> Iterator[tuple[Dialogue, list[Prediction]]]:
        """Every dialogue, whole, with the predictions for its turns."""
        ends = np.cumsum(self.turn_counts).tolist()
        for dialogue, start, end in zip(self.gold_dialogues, [0, *ends], ends, strict=False):
            yield dialogue, self.predictions[start:end]

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
        return np.array([numbers[gold.service] for gold, _, _ in self.frames], np.int64)

    @cached_property
    def cell_frame(self) -> Integers:
        """The gold frame that each cell belongs to: its turn's frame of its slot's service; -1 where there is none."""
        grid = np.full((len(self.turns), max(1, len(self.services))), -1, np.int64)
        grid[self.frame_turn, self.frame_service] = np.arange(len(self.frames))
        return grid[self.turn, self.slot_service[self.slot]] if len(self.slot) else np.zeros(0, np.int64)


def _marked(prediction: Prediction, dialogue: Dialogue) -> dict[str, str]:
    """The predicted state, in which a value that was taken over carries the gold of that turn."""
    state = dict(prediction.state)
    for slot, turn in prediction.informed.items():
        if slot in state and 0 <= turn < len(dialogue.turns):
            state[slot] = INFORMED.join(("", state[slot], *dialogue.turns[turn].state.get(slot, ())))
    return state


def gather(schema: Schema, paired: Iterable[tuple[Dialogue, list[Prediction]]]) -> Columns:
    """Columns of all that is given."""
    columns = Columns(Vocabulary(schema))
    for dialogue, predictions in paired:
        columns.add(dialogue, predictions)
    return columns.finish()
