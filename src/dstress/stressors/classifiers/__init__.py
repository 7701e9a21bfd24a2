"""Slot classifiers: filters against utterances that say more than they should."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.stressors.classifiers.base import Exchange, SlotClassifier

classifiers = Registry(
    "classifier",
    SlotClassifier,
    {
        "encoder": "dstress.stressors.classifiers.encoder:Encoder",
        "linear": "dstress.stressors.classifiers.linear:Linear",
    },
)

__all__ = ["Exchange", "SlotClassifier", "classifiers"]
