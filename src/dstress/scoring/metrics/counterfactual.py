"""Joint goal accuracy where a stressor was at work, and where it could do nothing (CoCo, figure 3)."""

from __future__ import annotations

import numpy as np

from dstress.dialogue import State, Turn
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Booleans
from dstress.scoring.metrics.base import Floats, Metric, over_units
from dstress.text.edits import differing_words
from dstress.text.mentions import find_value

UNCHANGED = "no stressor changed a turn"
"""What always holds of the original."""


class _OfChangedTurns(Metric):
    """About the turns that a stressor changed."""

    def missing(self, alignment: Alignment) -> str:
        return "" if _changed(alignment).any() else UNCHANGED


class ChangedJga(_OfChangedTurns):
    """Joint goal accuracy over the turns that a stressor changed; the others say nothing about it."""

    name = "changed-jga"

    def statistics(self, alignment: Alignment) -> Floats:
        return over_units(alignment.joint, _changed(alignment)[alignment.unit_turn])


class WordsChanged(_OfChangedTurns):
    """Share of the user's words that differ in the turns that a stressor changed: how much there was to withstand.

    A tracker that keeps its accuracy under a stressor of few words has shown little. No answer of a tracker plays in.
    """

    name = "words-changed"
    by_turn = True
    on_request = True
    needs_states = False
    restrictable = False
    of_data = True

    def statistics(self, alignment: Alignment) -> Floats:
        turns = alignment.columns.turns
        rows = [differing_words(turn.original.user, turn.user) if turn.changed else (0, 0) for turn in turns]
        return np.array(rows, np.float64).reshape(-1, 2)


class UnconfirmedLabels(_OfChangedTurns):
    """Share of the changed turns whose new words do not plainly say their label: a value unsaid, or one beyond it.

    What says so is the finder of values, not a person: an estimate of how many labels may be wrong.
    """

    name = "unconfirmed-labels"
    by_turn = True
    on_request = True
    restrictable = False
    of_data = True

    def statistics(self, alignment: Alignment) -> Floats:
        changed = _changed(alignment)
        unconfirmed = [
            turn.changed and not _is_confirmed(turn, before)
            for turn, before in zip(alignment.columns.turns, _states_before(alignment), strict=True)
        ]
        return over_units(np.array(unconfirmed, np.float64), changed)


class JgaFloor(Metric):
    """Share of all units that are right and whose turn adds nothing: CoCo's lower bound.

    A stressor that changes only what is said leaves these turns alone, so however hard it is, this much stays right.
    """

    name = "jga-floor"
    on_request = True
    restrictable = False

    def statistics(self, alignment: Alignment) -> Floats:
        both = zip(alignment.columns.turns, _states_before(alignment), strict=True)
        quiet = np.array([turn.state == state for turn, state in both], bool)
        return over_units(np.where(quiet[alignment.unit_turn], alignment.joint, 0.0))


def _is_confirmed(turn: Turn, before: State) -> bool:
    """Whether a turn's words say all that its label has beyond the state before, and no time, day or count besides."""
    from dstress.stressors.generators.base import Goal  # takes a while to import, and no other metric needs it
    from dstress.stressors.generators.matching import find_oversaid, find_unsaid

    if before.keys() - turn.state.keys():
        return False
    new = {slot: forms for slot, forms in turn.state.items() if before.get(slot) != forms}
    values = {
        slot: next((form for form in forms if find_value(turn.user, slot, (form,))), forms[0])
        for slot, forms in new.items()
    }
    return not find_unsaid(turn.user, Goal(values)) and not find_oversaid(turn.user, Goal(values))


def _states_before(alignment: Alignment) -> list[State]:
    return [
        dialogue.turns[prediction.turn - 1].remembered.state if prediction.turn else {}
        for dialogue, predictions in alignment.columns.paired()
        for prediction in predictions
    ]


def _changed(alignment: Alignment) -> Booleans:
    return np.array([turn.changed for turn in alignment.columns.turns], bool)
