"""Words out of the same letters that can be said but that nobody knows: `hamilton` -> `milhatno` (CheckDST, 3.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüý")
_TRIES = 8
_LONG = 5
_EASY = 1
_HARD = re.compile(
    "b(?=[cdfghkmnptvw])|c(?=[bdfgmnpsvw])|d(?=[bcfghklmnptvz])|f(?=[bcdghkmnpsvw])|g(?=[bcdfkmpstvw])|h(?=[bcdfghklmnprstvw])"
    "|j(?=[bcdfghjklmnpqrstvwxz])|k(?=[bcdfghkmptv])|l(?=[cghjnrwz])|m(?=[cdfghjklnrtvw])|n(?=[bfhjlmprvw])|p(?=[bcdfgkmnvw])"
    "|q(?!u)|r(?=[hjw])|s(?=[bdfgjrvz])|t(?=[bcdfgjkmnpvz]|l[^e])|v(?=[bcdfghjklmnprstvwxz])|w(?=[bcdfgjkmptvwz])"
    "|x(?=[bcdfghklmnrsvx])|z(?=[bcdklmnprtw])"
)
"""Pairs of consonants that English words seldom have side by side."""
_FIRST = re.compile("bl|br|ch|cl|cr|dr|fl|fr|gl|gr|kl|kn|kr|ph|pl|pr|sc|sh|sk|sl|sm|sn|sp|st|sw|th|tr|tw|wh|wr")
_LAST = re.compile(
    "(?:ch|ck|ct|ff|ft|ld|lf|lk|ll|lm|lp|lt|mp|nd|ng|nk|nn|nt|ph|pt|rd|rf|rk|rl|rm|rn|rp|rt|sh|sk|sp|ss|st|th)$"
)
"""Pairs of consonants that a word can start and end with."""


def scramble(word: str, random: Random, is_taken: Callable[[str], bool]) -> str:
    """Another word of the same letters and length, consonants for consonants; the word itself if there is none.

    A last `s` stays, so that "rosa's" stays one word with its clitic. Of a few words the easiest to say is taken.
    """
    tail = "s" if word.endswith("s") else ""
    stem = word[: len(word) - len(tail)]
    best, least = word, len(word) * 4
    for made in _others(stem, random):
        if made != stem and (cost := _cost(made + tail)) < least and not is_taken(made + tail):
            best, least = made + tail, cost
            if cost < _EASY:
                break
    return best if best != word else _any_order(stem, tail, random, is_taken)


def _others(stem: str, random: Random) -> Iterator[str]:
    """Orders of a word's letters in which consonants stay with consonants and vowels with vowels.

    Then such that keep the start, if that is two consonants: few other pairs can start a word.
    """
    start = 2 if _FIRST.match(stem) and len(stem) > _LONG else 0
    for kept in (0,) * _TRIES + (start,) * (_TRIES if start else 0):
        rest = stem[kept:]
        hard = [letter for letter in rest if letter not in _VOWELS]
        soft = [letter for letter in rest if letter in _VOWELS]
        _shuffle(hard, random)
        _shuffle(soft, random)
        yield stem[:kept] + "".join([soft.pop() if letter in _VOWELS else hard.pop() for letter in rest])


def _any_order(stem: str, tail: str, random: Random, is_taken: Callable[[str], bool]) -> str:
    letters = list(stem)
    for _ in range(_TRIES):
        _shuffle(letters, random)
        made = "".join(letters)
        if made != stem and not is_taken(made + tail):
            return made + tail
    return stem + tail


def _shuffle(letters: list[str], random: Random) -> None:
    """In place, out of one random number: names have few letters, and there are many names."""
    if len(letters) < 2:
        return
    bits = random.getrandbits(64)
    for index in range(len(letters) - 1, 0, -1):
        bits, other = divmod(bits, index + 1)
        letters[index], letters[other] = letters[other], letters[index]


def _cost(word: str) -> int:
    """How hard a word is to say: odd pairs, an odd start or end."""
    cost = len(_HARD.findall(word))
    if word[0] not in _VOWELS and word[1:2] not in _VOWELS and not _FIRST.match(word):
        cost += 2
    if word[-1] not in _VOWELS and word[-2:-1] not in _VOWELS and word[-1] != "s" and not _LAST.search(word):
        cost += 1
    return cost


def in_shape(letters: str, shown: str) -> str:
    """`letters` written over the letters of `shown`, which has as many: capitals and marks between them stay."""
    if len(letters) == len(shown):
        if shown == letters or shown.islower():
            return letters
        if shown[1:].islower():
            return letters[0].upper() + letters[1:] if len(letters[0].upper()) == 1 else letters
    rest, parts = iter(letters), []
    for character in shown:
        letter = next(rest) if character.isalnum() else character
        upper = letter.upper()
        parts.append(upper if character.isupper() and len(upper) == 1 else letter)
    return "".join(parts)
