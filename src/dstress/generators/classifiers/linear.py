"""The default slot classifier: hashed n-grams and one logistic regression a slot. It fits MultiWOZ in a minute."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.errors import DstressError
from dstress.generators.classifiers import logistic
from dstress.generators.classifiers.base import Exchange, SlotClassifier
from dstress.generators.classifiers.examples import hold_out, label_tables, training_examples
from dstress.generators.classifiers.features import Features
from dstress.generators.classifiers.logistic import Logistic, TrainingSet
from dstress.generators.classifiers.thresholds import break_even
from dstress.generators.classifiers.unseen_values import UnseenValues
from dstress.resources import Material, Resources
from dstress.storage.fits import load_or_fit

_MADE_UP = 0.8
"""The share of the exchanges that are also learnt with made-up values."""
_MANY = 10_000
"""From so many exchanges on, a feature must be in 4 of them, else in 2."""
_BATCH = 2048


class Linear(SlotClassifier):
    """Hashed n-grams, a logistic regression a slot: needs nothing but numpy."""

    def __init__(self) -> None:
        self._in_schema: NDArray[np.bool_] = np.zeros(0, bool)
        self._fit: Fit | None = None

    def prepare(self, resources: Resources, train: Material) -> None:
        """Learn from the training corpus.

        Slots that training lacks are never found, and slots that the corpus at hand lacks are not told.
        """
        self._fit = load_or_fit(resources.folder, type(self), train, Fit, lambda: fit_exchanges(train))
        self._in_schema = np.array([slot in resources.schema.slots for slot in self._fit.slots])

    def slots(self, exchanges: Sequence[Exchange]) -> list[frozenset[str]]:
        """The slots from the threshold on."""
        if self._fit is None:
            raise DstressError("the slot classifier linear has learnt nothing", fix="call prepare first")
        names, hits = self._fit.slots, (self._fit.logits(exchanges) >= self._fit.threshold) & self._in_schema
        return [frozenset(names[column] for column in np.flatnonzero(row)) for row in hits]


class Fit(NamedTuple):
    """What was learnt: a column of logits for each slot, which is spoken about from the threshold on."""

    slots: list[str]
    features: Features
    model: Logistic
    threshold: float

    def logits(self, exchanges: Sequence[Exchange]) -> NDArray[np.float32]:
        """A row of logits for each exchange."""
        logits = [np.zeros((0, len(self.slots)), np.float32)]
        for at in range(0, len(exchanges), _BATCH):
            batch = exchanges[at : at + _BATCH]
            logits.append(self.model.logits(*self.features.extract(batch), len(batch)))
        return np.concatenate(logits)


def fit_exchanges(train: Material) -> Fit:
    """Learn from the exchanges of a corpus; some dialogues are held out, to set the threshold."""
    learnt, held_out = hold_out(training_examples(train))
    slots = sorted({slot for example in learnt for slot in example.slots})
    features = Features.learn(learnt)
    unseen, random = UnseenValues(learnt), Random(1)
    made_up = []
    for example in learnt:
        if random.random() < _MADE_UP:
            user = unseen.rewrite_utterance(example, random)
            if user != example.exchange.user:
                made_up.append(example._replace(exchange=example.exchange._replace(user=user)))
    learnt = learnt + made_up
    hashes, rows = features.extract([example.exchange for example in learnt])
    spoken = np.s_[:, : len(slots)]  # without the columns of offers
    targets, weights = label_tables(learnt, slots)
    training = TrainingSet(hashes, rows, targets[spoken], weights[spoken])
    fit = Fit(slots, features, logistic.fit(training, 4 if len(learnt) >= _MANY else 2), 0.0)
    targets, weights = label_tables(held_out, slots)
    logits = fit.logits([example.exchange for example in held_out])
    return fit._replace(threshold=break_even(logits, targets[spoken], weights[spoken]))
