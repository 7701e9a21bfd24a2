"""Batches of examples of about one length."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.parts import need

need("torch")

from dstress.learning.batches import bucket  # noqa: E402


class Sized(NamedTuple):
    name: str
    length: int


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 9), st.integers(0, 100), st.integers(0, 5))
def test_every_example_comes_once_and_no_batch_is_too_large(
    lengths: list[int], size: int, tokens: int, seed: int
) -> None:
    examples = [Sized(str(number), length) for number, length in enumerate(lengths)]
    batches = bucket(examples, size, tokens, Random(seed))
    assert sorted(example for batch in batches for example in batch) == sorted(examples)
    for batch in batches:
        assert len(batch) <= size
        assert not tokens or len(batch) == 1 or max(example.length for example in batch) * len(batch) <= tokens


def test_the_order_is_the_seeds_and_lengths_stay_together() -> None:
    examples = [Sized(str(number), number % 50) for number in range(500)]
    batches = bucket(examples, 10, 0, Random(1))
    assert batches == bucket(examples, 10, 0, Random(1)) != bucket(examples, 10, 0, Random(2))
    assert all(
        max(batch, key=lambda e: e.length).length - min(batch, key=lambda e: e.length).length <= 1 for batch in batches
    )
