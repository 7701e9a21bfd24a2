"""How well a slot classifier does: precision and recall over all pairs of a turn and a slot (CoCo, 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dstress.generators.classifiers.base import SlotClassifier
from dstress.generators.classifiers.examples import Labelled


class Agreement(NamedTuple):
    """Pairs of turn and slot: found and right, found, and labelled."""

    right: int
    found: int
    labelled: int

    @property
    def precision(self) -> float:
        """The share of what is found that is labelled."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what is labelled that is found."""
        return self.right / self.labelled if self.labelled else 1.0


class Figures(NamedTuple):
    """One set of answers beside several labels of the same turns."""

    spoken: Agreement
    """The slots that the user speaks about; unsure ones are left out."""
    strict: Agreement
    """The same, but an unsure slot that is found counts as wrong."""
    update: Agreement
    """The turn-level update as the corpus has it: CoCo's label, with late ones and with offers taken up."""


def agreement(found: Iterable[frozenset[str]], labels: Iterable[frozenset[str]]) -> Agreement:
    """Answers beside labels, in the same order."""
    counts = [(len(one & other), len(one), len(other)) for one, other in zip(found, labels, strict=True)]
    return Agreement(*(sum(column) for column in zip(*counts, strict=True))) if counts else Agreement(0, 0, 0)


def compare(found: Sequence[frozenset[str]], examples: Sequence[Labelled]) -> Figures:
    """Answers beside all labels."""
    sure = [answer - example.unsure for answer, example in zip(found, examples, strict=True)]
    slots = [example.slots for example in examples]
    return Figures(
        agreement(sure, slots),
        agreement(found, slots),
        agreement(found, [frozenset(example.added) for example in examples]),
    )


def measure(classifier: SlotClassifier, examples: Sequence[Labelled]) -> Figures:
    """A prepared classifier on labelled turns."""
    return compare(classifier.slots([example.exchange for example in examples]), examples)
