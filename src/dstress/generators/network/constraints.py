"""What a beam search may say next, so that every value that must be said is said, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import LogitsProcessor

from dstress.generators.network.vocabulary import SPECIAL, Vocabulary

LONGEST = 40
"""Words of an utterance."""
_NEXT_VALUE = 8
"""Where values are forced, so many words after the last the next one comes at the latest."""


class Placeholders(NamedTuple):
    """The placeholders that must be said, and those that may be."""

    required: list[int]
    allowed: list[int]


class Constraints(LogitsProcessor):  # type: ignore[misc]
    """Bars the words that may not come next.

    A beam keeps only the likeliest hypotheses, and where a goal combines slots that people seldom say together, none of
    those may ever get to a value. `forces_values` has every hypothesis come to each within a number of words: those
    that do so in a natural way are then the likeliest.
    """

    def __init__(
        self, vocabulary: Vocabulary, goals: Sequence[Placeholders], beams: int, device: Any, *, forces_values: bool
    ) -> None:
        def mark(rows: Sequence[Sequence[int]]) -> Any:
            table = torch.zeros(len(rows), len(vocabulary), dtype=torch.bool)
            for row, words in zip(table, rows, strict=True):
                row[list(words)] = True
            return table.to(device)

        self.end, self.forces_values = vocabulary.end, forces_values
        self.values = mark([vocabulary.values])
        self.required = mark([goal.required for goal in goals]).repeat_interleave(beams, dim=0)
        allowed = mark([goal.allowed for goal in goals]).repeat_interleave(beams, dim=0)
        special = [number for number in range(len(SPECIAL)) if number != self.end]
        self.never = mark([special]) | (self.values & ~allowed)
        self.apart = (LONGEST // (self.required.sum(dim=1) + 1)).clamp(max=_NEXT_VALUE)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores of the next words, after what each hypothesis has said so far."""
        words = input_ids.shape[1] - 1  # it begins with the word that starts
        said = torch.zeros_like(self.required).scatter(1, input_ids, value=True)
        due = self.required & ~said
        is_due = due.any(dim=1)
        barred = self.never | (self.values & said)
        barred[:, self.end] = is_due
        # Nobody says a word twice in a row, but small networks stutter.
        barred.scatter_(1, input_ids[:, -1:], value=True)
        if self.forces_values:
            met = (self.required & said).sum(dim=1)
            is_late = is_due & (words >= (met + 1) * self.apart)
            barred |= is_late[:, None] & ~due
        if words == LONGEST - 1:  # what has not ended by now is no utterance
            barred[:, : self.end] = barred[:, self.end + 1 :] = True
        return scores.masked_fill(barred, float("-inf"))
