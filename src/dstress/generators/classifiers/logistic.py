"""One-vs-rest logistic regression over hashed features, with numpy alone: AdaGrad on small batches of sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dstress.generators.classifiers.features import Hashes

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

_BATCH, _PASSES, _STEPS = 512, 2, 60
"""Two passes over the rows; over few rows more, for so many steps."""
_RATE, _SEED = 0.7, 1
_FINEST = 127


class Task(NamedTuple):
    """Features and the row of each, in the order of rows; for each row and column what is wanted, and how much."""

    hashes: Hashes
    rows: Places
    wanted: Floats
    weight: Floats


class Logistic:
    """Whole numbers stand for its weights. So a sum is the same in any order, and all is small when it is kept."""

    def __init__(self, keys: Hashes, weights: Floats, bias: Floats) -> None:
        self._keys, self._bias = keys, bias
        self._unit = float(np.abs(weights).max(initial=0.0)) / _FINEST or 1.0
        self._weights = np.round(weights / self._unit).astype(np.int8)

    def logits(self, hashes: Hashes, rows: Places, count: int) -> Floats:
        """A logit for each of `count` rows and each column."""
        found: Floats = np.repeat(self._bias[None], count, 0)
        if not len(self._keys):
            return found
        places = np.searchsorted(self._keys, hashes).clip(max=len(self._keys) - 1)
        known = self._keys[places] == hashes
        places, rows = places[known], rows[known]
        filled, starts, sizes = np.unique(rows, return_index=True, return_counts=True)
        if len(filled):
            sums = np.add.reduceat(self._weights[places], starts, axis=0, dtype=np.int32)
            found[filled] += sums * (self._unit / np.sqrt(sizes))[:, None]
        return found


def fit(task: Task, seen: int) -> Logistic:
    """Learn the columns, from the features that so many rows have at least."""
    keys, places, counts = np.unique(task.hashes, return_inverse=True, return_counts=True)
    kept = counts >= seen
    known = kept[places]
    places, rows = (np.cumsum(kept) - 1)[places[known]], task.rows[known]
    starts = np.searchsorted(rows, np.arange(len(task.wanted) + 1))
    share = (task.wanted.sum(0) / np.maximum(1, task.weight.sum(0))).clip(1e-5, 1 - 1e-5)
    bias = np.log(share / (1 - share)).astype(np.float32)
    weights = np.zeros((int(kept.sum()), len(bias)), np.float32)
    squares = np.full(len(weights), 1e-6, np.float32)
    random = np.random.default_rng(_SEED)
    for _ in range(max(_PASSES, _STEPS * _BATCH // max(1, len(task.wanted)))):
        order = random.permutation(len(task.wanted))
        for at in range(0, len(order), _BATCH):
            batch = np.sort(order[at : at + _BATCH])
            batch = batch[starts[batch + 1] > starts[batch]]
            if len(batch):
                within = np.concatenate([places[starts[row] : starts[row + 1]] for row in batch])
                sizes = starts[batch + 1] - starts[batch]
                _step(weights, squares, bias, (within, sizes), (task.wanted[batch], task.weight[batch]))
    return Logistic(keys[kept], weights, bias)


def _step(
    weights: Floats,
    squares: Floats,
    bias: Floats,
    batch: tuple[Places, Places],
    wanted: tuple[Floats, Floats],
) -> None:
    """One step down the slope, in place. A feature's rate falls with the steepest slope it has had."""
    places, sizes = batch
    used, within = np.unique(places, return_inverse=True)
    length = (1 / np.sqrt(sizes)).astype(np.float32)[:, None]
    own = weights[used]
    logits = np.add.reduceat(np.take(own, within, axis=0), np.cumsum(sizes) - sizes, axis=0) * length + bias
    error = (1 / (1 + np.exp(-logits)) - wanted[0]) * wanted[1] * length
    order = np.argsort(within, kind="stable")
    rows = np.repeat(np.arange(len(sizes)), sizes)[order]
    slope = np.add.reduceat(np.take(error, rows, axis=0), np.searchsorted(within[order], np.arange(len(used))), axis=0)
    squares[used] += (slope * slope).max(1)
    weights[used] = own - _RATE * slope / np.sqrt(squares[used])[:, None]
