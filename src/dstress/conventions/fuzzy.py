"""Similarity of two texts in whole percent, equal to fuzzywuzzy 0.18 digit for digit.

The scripts of DSTC8 and mwzeval call fuzzywuzzy, which measures with python-Levenshtein where that is installed and
with difflib where it is not. The two differ, so every function here takes the back end by name. rapidfuzz does the
work, but its own `token_sort_ratio` and `partial_ratio` do not round, treat letters beyond ASCII otherwise, and align
substrings otherwise: they would not give the published numbers.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal

from rapidfuzz.distance import Indel, Levenshtein

Backend = Literal["indel", "difflib"]
_NO_LETTER = re.compile(r"\W")
# fuzzywuzzy "forces ASCII" by dropping the upper half of Latin-1 only: `é` goes, `ő` and typographic quotes stay.
_DROPPED = dict.fromkeys(range(128, 256))
_AS_GOOD_AS_WHOLE = 0.995


def token_sort_ratio(reference: str, hypothesis: str, backend: Backend = "indel") -> int:
    """0 to 100: how alike two texts are, whatever the order of their words."""
    if reference == hypothesis:
        return 100
    left, right = sorted_words(reference), sorted_words(hypothesis)
    if left == right:
        return 100
    return round(100 * _ratio(left, right, backend)) if left and right else 0


def partial_ratio(left: str, right: str, backend: Backend = "indel") -> int:
    """0 to 100: how alike the shorter text is to the stretch of the longer one that fits it best.

    Only stretches that start where a matching block would put them are tried, as in fuzzywuzzy; so the best stretch
    may be missed, and the numbers differ from rapidfuzz's.
    """
    if left == right:
        return 100
    if not left or not right:
        return 0
    shorter, longer = (left, right) if len(left) <= len(right) else (right, left)
    best = 0.0
    for start in _starts(shorter, longer, backend):
        ratio = _ratio(shorter, longer[start : start + len(shorter)], backend)
        if ratio > _AS_GOOD_AS_WHOLE:
            return 100
        best = max(best, ratio)
    return round(100 * best)


def sorted_words(text: str) -> str:
    """The words of a text, lower-cased and sorted; everything but letters and digits only parts them."""
    kept = text if text.isascii() else text.translate(_DROPPED)
    return " ".join(sorted(_NO_LETTER.sub(" ", kept).lower().split()))


def _ratio(left: str, right: str, backend: Backend) -> float:
    if backend == "indel":
        return Indel.normalized_similarity(left, right)
    return SequenceMatcher(None, left, right).ratio()


def _starts(shorter: str, longer: str, backend: Backend) -> list[int]:
    """Where the shorter text would begin in the longer one, for each of their matching blocks."""
    if backend == "indel":
        blocks = [(block.a, block.b) for block in Levenshtein.editops(shorter, longer).as_matching_blocks()]
    else:
        blocks = [(block.a, block.b) for block in SequenceMatcher(None, shorter, longer).get_matching_blocks()]
    return list(dict.fromkeys(max(in_longer - in_shorter, 0) for in_shorter, in_longer in blocks))
