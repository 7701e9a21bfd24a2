"""How well a slot classifier does: precision and recall over all pairs of a turn and a slot (CoCo, 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dstress.stressors.counterfactual.classifier.examples import Labelled
from dstress.stressors.counterfactual.classifier.linear import Linear


class Agreement(NamedTuple):
    """Pairs of turn and slot: predicted and right, predicted, and labelled."""

    right: int
    predicted: int
    labelled: int

    @property
    def precision(self) -> float:
        """The share of what is predicted that is labelled."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """The share of what is labelled that is predicted."""
        return self.right / self.labelled if self.labelled else 1.0


class Figures(NamedTuple):
    """One set of predictions beside several labels of the same turns."""

    spoken: Agreement
    """The slots that the user speaks about; unsure ones are left out."""
    strict: Agreement
    """The same, but an unsure slot that is predicted counts as wrong."""
    update: Agreement
    """The turn-level update as the corpus has it: CoCo's label, with late ones and with offers taken up."""


def agreement(predictions: Iterable[frozenset[str]], labels: Iterable[frozenset[str]]) -> Agreement:
    """Predictions beside labels, in the same order."""
    counts = [(len(slots & label), len(slots), len(label)) for slots, label in zip(predictions, labels, strict=True)]
    return Agreement(*(sum(column) for column in zip(*counts, strict=True))) if counts else Agreement(0, 0, 0)


def compare(predictions: Sequence[frozenset[str]], examples: Sequence[Labelled]) -> Figures:
    """Predictions beside all labels."""
    sure = [slots - example.unsure for slots, example in zip(predictions, examples, strict=True)]
    labels = [example.slots for example in examples]
    return Figures(
        agreement(sure, labels),
        agreement(predictions, labels),
        agreement(predictions, [frozenset(example.added) for example in examples]),
    )


def measure(classifier: Linear, examples: Sequence[Labelled]) -> Figures:
    """A prepared classifier on labelled turns."""
    return compare(classifier.slots([example.exchange for example in examples]), examples)
