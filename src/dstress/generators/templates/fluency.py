"""How usual a wording is in the training corpus: a trigram model over delexicalised utterances.

It is there to keep odd spelling and odd grammar out of the templates, so it is needed only while learning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from dstress.generators.templates.tokens import bare, is_mark, is_placeholder, slot_in

_THREE, _TWO, _ONE = 0.6, 0.3, 0.1
_LEAST = 0.15
_SKIPPED = frozenset('.,?!;"')


class Fluency:
    """Counts of runs of three tokens; marks do not count, for people leave them out."""

    def __init__(self, utterances: Iterable[Sequence[str]]) -> None:
        self._runs: Counter[tuple[str, ...]] = Counter()
        self.words: Counter[str] = Counter()
        self._total = 0
        for utterance in utterances:
            tokens = _abstracted(utterance)
            self.words.update(tokens)
            padded = ["<", "<", *tokens, ">"]
            self._total += len(padded)
            for at in range(2, len(padded)):
                self._runs[padded[at - 2], padded[at - 1], padded[at]] += 1
                self._runs[padded[at - 1], padded[at]] += 1
                self._runs[(padded[at],)] += 1
                self._runs[padded[at - 2], padded[at - 1], ""] += 1
                self._runs[(padded[at - 1], "")] += 1

    def of(self, utterance: Sequence[str]) -> float:
        """The mean log-probability of a token, and a share of that of the least likely one: a chain breaks there."""
        padded = ["<", "<", *_abstracted(utterance), ">"]
        steps = [log(self._step(*padded[at - 2 : at + 1])) for at in range(2, len(padded))]
        return sum(steps) / len(steps) + _LEAST * min(steps)

    def _step(self, first: str, second: str, third: str) -> float:
        runs = self._runs
        three, before = runs[first, second, third], runs[first, second, ""]
        two, last = runs[second, third], runs[second, ""]
        return (
            (_THREE * three / before if before else 0)
            + (_TWO * two / last if last else 0)
            + _ONE * (runs[third,] + 1) / (self._total + 1)
        )


def _abstracted(tokens: Sequence[str]) -> list[str]:
    """Placeholders by their bare names, so that services that are alike learn from each other; no marks."""
    return [
        f"[{bare(slot_in(token))}]" if is_placeholder(token) else token
        for token in tokens
        if token not in _SKIPPED and not is_mark(token)
    ]
