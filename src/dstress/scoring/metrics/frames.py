"""DSTC8's other three tasks, per frame: the active intent, the requested slots, and the spans of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns
from dstress.scoring.metrics.base import Floats, Metric

Parts = tuple[float, float, float, float]
"""Precision, recall, F1, and 1 if the frame counts at all."""
_ABSENT: Parts = (0.0, 0.0, 0.0, 0.0)
_SAME: Parts = (1.0, 1.0, 1.0, 1.0)


class _FrameMetric(Metric):
    """A mean over gold frames; where the unit is the turn, each turn has the sums of its frames."""

    needs_states = False
    task: ClassVar[str]
    part: ClassVar[int] = 2
    needs: ClassVar[str]

    def missing(self, alignment: Alignment) -> str:
        return "" if _judged(alignment.columns, self.task)[:, 3].any() else self.needs

    def statistics(self, alignment: Alignment) -> Floats:
        columns = alignment.columns
        parts = _judged(columns, self.task)[:, [self.part, 3]]
        if alignment.services is not None:
            names = np.array([service in alignment.services for service in columns.services], bool)
            parts = parts * names[columns.frame_service][:, None]
        return alignment.by_unit(parts)


def _judged(columns: Columns, task: str) -> Floats:
    """Every frame's parts for a task: judged once, whatever asks for them."""
    if task not in columns.memo:
        # Spans are of slots that are not categorical, as in the script.
        services = columns.schema.services
        tagged = {s.name: frozenset(slot.name for slot in s.slots if not slot.categorical) for s in services}
        parts = []
        for gold, predicted, text in columns.frames:
            expected, answer = getattr(gold, task), getattr(predicted, task, None)
            if answer is None:
                parts.append(_ABSENT)
            elif answer == expected:
                parts.append(_SAME)
            elif task == "intent":
                right = float(answer.lower() == expected.lower())
                parts.append((right, right, right, 1.0))
            elif task == "requested":
                parts.append(overlap(expected, answer))
            else:
                slots = tagged.get(gold.service, ())
                sides = (
                    [(span.slot, text[span.start : span.end]) for span in spans if span.slot in slots]
                    for spans in (expected, answer)
                )
                parts.append(overlap(*sides))
        columns.memo[task] = np.array(parts, np.float64).reshape(-1, 4)
    return np.asarray(columns.memo[task], np.float64)


def overlap(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> Parts:
    """Precision, recall and F1 of two bags; an empty side has precision (or recall) 1, as in the script."""
    if gold == predicted:
        return _SAME
    shared = (Counter(gold) & Counter(predicted)).total()
    precision = shared / len(predicted) if predicted else 1.0
    recall = shared / len(gold) if gold else 1.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0, 1.0


class ActiveIntentAccuracy(_FrameMetric):
    """Share of frames with the right active intent, in any case."""

    name = "active-intent-accuracy"
    task = "intent"
    needs = "the predictions have no active intents"


class RequestedSlotsF1(_FrameMetric):
    """Mean F1 of the requested slots; 1 where neither side requests any, as the script counts it."""

    name = "requested-slots-f1"
    task = "requested"
    needs = "the predictions have no requested slots"


class RequestedSlotsPrecision(RequestedSlotsF1):
    """Mean precision of the requested slots (DSTC8)."""

    name = "requested-slots-precision"
    part = 0


class RequestedSlotsRecall(RequestedSlotsF1):
    """Mean recall of the requested slots (DSTC8)."""

    name = "requested-slots-recall"
    part = 1


class SlotTaggingF1(_FrameMetric):
    """Mean F1 of the spans of slots that are not categorical, compared by their words; 1 where neither side has any."""

    name = "slot-tagging-f1"
    task = "spans"
    needs = "the predictions have no spans"


class SlotTaggingPrecision(SlotTaggingF1):
    """Mean precision of the spans (DSTC8)."""

    name = "slot-tagging-precision"
    part = 0


class SlotTaggingRecall(SlotTaggingF1):
    """Mean recall of the spans (DSTC8)."""

    name = "slot-tagging-recall"
    part = 1
