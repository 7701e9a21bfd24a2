"""What disfluent speakers add, and how it is written: the phrases of `disfluency.toml`."""

from __future__ import annotations

from bisect import bisect
from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple

from dstress.text.tables import read_table
from dstress.text.writing_style import WritingStyle, write


class WeightedPhrases:
    """Phrases with weights, to draw from."""

    def __init__(self, weights: dict[str, float]) -> None:
        self.phrases = tuple(weights)
        self._bounds = list(accumulate(weights.values()))

    def draw(self, random: Random) -> str:
        """One phrase."""
        return self.phrases[bisect(self._bounds, random.random() * self._bounds[-1])]


class Phrases(NamedTuple):
    """Fillers by their place, editing terms of repairs, and the breaks and other beginnings of restarts."""

    first: WeightedPhrases
    lead: WeightedPhrases
    inside: WeightedPhrases
    value: WeightedPhrases
    terms: WeightedPhrases
    breaks: WeightedPhrases
    starts: dict[str, tuple[str, ...]]


@cache
def phrases() -> Phrases:
    """The phrases, read once."""
    table = read_table(__package__, "disfluency.toml")
    filled, restarts = table["filled"], table["restarts"]
    return Phrases(
        first=WeightedPhrases(filled["first"]),
        lead=WeightedPhrases(filled["lead"]),
        inside=WeightedPhrases(filled["inside"]),
        value=WeightedPhrases(filled["value"]),
        terms=WeightedPhrases(table["repairs"]["terms"]),
        breaks=WeightedPhrases(restarts["breaks"]),
        starts={word: tuple(opening["starts"]) for opening in restarts["openings"] for word in opening["before"]},
    )


class AdditionStyle(NamedTuple):
    """How an addition is written: in the utterance's manner, with or without commas."""

    manner: WritingStyle
    has_commas: bool

    def write(self, phrase: str) -> str:
        """A phrase of plain English with its commas, or without them."""
        return write(phrase if self.has_commas else phrase.replace(",", ""), self.manner)

    def append(self, words: str, phrase: str) -> str:
        """The words, which stay as they are, and behind them a phrase that begins with a comma or a blank."""
        return words + self.write(f"x{phrase}")[1:]
