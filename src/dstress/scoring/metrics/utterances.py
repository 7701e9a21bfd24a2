"""What a tracker makes of a whole utterance: is it out of domain, and what does the user intend (RADDLE)?"""

from __future__ import annotations

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric, over_units


class OodF1(Metric):
    """F1 of finding the utterances that are out of domain."""

    name = "ood-f1"
    by_turn = True
    needs_states = False
    restrictable = False

    def missing(self, alignment: Alignment) -> str:
        if all(prediction.ood is None for prediction in alignment.columns.predictions):
            return "the predictions do not say what is out of domain"
        return "" if any(turn.ood for turn in alignment.columns.turns) else "no utterance is out of domain"

    def statistics(self, alignment: Alignment) -> Floats:
        gold = np.array([turn.ood for turn in alignment.columns.turns], bool)
        predicted = np.array([bool(prediction.ood) for prediction in alignment.columns.predictions], bool)
        return np.column_stack((2.0 * (gold & predicted), gold.astype(float) + predicted))


class FalseUpdates(Metric):
    """Share of the utterances out of domain at which the tracker changes its state, though nothing was asked of it.

    Joint goal accuracy hardly shows this: to keep a state is right, and easy. Right after a turn that was made foreign
    by itself there is nothing to compare with: the history has that turn's original, after which the tracker's state is
    not known.
    """

    name = "false-updates"
    by_turn = True
    on_request = True
    needs_states = False
    restrictable = False
    higher_is_better = False

    def missing(self, alignment: Alignment) -> str:
        return "" if any(turn.ood for turn in alignment.columns.turns) else "no utterance is out of domain"

    def statistics(self, alignment: Alignment) -> Floats:
        columns = alignment.columns
        changes = np.bincount(alignment.unit_turn[alignment.unit], alignment.predicted_changed, len(columns.turns))
        foreign = np.array([turn.ood for turn in columns.turns], bool)
        alone = np.array([turn.ood and turn.remembered is not turn for turn in columns.turns], bool)
        foreign[1:] &= ~alone[:-1] | (columns.turn_index[1:] == 0)
        return over_units(np.asarray(changes > 0, np.float64), foreign.astype(np.float64))


class IntentAccuracy(Metric):
    """Share of turns whose predicted intent is that of one of the turn's frames."""

    name = "intent-accuracy"
    by_turn = True
    needs_states = False
    restrictable = False

    def missing(self, alignment: Alignment) -> str:
        if all(prediction.intent is None for prediction in alignment.columns.predictions):
            return "the predictions have no intents"
        has_intents = any(frame.intent for turn in alignment.columns.turns for frame in turn.frames)
        return "" if has_intents else "the corpus has no intents"

    def statistics(self, alignment: Alignment) -> Floats:
        gold = [{frame.intent.lower() for frame in turn.frames if frame.intent} for turn in alignment.columns.turns]
        predicted = [(prediction.intent or "").lower() for prediction in alignment.columns.predictions]
        right = np.array([float(intent in intents) for intents, intent in zip(gold, predicted, strict=True)])
        return over_units(right, [float(bool(intents)) for intents in gold])
