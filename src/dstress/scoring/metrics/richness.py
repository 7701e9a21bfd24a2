"""How rich a system's language is: mwzeval's figures of diversity and length."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np

from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats, Metric, over_units
from dstress.scoring.metrics.bleu import unified, unified_responses
from dstress.text.placeholders import Placeholders

_MARKS = re.compile(r"``|['.,?!)(%/\-_:;]")
_WINDOW = 50


class Richness(Metric):
    """Words in a response, on average; a scorecard's `richness` has the entropies and counts beside it (mwzeval).

    Only the mean is a matter of sums; the other figures are of all responses together, so they have no interval.
    """

    name = "richness"
    by_turn = True
    on_request = reads_responses = True
    needs_states = restrictable = False
    unit = "words"

    def missing(self, alignment: Alignment) -> str:
        spoken = any(prediction.response is not None for prediction in alignment.columns.predictions)
        return "" if spoken else "the predictions have no responses"

    def statistics(self, alignment: Alignment) -> Floats:
        responses = unified_responses(alignment.columns)
        return over_units(np.array([float(len(_words(response))) for response in responses]))


class Diversity:
    """Words of responses in their order, counted as they come."""

    def __init__(self, placeholders: Placeholders) -> None:
        self._placeholders = placeholders
        self._responses = 0
        self._words: list[str] = []
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._trigrams: set[tuple[str, str, str]] = set()

    def add(self, response: str) -> None:
        """One more response."""
        words = _words(unified(response, self._placeholders))
        self._responses += 1
        self._words += words
        self._bigrams.update(pairwise(words))
        self._trigrams.update(zip(words, words[1:], words[2:], strict=False))

    def figures(self) -> dict[str, float]:
        """The script's seven figures; entropies are in bits, `msttr` is of stretches of fifty words."""
        if not self._responses:
            return {}
        words, total = Counter(self._words), len(self._words)
        shares = np.array(list(words.values())) / total
        followed = np.array(list(self._bigrams.values()), np.float64)
        # Different words in a stretch, over its length; the rest that is shorter counts only where it is all.
        starts = range(0, max(1, total - _WINDOW + 1), _WINDOW)
        stretches = [self._words[start : start + _WINDOW] for start in starts]
        led = np.array([words[first] for first, _ in self._bigrams], np.float64)
        return {
            "entropy": float(-(shares * np.log2(shares)).sum()),
            "cond_entropy": float(-(followed / total * np.log2(followed / led)).sum()),
            "avg_lengths": total / self._responses,
            "msttr": float(np.mean([len(set(stretch)) / len(stretch) for stretch in stretches])),
            "num_unigrams": len(words),
            "num_bigrams": len(self._bigrams),
            "num_trigrams": len(self._trigrams),
        }


def _words(response: str) -> list[str]:
    """The words of a response as the script's library parts them: at blanks, without marks; an empty one has one."""
    return re.sub(r"\s+", " ", _MARKS.sub("", response)).lower().split(" ")
