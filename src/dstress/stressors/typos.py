"""Typing errors, one of RADDLE's language variations (Peng et al. 2021, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from random import Random
from typing import Literal, get_args

from dstress.errors import SpecError
from dstress.stressors.base import Rewriter
from dstress.text.edits import replace_places
from dstress.text.tables import read_table, word_sets
from dstress.text.tokens import LETTERS
from dstress.text.utterance import Ranges, draw, free_matches

Kind = Literal["neighbour", "swap", "drop", "double"]

_words = word_sets(__package__, "data/typos.toml")

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
        words = list(LETTERS.finditer(utterance))
        hits = int(self.rate * len(words) + random.random())
        if not hits:
            return utterance
        untouched = _words("untouched.words")
        open_words = [
            word
            for word in (words if self.values else free_matches(words, protected))
            if word.end() - word.start() >= SHORTEST and word.group().lower() not in untouched
        ]
        if hits < len(open_words):
            # Drawn without repeats, each weighted by its length: the largest of u ** (1 / weight) are such a draw
            # (Efraimidis and Spirakis 2006), in one pass, also for long texts.
            keyed = [(random.random() ** (1 / (word.end() - word.start())), word.start(), word) for word in open_words]
            open_words = [word for _, _, word in sorted(sorted(keyed)[-hits:], key=itemgetter(1))]
        return replace_places(
            utterance, ((*word.span(), misspell(word.group(), self.kinds, random)) for word in open_words)
        )


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
    near = read_table(__package__, "data/typos.toml")["neighbours"].get(word[at].lower(), "")
    return word[:at] + _cased(draw(near, random), word[at]) + word[at + 1 :] if near else word


def _cased(letter: str, like: str) -> str:
    """One letter in the case of another; letters whose other case is longer, such as `ß`, stay."""
    changed = letter.upper() if like.isupper() else letter.lower()
    return changed if len(changed) == 1 else letter
