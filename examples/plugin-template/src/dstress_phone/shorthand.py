"""The stressor `shorthand`."""

import random as randomness
import re
from collections.abc import Sequence

from dstress.api import Rewriter

SHORT = {"please": "pls", "you": "u", "are": "r", "thanks": "thx", "tomorrow": "tmrw", "see": "c", "people": "ppl"}


class Shorthand(Rewriter):
    """Words as they are typed on a phone; the words that say values stay as they are."""

    def __init__(self, rate: float = 0.8) -> None:
        self.rate = rate

    def rewrite(self, utterance: str, protected: Sequence[tuple[int, int]], random: randomness.Random) -> str:
        """The utterance with some words shortened. `random` is the only randomness there may be."""
        kept = {place for start, end in protected for place in range(start, end)}

        def shorten(match: re.Match[str]) -> str:
            word = match[0]
            free = kept.isdisjoint(range(match.start(), match.end()))
            return SHORT.get(word.lower(), word) if free and random.random() < self.rate else word

        return re.sub(r"[A-Za-z]+", shorten, utterance)
