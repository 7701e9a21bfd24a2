"""Two questions that need the dialogue's words: coreference JGA and the no-hallucination frequency (CheckDST)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np

from dstress.alignment.cells import Alignment
from dstress.alignment.columns import Booleans, Columns
from dstress.conventions.base import without_gold
from dstress.dialogue import Dialogue
from dstress.metrics.base import Floats, Metric, over_units
from dstress.metrics.grounding import NO_NAME, is_grounded, named_entities
from dstress.text.coreference import is_annotated, needs_coreference
from dstress.text.slot_names import is_named_entity_slot


class CorefJga(Metric):
    """Joint goal accuracy over turns in which a value has to be found by coreference."""

    name = "coref-jga"
    on_request = True

    def missing(self, alignment: Alignment) -> str:
        if not any(turn.user for turn in alignment.columns.turns):
            return "the gold has no utterances"
        return "" if _referring(alignment.columns).any() else "no turn needs coreference"

    def statistics(self, alignment: Alignment) -> Floats:
        return over_units(alignment.joint, _referring(alignment.columns)[alignment.unit_turn])


def _referring(columns: Columns) -> Booleans:
    if "referring" not in columns.memo:
        starts = np.concatenate(([0], np.cumsum(columns.turn_counts))).tolist()
        dialogues = [
            Dialogue(name, tuple(columns.turns[start:end]))
            for name, (start, end) in zip(columns.dialogues, pairwise(starts), strict=True)
        ]
        annotated = is_annotated(dialogues)
        flags = [flag for dialogue in dialogues for flag in needs_coreference(dialogue, annotated)]
        columns.memo["referring"] = np.array(flags, bool)
    return np.asarray(columns.memo["referring"], bool)


class Nohf(Metric):
    """No-hallucination frequency: the share of predicted names that the dialogue so far has said.

    Every turn's whole state counts, as in the paper. `raw=true` is CheckDST's own test, a raw substring of the context.
    """

    name = "nohf"
    on_request = True
    needs_states = False
    by_turn = True
    restrictable = False

    def __init__(self, raw: bool = False) -> None:
        self.raw = raw

    def missing(self, alignment: Alignment) -> str:
        columns = alignment.columns
        if not any(turn.user for turn in columns.turns) and not any(p.context for p in columns.predictions):
            return "neither gold nor predictions have utterances"
        return "" if self._names(columns).any() else "no slot of the schema holds names"

    def _names(self, columns: Columns) -> Booleans:
        return np.array([is_named_entity_slot(slot, columns.schema) for slot in columns.slots], bool)

    def statistics(self, alignment: Alignment) -> Floats:
        columns = alignment.columns
        grounding = _Grounding(columns, raw=self.raw)
        checked = [(turn, grounding(turn, value)) for turn, value in self._predicted(columns)]
        table = np.array(checked, np.float64).reshape(-1, 2)
        turns, size = table[:, 0].astype(np.int64), len(columns.turns)
        return np.column_stack((np.bincount(turns, table[:, 1], size), np.bincount(turns, minlength=size)))

    def _predicted(self, columns: Columns) -> Iterator[tuple[int, str]]:
        """Every predicted name with its turn."""
        if self.raw:
            for turn, prediction in enumerate(columns.predictions):
                yield from ((turn, value) for _, value in named_entities(prediction.state, columns.schema, raw=True))
            return
        cells = np.flatnonzero(self._names(columns)[columns.slot] & (columns.predicted > 0))
        values = [without_gold(value) for value in columns.predicted_values]
        naming = np.array([False, *(value.casefold() not in NO_NAME for value in values)], bool)
        cells = cells[naming[columns.predicted[cells]]]
        for turn, value in zip(columns.turn[cells].tolist(), columns.predicted[cells].tolist(), strict=True):
            yield turn, values[value - 1]


class _Grounding:
    """Whether a value was said by a turn. The plain question is asked first: most values are said letter by letter."""

    def __init__(self, columns: Columns, *, raw: bool) -> None:
        self.columns, self.raw = columns, raw
        self._start = np.concatenate(([0], np.cumsum(columns.turn_counts))).tolist()
        self._texts: dict[int, tuple[str, list[int]]] = {}
        self._plainly: dict[tuple[int, str], int] = {}
        self._loosely: dict[tuple[int, str], int] = {}

    def __call__(self, turn: int, value: str) -> bool:
        """Whether the dialogue had said the value by the end of the turn."""
        context = self.columns.predictions[turn].context
        if context is not None:
            return is_grounded(value, context, raw=self.raw)
        key = (int(self.columns.turn_dialogue[turn]), value)
        if key not in self._plainly:
            self._plainly[key] = self._plain(*key)
        if self._plainly[key] <= turn:
            return True
        if key not in self._loosely:
            self._loosely[key] = self._loose(*key)
        return self._loosely[key] <= turn

    def _plain(self, dialogue: int, value: str) -> int:
        """The turn in which the value first stands as it is, between two words; or one that never comes."""
        text, ends = self._text(dialogue)
        wanted = value if self.raw else value.lower()
        at = text.find(wanted)
        while at >= 0 and not self.raw and not _stands_alone(text, at, at + len(wanted)):
            at = text.find(wanted, at + 1)
        return self._start[dialogue] + bisect_right(ends, at) if at >= 0 else len(self.columns.turns)

    def _text(self, dialogue: int) -> tuple[str, list[int]]:
        """All that a dialogue says, a line an utterance, and where each turn ends."""
        if dialogue not in self._texts:
            turns = self.columns.turns[self._start[dialogue] : self._start[dialogue + 1]]
            parts = [f"{turn.system}\n{turn.user}\n" for turn in turns]
            ends = list(accumulate(map(len, parts)))
            text = "".join(parts)
            lowered = text if self.raw else text.lower()
            # A few letters grow when lowered, which would shift every place after them.
            self._texts[dialogue] = (lowered if len(lowered) == len(text) else text, ends)
        return self._texts[dialogue]

    def _loose(self, dialogue: int, value: str) -> int:
        """The turn in which the value is first said in any spelling of its words; or one that never comes."""
        for turn in range(self._start[dialogue], self._start[dialogue + 1]):
            words = self.columns.turns[turn]
            if is_grounded(value, (words.system, words.user), raw=self.raw):
                return turn
        return len(self.columns.turns)


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
