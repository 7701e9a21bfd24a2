"""Putting other words into a sentence so that they fit: capitals, a and an, plurals, numbers in letters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from dstress.dialogue import Edit
from dstress.text.numbers import number_words
from dstress.text.tables import read_table

_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+)$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:^|[.!?:]\s*)[\"'(]*\s*$")
_THE = re.compile(r"(?<!\w)the\s+$", re.IGNORECASE)
_DETERMINER = re.compile(r"(?<!\w)(?:an?|this|that|your|my|our|called|named)\s+[\"']?$", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+")
_SHOUTED = 5
"""So many capitals are a loud voice; fewer are an abbreviation."""
_NEXT_WORD = re.compile(r"(\s*-?\s*)([A-Za-z]+)\b")
# A vowel's sound, not its letter: a university, an hour, an 8, an 11.
_AN = re.compile(r"(?!uni|use|usu|uta|eu|one\b|once|ewe)[aeiou]|hour|honest|honou?r|heir|8|1[18](?!\d)", re.IGNORECASE)


@cache
def table() -> dict[str, Any]:
    """The words of `surface.toml`."""
    return read_table(__package__, "data/inflection.toml")


def styled(old: str, new: str, *, opens: bool = False, name: bool = True) -> str:
    """`new` in the capitals of `old`: `CHEAP`, `cheap`, `Cheap`, `Pizza Hut`.

    `opens`: `old` opens a sentence, so that a capital may be no more than that; then only a `name` gets all of its own.
    """
    letters = [word for word in _LETTERS.findall(old) if word]
    if not letters or not any(word != word.upper() or word != word.lower() for word in letters):
        return new
    if old == old.lower():
        return new if any(map(str.isdigit, old)) else new.lower()  # "the 6th" says nothing about names
    if old == old.upper():
        return new.upper() if sum(map(len, letters)) >= _SHOUTED else new if new != new.lower() else titled(new)
    if not letters[0][:1].isupper():
        return new
    if new != new.lower():
        return new  # it has its own capitals
    if not name and not opens and new in table()["common"]:
        return new
    if not name and opens and len(letters) == 1:
        return new[:1].upper() + new[1:]
    return titled(new)


@lru_cache(maxsize=4096)
def titled(text: str) -> str:
    """`statue of liberty` -> `Statue of Liberty`."""
    small = table()["small"]
    words = text.split(" ")
    return " ".join(
        word if (number and word in small) or not word[:1].isalpha() else word[:1].upper() + word[1:]
        for number, word in enumerate(words)
    )


def opens_sentence(text: str, start: int) -> bool:
    """Whether the character at `start` is the first of a sentence."""
    return bool(_SENTENCE.search(text, max(0, start - 8), start)) if start else True


def placed(text: str, start: int, end: int, name: str, *, town: bool = False) -> tuple[int, int, str]:
    """A name for the words from `start` to `end`, with or without "the" in front, as names like it have it.

    No town has one, unless what follows asks for it: "the ely station".
    """
    words, known = name.lower().split(), table()
    the = _THE.search(text, max(0, start - 8), start)
    if the:
        first, last = words[0], words[-1]
        unwanted = first == "the" or first in known["without_the_first"] or last in known["without_the_last"]
        if not (unwanted or first[0].isdigit() or (town and not _NEXT_WORD.match(text, end))):
            return start, end, name
        opens = opens_sentence(text, the.start())
        return the.start(), end, name[:1].upper() + name[1:] if opens else name
    wanted = words[-1] in known["with_the_last"] or "of" in words[1:-1] or name.lower() in known["with_the"]
    if town or not wanted or words[0] == "the" or _DETERMINER.search(text, max(0, start - 12), start):
        return start, end, name
    return start, end, f"{'The' if name[:1].isupper() and opens_sentence(text, start) else 'the'} {name}"


def plural(noun: str) -> str:
    """`library` -> `libraries`; a noun that has no plural stays."""
    last = noun.rpartition(" ")[2]
    if last in table()["uncountable"] or last.endswith("s"):
        return noun
    if last in table()["plurals"]:
        return noun.removesuffix(last) + str(table()["plurals"][last])
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if last.endswith(("sh", "ch", "x", "z")) else "s")


def spelled(number: int) -> str:
    """`31` -> `thirty-one`; up to ninety-nine, else the digits."""
    words = _spelled()
    if number in words:
        return words[number]
    tens, ones = number - number % 10, number % 10
    return f"{words[tens]}-{words[ones]}" if tens in words and ones in words and number < 100 else str(number)


@cache
def _spelled() -> dict[int, str]:
    known: dict[int, str] = {}
    for word, number in number_words().items():
        known.setdefault(number, word)
    return known


def on_a_half_day(minutes: int) -> str:
    """A time of day as `7:15 pm`, `7 pm`."""
    hour, minute = divmod(minutes, 60)
    half = "am" if hour % 24 < 12 else "pm"
    return f"{hour % 12 or 12}:{minute:02d} {half}" if minute else f"{hour % 12 or 12} {half}"


def counted(text: str, end: int, old: int, new: int) -> tuple[int, str]:
    """The noun after a number, agreeing with the new one: `1 night` -> `3 nights`. Its end, and the words to put."""
    match = _NEXT_WORD.match(text, end)
    if match is None or (old == 1) == (new == 1):
        return end, ""
    units: dict[str, str] = table()["units"]
    noun = match[2].lower()
    fit = units.get(noun) if old == 1 else next((one for one, many in units.items() if many == noun), None)
    return (match.end(), match[1] + styled(match[2], fit, name=False)) if fit else (end, "")


def edits(text: str, changes: Iterable[tuple[int, int, str]]) -> list[Edit]:
    """Changes (start, end, new words) as edits, in order; an article in front agrees with the new words."""
    made: list[Edit] = []
    for start, end, new in sorted(changes):
        match = _ARTICLE.search(text, max(0, start - 12), start)
        if match and new and (not made or match.start() >= made[-1].start + len(made[-1].before)):
            article = "an" if _AN.match(new) else "a"
            if match[1].lower() != article:
                given = article.capitalize() if match[1][0].isupper() else article
                start, new = match.start(), given + match[2] + new
        if text[start:end] != new:
            made.append(Edit(start, text[start:end], new))
    return made
