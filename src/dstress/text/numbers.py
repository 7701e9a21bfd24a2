"""Numbers in an utterance: `6`, `six`, `twenty-five`, `4.3`, `$84`, and what they count.

A number alone says little: the 3 of "3 nights" is not the 3 of "3 people". The nouns around a number tell which slot it
can belong to (`numbers.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dstress.text.letters import LetteredText, Place, name_words, words_of
from dstress.text.tables import read_table

ORDINAL_ENDING = r"(?:st|nd|rd|th)"
"""An expression for what makes `8` an `8th`."""
_AMOUNT = re.compile(r"[$£€]?\s*(\d+(?:,\d{3})*(?:\.\d+)?)\s*[$£€]?\s*([a-z]*)")
_WORD = re.compile(r"[^\W_]+")
_PARTING = (":", "/")
_LONGEST = 20
"""More characters in digits are a code, which nobody says as a number."""
_NEVER = "(?!)"
_CURRENCIES = "$£€"
_HOURS = range(25)
_AROUND = 24
"""Characters around a number in which the words next to it are looked for."""


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "data/numbers.toml")


@cache
def number_words() -> dict[str, int]:
    """Number words up to ninety, one word each."""
    return dict(_table()["words"])


@cache
def number_names() -> dict[int, str]:
    """The numbers that are one word, and the word: the first that the table has for each."""
    return {number: word for word, number in reversed(number_words().items())}


def spell(number: int) -> str:
    """`31` -> `thirty-one`; up to ninety-nine, else the digits."""
    names = number_names()
    if number in names:
        return names[number]
    tens, ones = number - number % 10, number % 10
    return f"{names[tens]}-{names[ones]}" if tens in names else str(number)


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def ordinal_word(name: str) -> str:
    """`two` -> `second`, `twenty` -> `twentieth`."""
    irregular: str | None = _table()["ordinals"].get(name)
    return irregular or (f"{name[:-1]}ieth" if name.endswith("y") else f"{name}th")


@cache
def _units() -> dict[str, str]:
    """Each noun that can be counted, and what kind of count it makes."""
    return {word: kind for kind, words in _table()["units"].items() for word in words}


@lru_cache(maxsize=4096)
def number_of(value: str) -> float | None:
    """The number that a value is: `6`, `six`, `$84`, `53 dollars`; None for what is more than a number."""
    match = _AMOUNT.fullmatch(value.strip().lower())
    if match:
        known = (not match[2] or match[2] in _units()) and len(match[1]) <= _LONGEST
        return float(match[1].replace(",", "")) if known else None
    words = words_of(value)
    if words and _units().get(words[-1]) == "money":
        words = words[:-1]
    return _spelled_number(words)


def _spelled_number(words: Sequence[str]) -> float | None:
    """`seventy one` -> 71, `two hundred and five` -> 205."""
    if "hundred" in words:
        at = words.index("hundred")
        rest = words[at + 1 :]
        hundreds = _spelled_number(words[:at])
        below = _spelled_number(rest[1:] if rest[:1] == ["and"] else rest) if rest else 0.0
        return None if hundreds is None or below is None else hundreds * 100 + below
    numbers = [number_words().get(word) for word in words]
    match numbers:
        case [int(number)]:
            return float(number)
        case [int(tens), int(ones)] if tens >= 20 and 0 < ones < 10:
            return float(tens + ones)
    return None


class _Number(NamedTuple):
    """A number prepared for search: its forms in digits and letters, and what a text must have to say it."""

    pattern: re.Pattern[str]
    hints: tuple[str, ...]


@lru_cache(maxsize=4096)
def _prepared(number: float) -> _Number:
    whole = int(number)
    digits = {f"{number:g}", f"{number:.1f}"}
    spelled, telling = _NEVER, list[str]()
    if whole == number:
        digits |= {str(whole), f"{whole:,}"}
        spelled, telling = _in_words(whole)
    written = "|".join(re.escape(form) for form in sorted(digits))
    pattern = re.compile(rf"(?<!\w)(?<!\d[.,])(?:(?:{written})(?![.,]?\d)|(?P<spelled>{spelled})(?!\w))")
    return _Number(pattern, (str(whole), *telling))


def _in_words(number: int) -> tuple[str, list[str]]:
    """A pattern for a number in words, and words one of which it has; numbers of 1000 and more are in digits."""
    named = [word for word, value in number_words().items() if value == number]
    if named:
        return "|".join(named), named
    if number < 100:
        (tens, telling), (ones, _) = _in_words(number // 10 * 10), _in_words(number % 10)
        return rf"(?:{tens})[\s-]?(?:{ones})", telling
    if number >= 1000:
        return _NEVER, []
    hundreds, rest = _in_words(number // 100)[0], number % 100
    below = rf"(?:\sand)?[\s-](?:{_in_words(rest)[0]})" if rest else ""
    return rf"(?:{hundreds}|a)[\s-]hundred{below}", ["hundred"]


def number_hints(number: float) -> tuple[str, ...]:
    """Letters one of which a text must have to say a number."""
    return _prepared(number).hints


@lru_cache(maxsize=4096)
def number_phrases(slot: str, number: float) -> tuple[str, ...]:
    """Other words for a number in a slot: `just me` for one person."""
    return tuple(_table()["phrases"].get(counted(slot)[1], {}).get(f"{number:g}", ()))


@lru_cache(maxsize=4096)
def counted(slot: str) -> tuple[frozenset[str], str]:
    """The nouns that a slot counts, and their kind: `hotel-book stay` counts nights."""
    name = [word for word in name_words(slot) if word not in _set("idle")]
    units, table = _units(), _table()
    kinds = [kind for word in name for kind in (table["slots"].get(word) or units.get(word),) if kind]
    own = {form for word in name for form in (word, word.removesuffix("s"), f"{word}s")}
    for kind in kinds:
        own.update(table["units"][kind])
    return frozenset(own), kinds[-1] if kinds else ""


def find_number(text: LetteredText, slot: str, number: float) -> list[Place]:
    """Where a text says a number that can be the slot's; only next to the slot's own noun, if it is there."""
    sure: list[Place] = []
    possible: list[Place] = []
    for match in _prepared(number).pattern.finditer(text.folded):
        candidate = _NumberMatch(text.folded, match, number)
        verdict = candidate.verdict(*counted(slot))
        if verdict >= 0:
            (sure if verdict else possible).append(candidate.place())
    return sure or possible


class _NumberMatch:
    """A number in a text, with the words around it."""

    def __init__(self, folded: str, match: re.Match[str], number: float) -> None:
        self.folded, self.number, self.spelled = folded, number, match["spelled"] is not None
        self.start, self.end = match.span()
        self.left = folded[max(0, self.start - _AROUND) : self.start]
        self.right = folded[self.end : self.end + _AROUND]
        self.before = _WORD.findall(self.left)[-3:]
        self.after = _WORD.findall(self.right)[:3]

    def place(self) -> Place:
        """Its characters; an amount of money has its currency."""
        start, end = self.start, self.end
        if start and self.folded[start - 1] in _CURRENCIES:
            start -= 1
        if self.after and _units().get(self.after[0]) == "money":
            end = self.folded.index(self.after[0], end) + len(self.after[0])
        return start, end

    def verdict(self, own: frozenset[str], kind: str) -> int:
        """1: the slot's own noun is there; -1: it counts or tells something else; 0: nothing speaks against it."""
        if self._is_part():
            return -1
        units, between = _units(), _set("between")
        for word in self.after:
            if word in own:
                return 1
            if word in units:
                return -1
            if word not in between:
                break
        last = self.before[-1] if self.before else ""
        if last in own or (last in _set("linking") and not own.isdisjoint(self.before)):
            return 1
        if last in _set("clock") and self.number in _HOURS:
            return -1
        return -1 if self.spelled and self.number == 1 and not self._is_count(last) else 0

    def _is_part(self) -> bool:
        """Whether the digits belong to a time, a date, an ordinal or a word, or the word to a longer number."""
        if self.spelled:
            numbers = number_words()
            tens = bool(self.before) and numbers.get(self.before[-1], 0) >= 20 and self.number < 10
            more = bool(self.after) and (
                self.after[0] == "hundred" or (self.number >= 20 and 0 < numbers.get(self.after[0], 0) < 10)
            )
            return tens or more
        if self.right[:1].isalpha() and self.after[0] not in _units():
            return True
        left, right = self.left.rstrip(), self.right.lstrip()
        return (right[:1] in _PARTING and right[1:].lstrip()[:1].isdigit()) or (
            left[-1:] in _PARTING and left[:-1].rstrip()[-1:].isdigit()
        )

    def _is_count(self, last: str) -> bool:
        """Whether "one" is a number: "a table for one", not "looking for one that is cheap"."""
        if last not in _set("ones") or not _set("seeking").isdisjoint(self.before):
            return False
        return not self.after or self.after[0] not in _set("pronoun")


@cache
def _set(name: str) -> frozenset[str]:
    return frozenset(_table()[name])
