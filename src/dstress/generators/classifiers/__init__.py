"""Slot classifiers: filters against utterances that say more than they should."""

from __future__ import annotations

from dstress.generators.classifiers.base import Exchange, SlotClassifier
from dstress.registry import Registry

classifiers = Registry(
    "classifier",
    SlotClassifier,
    {
        "encoder": "dstress.generators.classifiers.encoder:Encoder",
        "linear": "dstress.generators.classifiers.linear:Linear",
    },
)

__all__ = ["Exchange", "SlotClassifier", "classifiers"]
