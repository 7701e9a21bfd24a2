"""Distinct n-grams: how varied a text is (Li et al. 2016; CoCo, table 7)."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_GRAM = 4
_BITS = 32
"""A word's number takes so many bits of the number of an n-gram."""


class Grams:
    """Distinct n-grams over all n-grams, letter case apart (table 7; Li et al. 2016).

    The share falls as a corpus grows: only corpora of one size can be compared by it.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._all = [0] * LONGEST_GRAM
        # Numbers take half the memory of tuples of words.
        self._kinds: list[set[int]] = [set() for _ in range(LONGEST_GRAM)]

    def add(self, words: Sequence[str], known: int = 0) -> None:
        """Count the n-grams of a text; those within its first `known` words were met before."""
        new = words[max(0, known - LONGEST_GRAM + 1) :]
        numbers = [self._numbers.setdefault(word.casefold(), len(self._numbers) + 1) for word in new]
        grams = numbers
        for size, kinds in enumerate(self._kinds):
            if size:
                grams = [gram << _BITS | number for gram, number in zip(grams, numbers[size:], strict=False)]
            kinds.update(grams)
            self._all[size] += max(0, len(words) - size)

    def distinct(self, n: int) -> float:
        """The share of distinct ones among all n-grams."""
        return len(self._kinds[n - 1]) / self._all[n - 1] if self._all[n - 1] else 0.0

    def shares(self) -> dict[str, float]:
        """The share for each length of n-grams."""
        return {str(n): self.distinct(n) for n in range(1, LONGEST_GRAM + 1)}


def stutters(words: Sequence[str]) -> bool:
    """Whether one to three words are said twice in a row."""
    return any(
        words[at : at + size] == words[at + size : at + 2 * size]
        for size in (1, 2, 3)
        for at in range(len(words) - 2 * size + 1)
    )
