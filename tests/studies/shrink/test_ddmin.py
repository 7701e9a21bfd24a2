"""Delta debugging: what is left fails, and nothing of it can be left out."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from dstress.studies.shrink.ddmin import Parts, Reduction


def reduce(reduction: Reduction, fails: Callable[[Parts], bool]) -> int:
    """Drive it to its end; says how many tests that took."""
    tests, rounds = 0, reduction.rounds()
    candidates = next(rounds, None)
    while candidates is not None:
        tests += len(candidates)
        try:
            candidates = rounds.send([fails(parts) for parts in candidates])
        except StopIteration:
            break
    return tests


@st.composite
def edits_and_predicates(draw: st.DrawFn) -> tuple[list[Parts], Callable[[Parts], bool]]:
    """Edits of some words each, and any predicate under which all of them fail and none does not."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    numbers = iter(range(sum(sizes)))
    groups = [frozenset(next(numbers) for _ in range(size)) for size in sizes]
    seed, odds = draw(st.integers(0, 1000)), draw(st.integers(2, 6))
    full = frozenset().union(*groups)

    def fails(parts: Parts) -> bool:
        digest = blake2b(f"{seed}{sorted(parts)}".encode(), digest_size=2).digest()
        return bool(parts) and (parts == full or digest[0] % odds == 0)

    return groups, fails


@given(edits_and_predicates())
def test_whatever_the_tracker_no_word_and_no_edit_can_be_left_out(
    case: tuple[list[Parts], Callable[[Parts], bool]],
) -> None:
    groups, fails = case

    def shown(parts: Parts) -> list[Parts]:
        return [group & parts for group in groups if group & parts]

    reduction = Reduction(groups, shown)
    reduce(reduction, fails)
    assert fails(reduction.kept)
    for part in reduction.kept:
        assert not fails(reduction.kept - {part})
    for edit in shown(reduction.kept):
        assert not fails(reduction.kept - edit)


@given(st.sets(st.integers(0, 63), min_size=1, max_size=3))
def test_a_few_needed_words_among_many_are_found_by_few_tests(needed: set[int]) -> None:
    groups = [frozenset(range(start, start + 8)) for start in range(0, 64, 8)]
    reduction = Reduction(groups, lambda parts: [group & parts for group in groups if group & parts])
    tests = reduce(reduction, lambda parts: needed <= parts)
    assert reduction.kept == needed
    assert tests <= 60, "to try each word by itself would take 64"
