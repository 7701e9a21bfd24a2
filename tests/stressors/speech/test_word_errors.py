"""Word errors and their rate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dstress.stressors.speech.spoken import WordErrors, total, word_errors

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12)


def test_each_kind_is_counted() -> None:
    said, heard = "i need a hotel with cheap rooms today", "i need hotel for cheap rooms today please"
    found = word_errors(said.split(), heard.split())
    assert found == WordErrors(8, substituted=1, deleted=1, inserted=1)
    assert found.rate == 0.375
    assert found.mix == (1 / 3, 1 / 3, 1 / 3)


def test_another_spelling_is_no_error() -> None:
    said, heard = ["the", "centre", "of", "town", "guesthouse"], ["the", "center", "of", "town", "guest", "house"]
    assert word_errors(said, heard).errors == 0
    assert word_errors(said, said).words == 6


def test_nothing_said_has_no_rate() -> None:
    assert WordErrors().rate == 0.0
    assert total([]) == WordErrors()


@given(WORDS, WORDS)
def test_the_counts_fit_the_lengths(said: list[str], heard: list[str]) -> None:
    found = word_errors(said, heard)
    assert found.words - found.deleted + found.inserted == len(heard)
    assert found.errors <= max(len(said), len(heard))
    assert (found.errors == 0) == (said == heard)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=5))
def test_a_total_pools(pairs: list[tuple[list[str], list[str]]]) -> None:
    each = [word_errors(*pair) for pair in pairs]
    assert total(each).errors == sum(one.errors for one in each)
