"""What a tracker says of a whole utterance: is it out of domain, and what does the user intend (RADDLE)?"""

from __future__ import annotations

import numpy as np

from dstress.alignment.cells import Alignment
from dstress.metrics.base import Floats, Metric, over_units


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


class IntentAccuracy(Metric):
    """Share of turns whose predicted intent is that of one of the turn's frames."""

    name = "intent-accuracy"
    by_turn = True
    needs_states = False
    restrictable = False

    def missing(self, alignment: Alignment) -> str:
        if all(prediction.intent is None for prediction in alignment.columns.predictions):
            return "the predictions have no intents"
        known = any(frame.intent for turn in alignment.columns.turns for frame in turn.frames)
        return "" if known else "the corpus has no intents"

    def statistics(self, alignment: Alignment) -> Floats:
        gold = [{frame.intent.lower() for frame in turn.frames if frame.intent} for turn in alignment.columns.turns]
        predicted = [(prediction.intent or "").lower() for prediction in alignment.columns.predictions]
        right = np.array([float(intent in intents) for intents, intent in zip(gold, predicted, strict=True)])
        return over_units(right, [float(bool(intents)) for intents in gold])
