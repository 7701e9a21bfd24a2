"""Noise on words, after LAUG's word perturbation (Liu et al. 2021).

LAUG applies EDA's operations (Wei and Zou 2019: replace with a synonym, insert a synonym, swap, delete) with the task
in mind: what carries the label stays. So do we, and further: EDA draws synonyms from WordNet, and inserts, deletes and
swaps any word; here what may be said, go or change places comes from lists made for service dialogues, so that a
negation, a number, a question word or the preposition in "from Ely to Norwich" never goes and the sentence stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from itertools import pairwise, product
from random import Random
from typing import Literal, get_args

from dstress.errors import SpecError
from dstress.stressors.base import Rewriter
from dstress.text.edits import replace_places
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges, draw, free_matches
from dstress.text.writing_style import capitalise

Kind = Literal["replace", "insert", "swap", "delete"]

_WORD = re.compile(r"n['’]t\b|['’]?\w+(?:['’]\w+)*(?: -[a-z]{1,3}\b)?")
"""A word with the ending that some corpora write apart: "hotel -s", "moderate -ly"."""
_ARTICLE = re.compile(r"(?<!\w)(an?)\s$", re.IGNORECASE)
_DELETABLE = re.compile(r" \w")
_SENTENCE_ENDS = ("", ".", "!", "?")

_table = cache(partial(read_table, __package__, "data/word_noise.toml"))


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
        covered = utterance
        for start, end in protected:
            # Letters over what is protected, so that no blank in there is taken for one between words.
            if not utterance[start].isalnum():
                covered = f"{covered[:start]}{'x' * (end - start)}{covered[end:]}"
        everywhere = _places(covered, words)
        places = {kind: everywhere[kind] for kind in self.kinds if everywhere[kind]}
        kinds, taken, changes = list(places), set[int](), list[tuple[int, int, str]]()
        while kinds and len(changes) < count:  # a kind that has no place left gives way to the others
            kind = draw(kinds, random)
            left = places[kind]
            chosen = int(random.random() * len(left))
            left[chosen], left[-1] = left[-1], left[chosen]
            first, last = left.pop()
            if not left:
                kinds.remove(kind)
            if first not in taken and last not in taken:
                taken.update((first, last))
                changes.append(_change(kind, utterance, words[first], words[last], random))
        return replace_places(utterance, sorted(changes))


def _places(text: str, words: list[re.Match[str]]) -> dict[Kind, list[tuple[int, int]]]:
    """Where each kind of change can be made: the numbers of the first and the last word of each."""
    synonyms, inserted = _table()["synonyms"], _inserted()
    swapped, fixed = _pairs("swapped.pairs"), _pairs("fixed.pairs")
    deleted, opening, second = map(_pairs, ("deleted.words", "deleted.opening", "deleted.second"))
    places: dict[Kind, list[tuple[int, int]]] = {"replace": [], "insert": [], "swap": [], "delete": []}
    texts = [word.group() for word in words]
    # Each word with the next one, if only a blank parts them; empty if something else, such as a value, does.
    pairs = [
        f"{word.group()} {following.group()}" if text[word.end() : following.start()] == " " else ""
        for word, following in pairwise(words)
    ]
    pairs.append("")
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


def _change(kind: Kind, text: str, first: re.Match[str], last: re.Match[str], random: Random) -> tuple[int, int, str]:
    """From a character to another (exclusive), and what stands there now. `first` and `last` may be one word."""
    start, is_capital = first.start(), text[first.start()].isupper()
    phrase = first.group() if first is last else f"{first.group()} {last.group()}"
    if kind == "insert":
        return last.start(), last.start(), draw(_inserted()[phrase], random) + " "
    if kind == "replace":
        options = _table()["synonyms"][phrase]
        if article := _ARTICLE.search(text, max(0, start - 4), start):
            # Those that can follow on the article: "an option", but "a choice".
            is_an = article.group(1).lower() == "an"
            options = [option for option in options if (option[0] in "aeiou") == is_an]
        if not options:
            return start, start, ""
        chosen = draw(options, random)
        return start, last.end(), capitalise(chosen) if is_capital else chosen
    # Where the first word opens a sentence, the one that comes to open it takes over its capital.
    gives_capital = is_capital and _opens_sentence(text, start)
    left, right = text[start : first.end()], text[last.start() : last.end()]
    if kind == "delete":
        if first is last or not gives_capital:
            return start, first.end() + 1, ""  # with the blank after it
        return start, last.end(), capitalise(right)
    if gives_capital:
        left, right = left if left == "I" else left[0].lower() + left[1:], capitalise(right)
    return start, last.end(), f"{right} {left}"


def _opens_sentence(text: str, place: int) -> bool:
    return text[max(0, place - 4) : place].rstrip()[-1:] in _SENTENCE_ENDS


@cache
def _pairs(key: str) -> frozenset[str]:
    """Pairs of neighbours: `can/could you` -> `can you`, `could you`."""
    section, name = key.split(".")
    return _expand(_table()[section][name])


@cache
def _inserted() -> dict[str, list[str]]:
    """What may be said between two neighbours."""
    return {pair: group["words"] for group in _table()["inserted"] for pair in _expand(group["between"])}


def _expand(pairs: Iterable[str]) -> frozenset[str]:
    split = ([words.split("/") for words in pair.split(" ")] for pair in pairs)
    return frozenset(" ".join(words) for choices in split for words in product(*choices))
