"""The confusion model at work: mishear words as the channel would, without audio.

Walk through the words; an error region begins at a word with the word's own probability, takes a stretch that the
channel was heard to confuse, or a shape that it uses at this error rate, filled with words that sound alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

from dstress.stressors.audio.confusions import LONGEST, Fit, Mix, blend
from dstress.stressors.audio.sounds import Lookalikes
from dstress.stressors.audio.word_errors import WordErrors, total, word_errors

T = TypeVar("T")
PRIOR = 6.0
"""A word's own rate counts for as much as the average of words of its length after so many times."""

TRUST = 2.0
"""Stretches that were confused so often are confused in the same ways half of the time, else as any stretch."""

_ROUNDS = 6
_HALVINGS = 12
_LONG_WORD = 8
Shape = tuple[int, int]


class _Draw(Generic[T]):
    """Weighted choice, one random number each."""

    __slots__ = ("items", "sums")

    def __init__(self, weights: Sequence[tuple[T, float]]) -> None:
        self.items = [item for item, _ in weights]
        self.sums = list(accumulate(weight for _, weight in weights))

    def __call__(self, random: Random) -> T:
        return random.choices(self.items, cum_weights=self.sums)[0]


class Mishearing:
    """Mishears at a word error rate, with the errors that a kind of noise makes at that rate."""

    def __init__(self, fit: Fit, noise: str, wer: float) -> None:
        self.wer = wer
        self.target = blend(fit.levels[noise], wer)
        self._fit = fit
        self._like = Lookalikes(fit.heard)
        self._substitutes: dict[str, _Draw[str]] = {}
        self._known: dict[str, _Draw[tuple[str, str]] | None] = {}
        self._bias, self._dropping, self._adding = 0.0, 1.0, 1.0
        self._rates = self._smoothed_rates()
        self._first_words = self._by_first_word()
        self._every_shape = _pooled_shapes(fit)
        self._set(0.0, 1.0, 1.0)

    def mishear(self, words: Sequence[str], random: Random) -> list[str]:
        """What might be heard."""
        heard: list[str] = []
        at, count = 0, len(words)
        chance, begins, slip = random.random, self._begins, self._slip
        while at < count:
            if chance() < slip:
                heard += self._extra(random)
            word = words[at]
            if chance() >= (begins.get(word) or self._begin(word)):
                heard.append(word)
                at += 1
                continue
            taken, came = self._region(words[at : at + LONGEST], random)
            heard += came
            at += taken
        if chance() < slip:
            heard += self._extra(random)
        return heard

    def tune(self, sample: Sequence[Sequence[str]]) -> WordErrors:
        """Set the rate and the mix so that they come out right on some utterances; gives what comes out."""
        found = WordErrors()
        for _ in range(_ROUNDS):
            found = self._tune_rate(sample)
            dropping = self._dropping * _ratio(self.target.mix[1], found.mix[1])
            adding = self._adding * _ratio(self.target.mix[2], found.mix[2])
            self._set(self._bias, dropping, adding)
        return self._tune_rate(sample)

    def _tune_rate(self, sample: Sequence[Sequence[str]]) -> WordErrors:
        low, high = self._bias - 3.0, self._bias + 3.0
        found = WordErrors()
        for _ in range(_HALVINGS):
            self._set((low + high) / 2, self._dropping, self._adding)
            found = self.measure(sample)
            low, high = (low, self._bias) if found.rate > self.wer else (self._bias, high)
        return found

    def measure(self, sample: Sequence[Sequence[str]]) -> WordErrors:
        """The errors that it makes on some utterances, always with the same random numbers."""
        return total(word_errors(said, self.mishear(said, Random(place))) for place, said in enumerate(sample))

    def _set(self, bias: float, dropping: float, adding: float) -> None:
        """`bias` is added to every word's log-odds; the others weigh shapes that lose and that add words."""
        self._bias, self._dropping, self._adding = bias, dropping, adding
        self._begins = {word: _shifted(rate, bias) for word, rate in self._rates.items()}
        weights = [(_shape(name), weight) for name, weight in self.target.shapes.items()]
        self._shapes = [
            _Draw([(shape, self._weigh(shape) * weight) for shape, weight in weights if 0 < shape[0] <= left] or [((1, 1), 1.0)])
            for left in range(LONGEST + 1)
        ]
        regions = sum(weight for shape, weight in weights if shape[0])
        extra = sum(weight for shape, weight in weights if not shape[0])
        average = self._average_rate()
        self._slip = min(0.5, adding * _shifted(average, bias) * extra / regions) if regions else 0.0
        self._known.clear()

    def _weigh(self, shape: Shape) -> float:
        said, came = shape
        return self._dropping if came < said else self._adding if came > said else 1.0

    def _smoothed_rates(self) -> dict[str, float]:
        """How often an error begins at each word; rare words lean on others of their length."""
        tried: Counter[int] = Counter()
        begun: Counter[int] = Counter()
        for word, (times, errors) in self._fit.words.items():
            size = min(len(word), _LONG_WORD)
            tried[size] += times
            begun[size] += errors
        overall = (sum(begun.values()) + 1) / (sum(tried.values()) + 2)
        self._by_length = {
            size: (begun[size] + PRIOR * overall) / (tried[size] + PRIOR) for size in range(_LONG_WORD + 1)
        }
        return {
            word: (errors + PRIOR * self._by_length[min(len(word), _LONG_WORD)]) / (times + PRIOR)
            for word, (times, errors) in self._fit.words.items()
        }

    def _average_rate(self) -> float:
        times = sum(tried for tried, _ in self._fit.words.values())
        return sum(begun for _, begun in self._fit.words.values()) / times if times else 0.1

    def _begin(self, word: str) -> float:
        """For a word that was never said: that of its length."""
        return _shifted(self._by_length[min(len(word), _LONG_WORD)], self._bias)

    def _by_first_word(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for said in self._fit.regions:
            if said:
                words = tuple(said.split())
                found.setdefault(words[0], []).append(words)
        return found

    def _region(self, ahead: Sequence[str], random: Random) -> tuple[int, Sequence[str]]:
        """How many of the words ahead go, and what is heard for them."""
        for said in self._first_words.get(ahead[0], ()):
            if len(said) > 1 and tuple(ahead[: len(said)]) == said and random.random() < self._trust(said):
                return len(said), self._seen(said)(random).split()
        if (ahead[0],) in self._first_words.get(ahead[0], ()) and random.random() < self._trust((ahead[0],)):
            return 1, self._seen((ahead[0],))(random).split()
        said_count, came_count = self._shapes[min(len(ahead), LONGEST)](random)
        return said_count, self._filled(ahead[:said_count], came_count, random)
