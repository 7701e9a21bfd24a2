"""The evaluation of DSTC8 track 4, the standard of SGD and SGD-X: fuzzy, and by frame."""

from __future__ import annotations

from typing import ClassVar

from dstress.conventions.base import UNKNOWN_SLOT, Convention, Unit
from dstress.conventions.fuzzy import Backend, token_sort_ratio
from dstress.dialogue import Slot


class Dstc8(Convention):
    """Categorical: the first reference, in any case. Other: the best `token_sort_ratio` over all references.

    Joint accuracy is the product of the similarities, so a near miss in one slot costs part of the frame. `fuzz` is
    what fuzzywuzzy computes with: `indel` with python-Levenshtein installed, `difflib` without. Published numbers
    hang on it. `fuzzy=false` is `--use_fuzzy_match=False`: equality with any reference, letter case included. Only
    slots of the schema and services with a reference frame in the turn are looked at.
    """

    name = "dstc8"
    unit: ClassVar[Unit] = "frame"
    within_schema = True

    def __init__(self, fuzz: Backend = "indel", fuzzy: bool = True) -> None:
        self._backend: Backend = fuzz
        self.fuzz = fuzz if fuzzy else ""
        """What signatures name; nothing where nothing is fuzzy."""

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        if kind.categorical:
            return float(accepted[0].lower() == predicted.lower())
        if not self.fuzz:
            return float(predicted in accepted)
        # The same text is a full match, and by far the most frequent one, unless nothing of it is left to compare.
        if predicted in accepted and predicted[:1].isascii() and predicted[:1].isalnum():
            return 1.0
        return max(token_sort_ratio(reference, predicted, self._backend) for reference in accepted) / 100.0
