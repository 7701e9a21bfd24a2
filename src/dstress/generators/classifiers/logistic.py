"""One-vs-rest logistic regression over hashed features, with numpy alone: AdaGrad on small batches of sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.generators.classifiers.features import Hashes

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

_BATCH, _EPOCHS, _STEPS = 512, 2, 60
"""Two passes over the rows; over few rows more, for so many steps."""
_RATE, _SEED = 0.7, 1
_FINEST = 127


class TrainingSet(NamedTuple):
    """Features and the row of each, in the order of rows; for each row and column its target and how much it counts."""

    hashes: Hashes
    rows: Indices
    targets: Floats
    weights: Floats


class _Batch(NamedTuple):
    """The features of some rows, by the places of their weights and how many each row has; the rows' targets."""

    places: Indices
    sizes: Indices
    targets: Floats
    weights: Floats


class Logistic(NamedTuple):
    """Whole numbers stand for its weights. So a sum is the same in any order, and all is small when it is kept."""

    keys: Hashes
    weights: NDArray[np.int8]
    unit: float
    bias: Floats

    @classmethod
    def round(cls, keys: Hashes, weights: Floats, bias: Floats) -> Logistic:
        """Weights as multiples of a unit."""
        unit = float(np.abs(weights).max(initial=0.0)) / _FINEST or 1.0
        return cls(keys, np.round(weights / unit).astype(np.int8), unit, bias)

    def logits(self, hashes: Hashes, rows: Indices, count: int) -> Floats:
        """A logit for each of `count` rows and each column."""
        logits: Floats = np.repeat(self.bias[None], count, 0)
        if not len(self.keys):
            return logits
        places = np.searchsorted(self.keys, hashes).clip(max=len(self.keys) - 1)
        known = self.keys[places] == hashes
        places, rows = places[known], rows[known]
        filled, starts, sizes = np.unique(rows, return_index=True, return_counts=True)
        if len(filled):
            sums = np.add.reduceat(self.weights[places], starts, axis=0, dtype=np.int32)
            logits[filled] += sums * (self.unit / np.sqrt(sizes))[:, None]
        return logits


def fit(training: TrainingSet, least: int) -> Logistic:
    """Learn the columns, from the features that `least` rows have or more."""
    keys, places, counts = np.unique(training.hashes, return_inverse=True, return_counts=True)
    kept = counts >= least
    known = kept[places]
    places, rows = (np.cumsum(kept) - 1)[places[known]], training.rows[known]
    starts = np.searchsorted(rows, np.arange(len(training.targets) + 1))
    share = (training.targets.sum(0) / np.maximum(1, training.weights.sum(0))).clip(1e-5, 1 - 1e-5)
    bias = np.log(share / (1 - share)).astype(np.float32)
    weights = np.zeros((int(kept.sum()), len(bias)), np.float32)
    squares = np.full(len(weights), 1e-6, np.float32)
    random = np.random.default_rng(_SEED)
    for _ in range(max(_EPOCHS, _STEPS * _BATCH // max(1, len(training.targets)))):
        order = random.permutation(len(training.targets))
        for at in range(0, len(order), _BATCH):
            chosen = np.sort(order[at : at + _BATCH])
            chosen = chosen[starts[chosen + 1] > starts[chosen]]
            if len(chosen):
                batch = _Batch(
                    np.concatenate([places[starts[row] : starts[row + 1]] for row in chosen]),
                    starts[chosen + 1] - starts[chosen],
                    training.targets[chosen],
                    training.weights[chosen],
                )
                _step(weights, squares, bias, batch)
    return Logistic.round(keys[kept], weights, bias)


def _step(weights: Floats, squares: Floats, bias: Floats, batch: _Batch) -> None:
    """One step down the gradient, in place. A feature's rate falls with the steepest gradient it has had."""
    sizes = batch.sizes
    used, within = np.unique(batch.places, return_inverse=True)
    length = (1 / np.sqrt(sizes)).astype(np.float32)[:, None]
    own = weights[used]
    logits = np.add.reduceat(np.take(own, within, axis=0), np.cumsum(sizes) - sizes, axis=0) * length + bias
    error = (1 / (1 + np.exp(-logits)) - batch.targets) * batch.weights * length
    order = np.argsort(within, kind="stable")
    rows = np.repeat(np.arange(len(sizes)), sizes)[order]
    starts = np.searchsorted(within[order], np.arange(len(used)))
    gradient = np.add.reduceat(np.take(error, rows, axis=0), starts, axis=0)
    squares[used] += (gradient * gradient).max(1)
    weights[used] = own - _RATE * gradient / np.sqrt(squares[used])[:, None]
