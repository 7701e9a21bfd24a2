"""Hashed n-grams and one logistic regression a slot, where CoCo has a BERT (4.3). It fits MultiWOZ in a minute.

The regression needs numpy alone: one against the rest, AdaGrad on small batches of sparse rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.errors import DstressError
from dstress.resources import Material, Resources
from dstress.storage.fits import load_or_fit
from dstress.stressors.counterfactual.classifier.examples import (
    Exchange,
    UnseenValues,
    break_even,
    hold_out,
    label_tables,
    training_examples,
)
from dstress.stressors.counterfactual.classifier.features import Features, Hashes, Rows

Floats = NDArray[np.float32]

_MADE_UP = 0.8  # the share of the exchanges that are also learnt with made-up values
_MANY = 10_000  # from so many exchanges on, a feature must be in 4 of them, else in 2
_ANSWERED = 2048  # exchanges that are classified together
_BATCH, _EPOCHS, _STEPS = 512, 2, 60  # two passes over the rows; over few rows more, for so many steps
_RATE, _SEED = 0.7, 1
_FINEST = 127


class Linear:
    """Says which slots a system turn and the user's answer speak about."""

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
            raise DstressError("the slot classifier has learnt nothing", fix="call prepare first")
        names, hits = self._fit.slots, (self._fit.logits(exchanges) >= self._fit.threshold) & self._in_schema
        return [frozenset(names[column] for column in np.flatnonzero(row)) for row in hits]


class Logistic(NamedTuple):
    """A regression. Whole numbers stand for its weights, so that a sum is the same in any order, and it is small."""

    keys: Hashes
    weights: NDArray[np.int8]
    unit: float
    bias: Floats

    def logits(self, hashes: Hashes, rows: Rows, count: int) -> Floats:
        """A logit for each of `count` rows and each column."""
        logits: Floats = np.repeat(self.bias[None], count, 0)
        if not len(self.keys):
            return logits
        places = np.searchsorted(self.keys, hashes).clip(max=len(self.keys) - 1)
        is_key = self.keys[places] == hashes
        places, rows = places[is_key], rows[is_key]
        filled, starts, sizes = np.unique(rows, return_index=True, return_counts=True)
        if len(filled):
            sums = np.add.reduceat(self.weights[places], starts, axis=0, dtype=np.int32)
            logits[filled] += sums * (self.unit / np.sqrt(sizes))[:, None]
        return logits


class Fit(NamedTuple):
    """What was learnt: a column of logits for each slot, which is spoken about from the threshold on."""

    slots: list[str]
    features: Features
    model: Logistic
    threshold: float

    def logits(self, exchanges: Sequence[Exchange]) -> Floats:
        """A row of logits for each exchange."""
        logits = [np.zeros((0, len(self.slots)), np.float32)]
        for at in range(0, len(exchanges), _ANSWERED):
            batch = exchanges[at : at + _ANSWERED]
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
    targets, weights = label_tables(learnt, slots)
    hashes, rows = features.extract([example.exchange for example in learnt])
    model = _fit_logistic(hashes, rows, targets, weights, 4 if len(learnt) >= _MANY else 2)
    fit = Fit(slots, features, model, 0.0)
    targets, weights = label_tables(held_out, slots)
    return fit._replace(threshold=break_even(fit.logits([each.exchange for each in held_out]), targets, weights))


def _fit_logistic(hashes: Hashes, rows: Rows, targets: Floats, counting: Floats, least: int) -> Logistic:
    """Learn the columns of `targets` from features (`hashes`, and in order the row of each) that `least` rows have.

    `counting` is how much each target counts.
    """
    keys, places, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    kept = counts >= least
    is_kept = kept[places]
    places, rows = (np.cumsum(kept) - 1)[places[is_kept]], rows[is_kept]
    first = np.searchsorted(rows, np.arange(len(targets) + 1))
    share = (targets.sum(0) / np.maximum(1, counting.sum(0))).clip(1e-5, 1 - 1e-5)
    bias = np.log(share / (1 - share)).astype(np.float32)
    weights = np.zeros((int(kept.sum()), len(bias)), np.float32)
    squares = np.full(len(weights), 1e-6, np.float32)
    random = np.random.default_rng(_SEED)
    for _ in range(max(_EPOCHS, _STEPS * _BATCH // max(1, len(targets)))):
        order = random.permutation(len(targets))
        for at in range(0, len(order), _BATCH):
            chosen = np.sort(order[at : at + _BATCH])
            chosen = chosen[first[chosen + 1] > first[chosen]]
            if not len(chosen):
                continue
            sizes = first[chosen + 1] - first[chosen]
            batch = np.concatenate([places[first[row] : first[row + 1]] for row in chosen])
            used, within = np.unique(batch, return_inverse=True)
            length = (1 / np.sqrt(sizes)).astype(np.float32)[:, None]
            own = weights[used]
            logits = np.add.reduceat(np.take(own, within, axis=0), np.cumsum(sizes) - sizes, axis=0) * length + bias
            error = (1 / (1 + np.exp(-logits)) - targets[chosen]) * counting[chosen] * length
            by_feature = np.argsort(within, kind="stable")
            of_row = np.repeat(np.arange(len(sizes)), sizes)[by_feature]
            starts = np.searchsorted(within[by_feature], np.arange(len(used)))
            gradient = np.add.reduceat(np.take(error, of_row, axis=0), starts, axis=0)
            # A feature's rate falls with the steepest gradient it has had.
            squares[used] += (gradient * gradient).max(1)
            weights[used] = own - _RATE * gradient / np.sqrt(squares[used])[:, None]
    unit = float(np.abs(weights).max(initial=0.0)) / _FINEST or 1.0
    return Logistic(keys[kept], np.round(weights / unit).astype(np.int8), unit, bias)
