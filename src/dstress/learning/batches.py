"""Examples of about one length together, so that little is padded; in another order at every epoch. Rows as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from dstress.learning.base import Example

IGNORED = -100
"""What torch calls a place without a label."""
_POOL = 50
"""Batches that are sorted by length together: neighbours of one length, and yet ever other ones."""

E = TypeVar("E", bound=Example)


def bucket(examples: Sequence[E], size: int, tokens: int, random: Random) -> list[list[E]]:
    """All examples once, in batches of at most `size` examples and at most `tokens` tokens with their padding.

    0 tokens sets no bound; an example longer than the bound is a batch by itself.
    """
    order = list(examples)
    random.shuffle(order)
    batches: list[list[E]] = []
    for at in range(0, len(order), size * _POOL):
        pool = sorted(order[at : at + size * _POOL], key=lambda example: example.length)
        batch: list[E] = []
        for example in pool:
            if batch and (len(batch) == size or (tokens and example.length * (len(batch) + 1) > tokens)):
                batches.append(batch)
                batch = []
            batch.append(example)
        batches.append(batch)
    random.shuffle(batches)
    return batches


def pad_rows(rows: Sequence[Sequence[int] | NDArray[np.int64]], filler: int, *, left: bool = False) -> Any:
    """Rows, made as long as the longest with a filler after them, or before them on the `left`."""
    length = max(map(len, rows), default=1)
    table = np.full((len(rows), length), filler, np.int64)
    for row, numbers in zip(table, rows, strict=True):
        row[slice(length - len(numbers), length) if left else slice(len(numbers))] = numbers
    return torch.from_numpy(table)
