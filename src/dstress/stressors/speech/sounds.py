"""Words that sound alike, by their letters alone: for words whose confusions were never heard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from dstress.text.tables import read_table

_NEAREST = 8
_SHARPNESS = 3
"""How much a nearer word is preferred."""


@cache
def _rules(table: str) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), letters) for pattern, letters in read_table(__package__, table)["rules"]]


@lru_cache(maxsize=65536)
def sound_of(word: str) -> str:
    """A rough phonetic spelling."""
    for pattern, sound in _rules("sounds.toml"):
        word = pattern.sub(sound, word)
    return word


def respell(word: str) -> Iterator[str]:
    """The word in other letters for the same sound."""
    for pattern, other in _rules("respelling.toml"):
        spelt = pattern.sub(other, word, count=1)
        if spelt != word and sound_of(spelt) == sound_of(word):
            yield spelt


class SoundAlikes:
    """Finds, for any word, words of a vocabulary that sound like it."""

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        self.words = sorted(frequencies)
        self.sounds = [sound_of(word) for word in self.words]
        self.frequencies = [frequencies[word] for word in self.words]

    def find(self, word: str) -> list[tuple[str, float]]:
        """The nearest words and their weights: the nearer and the more frequent, the likelier."""
        nearest = process.extract(
            sound_of(word), self.sounds, scorer=Levenshtein.normalized_similarity, processor=None, limit=_NEAREST + 1
        )
        weights = []
        for _, similarity, place in nearest:
            if self.words[place] != word:
                weight = (0.05 + similarity) ** _SHARPNESS * self.frequencies[place] ** 0.5
                weights.append((self.words[place], weight))
        return weights[:_NEAREST]
