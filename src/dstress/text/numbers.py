"""Numbers in an utterance: `6`, `six`, `twenty-five`, `4.3`, `$84`, and what they count.

A number alone says little: the 3 of "3 nights" is not the 3 of "3 people". The nouns around a number tell which slot it
can belong to (`numbers.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache, partial

from dstress.text.letters import LetteredText, Place, name_words, words_of
from dstress.text.tables import read_table, word_sets
from dstress.text.tokens import ALPHANUMERIC

ORDINAL_ENDING = r"(?:st|nd|rd|th)"
"""An expression for what makes `8` an `8th`."""
_AMOUNT = re.compile(r"[$£€]?\s*(\d+(?:,\d{3})*(?:\.\d+)?)\s*[$£€]?\s*([a-z]*)")
_MARKED_BEFORE, _MARKED_BEHIND = re.compile(r"\d\s*[:/]\s*$"), re.compile(r"\s*[:/]\s*\d")
_LONGEST = 20
"""More characters in digits are a code, which nobody says as a number."""
_NEVER = "(?!)"
_CURRENCIES = "$£€"
_HOURS = range(25)
_AROUND = 24
"""Characters around a number in which the words next to it are looked for."""


_table = cache(partial(read_table, __package__, "data/numbers.toml"))
_words = word_sets(__package__, "data/numbers.toml")


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
        is_amount = (not match[2] or match[2] in _units()) and len(match[1]) <= _LONGEST
        return float(match[1].replace(",", "")) if is_amount else None
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


@lru_cache(maxsize=4096)
def number_pattern(number: float) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """An expression for a number in digits and in letters, and letters one of which a text must have to say it."""
    whole = int(number)
    digits = {f"{number:g}", f"{number:.1f}"}
    spelled, hints = _NEVER, list[str]()
    if whole == number:
        digits |= {str(whole), f"{whole:,}"}
        spelled, hints = _in_words(whole)
    written = "|".join(re.escape(form) for form in sorted(digits))
    pattern = re.compile(rf"(?<!\w)(?<!\d[.,])(?:(?:{written})(?![.,]?\d)|(?P<spelled>{spelled})(?!\w))")
    return pattern, (str(whole), *hints)


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


@lru_cache(maxsize=4096)
def number_phrases(slot: str, number: float) -> tuple[str, ...]:
    """Other words for a number in a slot: `just me` for one person."""
    return tuple(_table()["phrases"].get(counted(slot)[1], {}).get(f"{number:g}", ()))


@lru_cache(maxsize=4096)
def counted(slot: str) -> tuple[frozenset[str], str]:
    """The nouns that a slot counts, and their kind: `hotel-book stay` counts nights."""
    name = [word for word in name_words(slot) if word not in _words("idle")]
    units, table = _units(), _table()
    kinds = [kind for word in name for kind in (table["slots"].get(word) or units.get(word),) if kind]
    own = {form for word in name for form in (word, word.removesuffix("s"), f"{word}s")}
    for kind in kinds:
        own.update(table["units"][kind])
    return frozenset(own), kinds[-1] if kinds else ""


def find_number(text: LetteredText, slot: str, number: float) -> list[Place]:
    """Where a text says a number that can be the slot's; only next to the slot's own noun, if it is there."""
    folded, numbers, units = text.folded, number_words(), _units()
    sure: list[Place] = []
    possible: list[Place] = []
    for match in number_pattern(number)[0].finditer(folded):
        start, end = match.span()
        left, right = folded[max(0, start - _AROUND) : start], folded[end : end + _AROUND]
        before, after = ALPHANUMERIC.findall(left)[-3:], ALPHANUMERIC.findall(right)[:3]
        is_spelled = match["spelled"] is not None
        if is_spelled:  # a part of a longer number?
            is_part = (bool(before) and numbers.get(before[-1], 0) >= 20 and number < 10) or (
                bool(after) and (after[0] == "hundred" or (number >= 20 and 0 < numbers.get(after[0], 0) < 10))
            )
        else:  # a part of a word, an ordinal, a time or a date?
            is_part = (right[:1].isalpha() and after[0] not in units) or bool(
                _MARKED_BEFORE.search(left) or _MARKED_BEHIND.match(right)
            )
        if is_part:
            continue
        verdict = _judge_number(number, is_spelled, before, after, counted(slot)[0])
        if verdict >= 0:
            # An amount of money has its currency.
            if start and folded[start - 1] in _CURRENCIES:
                start -= 1
            if after and units.get(after[0]) == "money":
                end = folded.index(after[0], end) + len(after[0])
            (sure if verdict else possible).append((start, end))
    return sure or possible


def _judge_number(number: float, is_spelled: bool, before: list[str], after: list[str], own: frozenset[str]) -> int:
    """1: the slot's own noun is there; -1: it counts or tells something else; 0: nothing speaks against it."""
    units, between = _units(), _words("between")
    for word in after:
        if word in own:
            return 1
        if word in units:
            return -1
        if word not in between:
            break
    last = before[-1] if before else ""
    if last in own or (last in _words("linking") and not own.isdisjoint(before)):
        return 1
    if last in _words("clock") and number in _HOURS:
        return -1
    if is_spelled and number == 1:
        # "one" is a number in "a table for one", not in "looking for one that is cheap".
        counts = last in _words("ones") and _words("seeking").isdisjoint(before)
        return 0 if counts and not (after and after[0] in _words("pronoun")) else -1
    return 0
