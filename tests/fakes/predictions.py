"""Predictions without a tracker, for tests of what comes after one."""

from __future__ import annotations

from collections.abc import Iterator

from dstress.corpora.base import Corpus
from dstress.predictions.base import Prediction


def perfect(corpus: Corpus) -> Iterator[Prediction]:
    """What a tracker without a fault would say."""
    for dialogue in corpus:
        for index, turn in enumerate(dialogue.turns):
            yield Prediction(dialogue.id, index, {slot: forms[0] for slot, forms in turn.state.items()})
