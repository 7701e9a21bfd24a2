"""Noise on words, after LAUG's word perturbation (Liu et al. 2021).

LAUG applies EDA's operations (Wei and Zou 2019: replace with a synonym, insert a synonym, swap, delete) with the task
in mind: what carries the label stays. So do we, and further: EDA draws synonyms from WordNet, and inserts, deletes and
swaps any word; here what may be said, go or change places comes from lists made for service dialogues, so that a
negation, a number, a question word or the preposition in "from Ely to Norwich" never goes and the sentence stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Literal, NamedTuple, get_args

from dstress.errors import SpecError
from dstress.stressors.base import Rewriter
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges, free_matches
from dstress.text.writing_style import capitalise

Kind = Literal["replace", "insert", "swap", "delete"]

_WORD = re.compile(r"n['’]t\b|['’]?\w+(?:['’]\w+)*(?: -[a-z]{1,3}\b)?")
"""A word with the ending that some corpora write apart: "hotel -s", "moderate -ly"."""
_ARTICLE = re.compile(r"(?<!\w)(an?)\s$", re.IGNORECASE)
_DELETABLE = re.compile(r" \w")
_SENTENCE_ENDS = ("", ".", "!", "?")


class WordNoise(Rewriter):
    """Words replaced by synonyms, inserted, swapped with a neighbour and deleted. Values stay whole.

    As in EDA, `rate` times the number of words are changed, at least one where any can be; each change draws one of
    `kinds`. No word is changed twice.
    """

    languages = ("en",)

    def __init__(self, rate: float = 0.1, kinds: tuple[Kind, ...] = get_args(Kind)) -> None:
        if not 0 < rate <= 1:
            raise SpecError(f"word_noise: rate={rate} is no share of the words", fix="give a rate above 0, at most 1")
        if not kinds:
            raise SpecError("word_noise: kinds is empty", fix=f"name some of {', '.join(get_args(Kind))}")
        self.rate, self.kinds = rate, tuple(kinds)

    def rewrite(self, utterance: str, protected: Ranges, random: Random) -> str:
        """The utterance with some of its words changed; words in protected ranges count, but stay."""
        lower = utterance.lower()
        every = list(_WORD.finditer(lower))
        words = list(free_matches(every, protected)) if protected else every
        if not words or len(lower) != len(utterance):  # a longer small letter, as in Turkish: places would not agree
            return utterance
        count = max(1, int(self.rate * len(every)))
        parts: list[str] = []
        at = 0
        everywhere = _places(_covered(utterance, protected), words)
        places = {kind: everywhere[kind] for kind in self.kinds if everywhere[kind]}
        for start, end, text in sorted(_draw(utterance, words, places, count, random)):
            parts += utterance[at:start], text
            at = end
        return "".join(parts) + utterance[at:]


_Word = re.Match[str]
_Change = tuple[int, int, str]
"""From a character to another (exclusive), and what stands there now."""


_Place = tuple[int, int]
"""The numbers of the first and the last word of a change."""


class _Tables(NamedTuple):
    """What `word_noise.toml` has; all but `synonyms` and `deleted` go by two neighbours."""

    synonyms: dict[str, list[str]]
    inserted: dict[str, list[str]]
    deleted: frozenset[str]
    opening: frozenset[str]
    second: frozenset[str]
    swapped: frozenset[str]
    fixed: frozenset[str]


def _covered(text: str, protected: Ranges) -> str:
    """The text with letters over what is protected, so that no blank in there is taken for one between words."""
    for start, end in protected:
        if not text[start].isalnum():
            text = f"{text[:start]}{'x' * (end - start)}{text[end:]}"
    return text


def _draw(text: str, words: list[_Word], places: dict[Kind, list[_Place]], count: int, random: Random) -> list[_Change]:
    """Up to `count` changes at places drawn by chance; a kind that has no place left gives way to the others."""
    kinds = list(places)
    taken: set[int] = set()
    changes: list[_Change] = []
    while kinds and len(changes) < count:
        kind = kinds[int(random.random() * len(kinds))]
        left = places[kind]
        chosen = int(random.random() * len(left))
        left[chosen], left[-1] = left[-1], left[chosen]
        first, last = left.pop()
        if not left:
            kinds.remove(kind)
        if first not in taken and last not in taken:
            taken.update((first, last))
            changes.append(_CHANGES[kind](text, words[first], words[last], random))
    return changes


def _places(text: str, words: list[_Word]) -> dict[Kind, list[_Place]]:
    """Where each kind of change can be made."""
    synonyms, inserted, deleted, opening, second, swapped, fixed = _tables()
    places: dict[Kind, list[_Place]] = {"replace": [], "insert": [], "swap": [], "delete": []}
    texts = [word.group() for word in words]
    pairs = [*_pairs(text, words, texts), ""]
    before = ""
    for number, (word, pair) in enumerate(zip(texts, pairs, strict=True)):
        is_fixed = pair in fixed or before in fixed
        if pair in synonyms:
            places["replace"].append((number, number + 1))
        elif word in synonyms and not is_fixed:
            places["replace"].append((number, number))
        if pair in inserted and before not in fixed:
            places["insert"].append((number, number + 1))
        if pair in swapped and not is_fixed and pairs[number + 1] not in fixed:
            places["swap"].append((number, number + 1))
        goes = (word in deleted or before in second) and not is_fixed
        if (goes and _DELETABLE.match(text, words[number].end())) or (
            pair in opening and _opens_sentence(text, words[number].start())
        ):
            places["delete"].append((number, number + 1 if pair else number))
        before = pair
    return places


def _pairs(text: str, words: list[_Word], texts: list[str]) -> Iterator[str]:
    """Each word with the next one, if only a blank parts them; empty if something else, such as a value, does."""
    end = -2
    for number, word in enumerate(words):
        start = word.start()
        if number:
            yield f"{texts[number - 1]} {texts[number]}" if start == end + 1 and text[end] == " " else ""
        end = word.end()


def _replace(text: str, first: _Word, last: _Word, random: Random) -> _Change:
    phrase = first.group() if first is last else f"{first.group()} {last.group()}"
    options = _agreeing(text, first.start(), _tables().synonyms[phrase])
    if not options:
        return first.start(), first.start(), ""
    chosen = options[int(random.random() * len(options))]
    return first.start(), last.end(), capitalise(chosen) if text[first.start()].isupper() else chosen


def _agreeing(text: str, place: int, options: list[str]) -> list[str]:
    """Those that can follow on the article before them: "an option", but "a choice"."""
    article = _ARTICLE.search(text, max(0, place - 4), place)
    if not article:
        return options
    return [option for option in options if (option[0] in "aeiou") == (article.group(1).lower() == "an")]


def _insert(text: str, first: _Word, last: _Word, random: Random) -> _Change:
    options = _tables().inserted[f"{first.group()} {last.group()}"]
    return last.start(), last.start(), options[int(random.random() * len(options))] + " "


def _swap(text: str, first: _Word, last: _Word, random: Random) -> _Change:
    left, right = text[first.start() : first.end()], text[last.start() : last.end()]
    if left[0].isupper() and _opens_sentence(text, first.start()):
        left, right = left if left == "I" else left[0].lower() + left[1:], capitalise(right)
    return first.start(), last.end(), f"{right} {left}"


def _delete(text: str, first: _Word, last: _Word, random: Random) -> _Change:
    """Without the first word and the blank after it; a free word that comes to open the sentence gets its capital."""
    if first is last or not (text[first.start()].isupper() and _opens_sentence(text, first.start())):
        return first.start(), first.end() + 1, ""
    return first.start(), last.end(), capitalise(text[last.start() : last.end()])


def _opens_sentence(text: str, place: int) -> bool:
    return text[max(0, place - 4) : place].rstrip()[-1:] in _SENTENCE_ENDS


_CHANGES: dict[Kind, Callable[[str, _Word, _Word, Random], _Change]] = {
    "replace": _replace,
    "insert": _insert,
    "swap": _swap,
    "delete": _delete,
}


@cache
def _tables() -> _Tables:
    read = read_table(__package__, "data/word_noise.toml")
    return _Tables(
        read["synonyms"],
        {pair: group["words"] for group in read["inserted"] for pair in _expand(group["between"])},
        frozenset(read["deleted"]["words"]),
        frozenset(_expand(read["deleted"]["opening"])),
        frozenset(_expand(read["deleted"]["second"])),
        frozenset(_expand(read["swapped"]["pairs"])),
        frozenset(_expand(read["fixed"]["pairs"])),
    )


def _expand(pairs: Iterable[str]) -> Iterator[str]:
    """`can/could you` -> `can you`, `could you`."""
    for pair in pairs:
        yield from map(" ".join, product(*(words.split("/") for words in pair.split(" "))))
