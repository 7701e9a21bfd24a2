"""Two questions that need the dialogue's words: coreference JGA and the no-hallucination frequency (CheckDST)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

import numpy as np

from dstress.conventions.base import without_gold
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Booleans, Columns
from dstress.scoring.metrics.base import Floats, Metric, over_units
from dstress.scoring.metrics.grounding import NO_NAME, is_grounded, named_entities
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
        annotated = is_annotated(columns.gold_dialogues)
        referring: list[bool] = []
        for dialogue, predictions in columns.paired():
            flags = needs_coreference(dialogue, annotated)
            referring += [flags[prediction.turn] for prediction in predictions]
        columns.memo["referring"] = np.array(referring, bool)
    return np.asarray(columns.memo["referring"], bool)


class Nohf(Metric):
    """No-hallucination frequency: the share of predicted names that the dialogue so far has said.

    Every turn's whole state counts, as in the paper. `raw=true` is CheckDST's own test, a raw substring of the context.
    """

    name = "nohf"
    remark = (
        "NoHF: where gold names entities that no utterance mentions, gold itself is below 100, and a tracker that "
        "names only what it reads can be above gold"
    )
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
        self._text = cache(self._read)
        self._plain, self._loose = cache(self._find_plain), cache(self._find_loose)

    def __call__(self, turn: int, value: str) -> bool:
        """Whether the dialogue had said the value by the end of the turn."""
        context = self.columns.predictions[turn].context
        if context is not None:
            return is_grounded(value, context, raw=self.raw)
        dialogue, number = int(self.columns.turn_dialogue[turn]), int(self.columns.turn_number[turn])
        return self._plain(dialogue, value) <= number or self._loose(dialogue, value) <= number

    def _find_plain(self, dialogue: int, value: str) -> int:
        """The turn in which the value first stands as it is, between two words; or one that never comes."""
        text, ends = self._text(dialogue)
        form = value if self.raw else value.lower()
        at = text.find(form)
        while (
            at >= 0
            and not self.raw
            and (text[at - 1 : at].isalnum() or text[at + len(form) : at + len(form) + 1].isalnum())
        ):
            at = text.find(form, at + 1)
        return bisect_right(ends, at) if at >= 0 else len(ends)

    def _read(self, dialogue: int) -> tuple[str, list[int]]:
        """All that a dialogue says, a line an utterance, and where each turn ends."""
        parts = [f"{turn.system}\n{turn.user}\n" for turn in self.columns.gold_dialogues[dialogue].turns]
        text = "".join(parts)
        lowered = text if self.raw else text.lower()
        # A few letters grow when lowered, which would shift every place after them.
        return lowered if len(lowered) == len(text) else text, list(accumulate(map(len, parts)))

    def _find_loose(self, dialogue: int, value: str) -> int:
        """The turn in which the value is first said in any spelling of its words; or one that never comes."""
        turns = self.columns.gold_dialogues[dialogue].turns
        spoken = (is_grounded(value, (turn.system, turn.user), raw=self.raw) for turn in turns)
        return next((number for number, grounded in enumerate(spoken) if grounded), len(turns))
