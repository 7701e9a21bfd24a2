"""Where a stressor was at work, how far it went, and what it could not touch (CoCo, figure 3)."""

from __future__ import annotations

import numpy as np

from dstress.alignment.cells import Alignment
from dstress.alignment.columns import Booleans
from dstress.metrics.base import Floats, Metric, over_units
from dstress.text.edits import differing_words


class ChangedJga(Metric):
    """Joint goal accuracy over the turns that a stressor changed; the others say nothing about it."""

    name = "changed-jga"

    def missing(self, alignment: Alignment) -> str:
        return "" if _changed(alignment).any() else "no stressor changed a turn"

    def statistics(self, alignment: Alignment) -> Floats:
        return over_units(alignment.joint, _changed(alignment)[alignment.unit_turn])


class WordsChanged(Metric):
    """Share of the user's words that differ in the turns that a stressor changed: how much there was to withstand.

    A tracker that keeps its accuracy under a stressor of few words has shown little. No answer of a tracker plays in.
    """

    name = "words-changed"
    by_turn = True
    on_request = True
    needs_states = False
    restrictable = False
    higher_is_better = False

    def missing(self, alignment: Alignment) -> str:
        return "" if _changed(alignment).any() else "no stressor changed a turn"

    def statistics(self, alignment: Alignment) -> Floats:
        turns = alignment.columns.turns
        rows = [differing_words(turn.original.user, turn.user) if turn.changed else (0, 0) for turn in turns]
        return np.array(rows, np.float64).reshape(-1, 2)


class JgaFloor(Metric):
    """Share of all units that are right and whose turn adds nothing: CoCo's lower bound.

    A stressor that changes only what is said leaves these turns alone, so however hard it is, this much stays right.
    """

    name = "jga-floor"
    on_request = True
    restrictable = False

    def statistics(self, alignment: Alignment) -> Floats:
        turns, place = alignment.columns.turns, alignment.columns.turn_index.tolist()
        before = [turns[row - 1].remembered.state if place[row] else {} for row in range(len(turns))]
        quiet = np.array([turn.state == state for turn, state in zip(turns, before, strict=True)], bool)
        return over_units(np.where(quiet[alignment.unit_turn], alignment.joint, 0.0))


def _changed(alignment: Alignment) -> Booleans:
    return np.array([turn.changed for turn in alignment.columns.turns], bool)
