"""Typing errors, one of RADDLE's language variations (Peng et al. 2021, section 4.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Literal, NamedTuple, get_args

from dstress.errors import SpecError
from dstress.stressors.base import Rewriter
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges, free_matches

Kind = Literal["neighbour", "swap", "drop", "double"]

_WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 3
"""Words shorter than this stay whole: "to" would become another word more often than a misspelt one."""
FIRST_LETTER = 0.05
"""Share of the errors that hit a word's first letter. Kukich's survey (1992) has counts from 1 to 15 %."""


class Typos(Rewriter):
    """Typing errors as fingers make them: neighbouring key, swap, drop, double. Values stay whole unless asked.

    `rate` is the share of all words that are hit, each once. RADDLE gives no rate for its workers' typos; 0.1 is one or
    two in a usual sentence. Long words are hit more often, in proportion to their letters. `values=true` lets errors
    into the values themselves: then the text may no longer say what the state expects, a harder test.
    """

    languages = ("en",)

    def __init__(self, rate: float = 0.1, kinds: tuple[Kind, ...] = get_args(Kind), values: bool = False) -> None:
        if not 0 < rate <= 1:
            raise SpecError(f"typos: rate={rate} is no share of the words", fix="give a rate above 0, at most 1")
        if not kinds:
            raise SpecError("typos: kinds is empty", fix=f"name some of {', '.join(get_args(Kind))}")
        self.rate, self.kinds, self.values = rate, tuple(kinds), values
        self.guarded = not values

    def rewrite(self, utterance: str, protected: Ranges, random: Random) -> str:
        """The utterance with `rate` of its words misspelt; words in protected ranges count, but stay."""
        words = list(_WORD.finditer(utterance))
        hits = int(self.rate * len(words) + random.random())
        if not hits:
            return utterance
        untouched = _tables().untouched
        open_words = [
            word
            for word in (words if self.values else free_matches(words, protected))
            if word.end() - word.start() >= SHORTEST and word.group().lower() not in untouched
        ]
        parts: list[str] = []
        at = 0
        for word in _draw(open_words, hits, random):
            parts += utterance[at : word.start()], misspell(word.group(), self.kinds, random)
            at = word.end()
        return "".join(parts) + utterance[at:]


def _draw(words: list[re.Match[str]], count: int, random: Random) -> list[re.Match[str]]:
    """`count` of the words in their order, drawn without repeats, each weighted by its length.

    The largest of u ** (1 / weight) are such a draw (Efraimidis and Spirakis 2006): one pass, also for long texts.
    """
    if count >= len(words):
        return words
    keyed = [(random.random() ** (1 / (word.end() - word.start())), word.start(), word) for word in words]
    return [word for _, _, word in sorted(sorted(keyed)[-count:], key=lambda entry: entry[1])]


def misspell(word: str, kinds: Sequence[Kind], random: Random) -> str:
    """The word with one typing error of one of these kinds; as it is if none of them can change it."""
    for kind in random.sample(kinds, len(kinds)):
        at = 0 if random.random() < FIRST_LETTER else 1 + int(random.random() * (len(word) - 1))
        slipped = _slip(word, kind, at, random)
        if slipped != word:
            return slipped
    return word


def _slip(word: str, kind: Kind, at: int, random: Random) -> str:
    if kind == "drop":
        return word[:at] + word[at + 1 :] if at else word[1:2] + word[2:] if word.islower() else word
    if kind == "double":
        return word[:at] + word[at] + (word[at] if at or word.islower() else word[at].lower()) + word[at + 1 :]
    if kind == "swap":
        at = min(at, len(word) - 2)
        first, second = word[at], word[at + 1]
        # The shift key goes with the place, not with the letter: "Hello" gives "Ehllo".
        return word[:at] + _cased(second, first) + _cased(first, second) + word[at + 2 :]
    near = _tables().neighbours.get(word[at].lower(), "")
    return word[:at] + _cased(near[int(random.random() * len(near))], word[at]) + word[at + 1 :] if near else word


def _cased(letter: str, like: str) -> str:
    """One letter in the case of another; letters whose other case is longer, such as `ß`, stay."""
    changed = letter.upper() if like.isupper() else letter.lower()
    return changed if len(changed) == 1 else letter


class _Tables(NamedTuple):
    """Keys beside each letter's, and words that stay whole."""

    neighbours: dict[str, str]
    untouched: frozenset[str]


@cache
def _tables() -> _Tables:
    table = read_table(__package__, "data/typos.toml")
    return _Tables(table["neighbours"], frozenset(table["untouched"]["words"]))
