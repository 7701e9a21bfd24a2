"""Word errors: substitutions, deletions and insertions against what was spoken, and the rate that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from dstress.stressors.speech.spoken import comparable


class WordErrors(NamedTuple):
    """Errors among `words` spoken words."""

    words: int = 0
    substituted: int = 0
    deleted: int = 0
    inserted: int = 0

    @property
    def errors(self) -> int:
        """All of them."""
        return self.substituted + self.deleted + self.inserted

    @property
    def rate(self) -> float:
        """The word error rate; insertions can bring it above 1."""
        return self.errors / self.words if self.words else 0.0

    @property
    def mix(self) -> tuple[float, float, float]:
        """The shares of substitutions, deletions and insertions among the errors."""
        every = self.errors or 1
        return self.substituted / every, self.deleted / every, self.inserted / every


def word_errors(spoken: Sequence[str], heard: Sequence[str]) -> WordErrors:
    """The fewest errors that turn what was spoken into what was heard; other spellings of a word are none."""
    spoken, heard = comparable(spoken), comparable(heard)
    counts = {"replace": 0, "delete": 0, "insert": 0}
    for operation in Levenshtein.editops(spoken, heard):
        counts[operation.tag] += 1
    return WordErrors(len(spoken), counts["replace"], counts["delete"], counts["insert"])


def total(errors: Iterable[WordErrors]) -> WordErrors:
    """Errors of many utterances, pooled: long ones weigh more."""
    columns = list(zip(*errors, strict=True)) or [(0,)] * 4
    return WordErrors(*map(sum, columns))
