"""Examples of about one length together, so that little is padded; in another order at every epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

from dstress.learning.base import Example

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
        batches += _cut(pool, size, tokens)
    random.shuffle(batches)
    return batches


def _cut(ordered: Sequence[E], size: int, tokens: int) -> Iterator[list[E]]:
    batch: list[E] = []
    for example in ordered:
        if batch and (len(batch) == size or (tokens and example.length * (len(batch) + 1) > tokens)):
            yield batch
            batch = []
        batch.append(example)
    if batch:
        yield batch
