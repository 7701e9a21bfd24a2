"""Plausible other values: what a person could have said in place of a value, in the same form.

A number, a time, a date or a day is changed in place, so that "quarter to three" gives "quarter to four" and "9:15"
gives "9:45". For everything else the pool is what users of the corpus said for the same slot, in their own spelling:
a value that nobody ever says ("concerthall") is never offered. `docs/stressors/disfluency.md` shows both.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from dstress.dialogue import Dialogue, Schema
from dstress.text.numbers import ORDINAL_ENDING, number_names, ordinal, ordinal_word
from dstress.text.tables import read_table
from dstress.text.times import AM_PM, DAY_PART, MONTH, O_CLOCK, calendar_words
from dstress.text.tokens import LETTERS

_PART = re.compile(r"\d+|[^\W\d_]+")
_CLOCK = re.compile(r"(?<![\d.:])(\d{1,2})([:.])([0-5]\d)(?![\d:])")
_HOUR = re.compile(rf"(?<![\d.:])(\d{{1,2}})(?=\s*(?:{AM_PM}|{O_CLOCK}))", re.IGNORECASE)
_ORDINAL = re.compile(rf"(?<!\d)(\d{{1,2}})({ORDINAL_ENDING})\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.,:])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,:])\d{1,7}(?![\d:]|[.,]\d)")
_HALF_DAY = re.compile(rf"(?<![a-z]){AM_PM}|\b{DAY_PART}\b", re.IGNORECASE)
_DAY_PART = re.compile(rf"\b{DAY_PART}\b", re.IGNORECASE)
_MONTH = re.compile(rf"\b{MONTH}\b", re.IGNORECASE)
_MARKS = re.compile(r"[\W_]+")
_UNSAYABLE = re.compile(r"[|/_<>{}\[\]\\@#]")
_LONGEST_WORDS, _LONGEST = 6, 48
_REMEMBERED = 16_384
_ENOUGH = 4
_ACRONYM = 4
_LAST_DAY, _LAST_HOUR, _NOON, _LAST_WORD = 28, 23, 12, 20
_SMALL_WORDS = frozenset({"a", "an", "and", "at", "by", "de", "for", "in", "la", "of", "on", "the", "to"})


class _Lists(NamedTuple):
    numbers: tuple[str, ...]
    ordinals: tuple[str, ...]
    siblings: dict[str, tuple[str, ...]]
    plain: frozenset[str]
    fixed: frozenset[str]
    hours: dict[str, frozenset[int]]


@cache
def _lists() -> _Lists:
    table: dict[str, Any] = read_table(__package__, "alternatives.toml")
    days = calendar_words("weekdays")
    groups = (*map(tuple, table["siblings"]), days, tuple(f"{day}s" for day in days))
    siblings = {word: group for group in groups for word in group}
    numbers = tuple(number_names()[number] for number in range(_LAST_WORD + 1))
    ordinals = tuple(map(ordinal_word, numbers))
    months = calendar_words("months") + calendar_words("short_months")
    plain = frozenset((*numbers, *ordinals, *days, *months, *table["around"]))
    hours = {part: frozenset(hours) for part, hours in table["hours"].items()}
    return _Lists(numbers, ordinals, siblings, plain, frozenset(table["fixed"]), hours)


class Alternatives:
    """For every slot of a corpus, the values that its users say, each as it is most often written."""

    def __init__(self, schema: Schema, corpus: Iterable[Dialogue]) -> None:
        spellings: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for dialogue in corpus:
            for turn, changed in zip(dialogue.turns, dialogue.updates(), strict=True):
                # Only what stands in the utterance letter by letter: this is how users spell it.
                text = turn.user.lower()
                for slot, forms in changed.items():
                    for form in filter(None, forms):
                        start = text.find(form.lower())
                        end = start + len(form)
                        surface = turn.user[start:end]
                        is_whole = not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
                        if start >= 0 and is_whole and is_sayable(surface):
                            spellings[slot][squash(surface)][surface] += 1
        self._pool: dict[str, dict[str, str]] = {}
        for slot, by_name in spellings.items():
            # Where annotations are wrong a value is said only once: left out where there is enough without it.
            often = [name for name, counts in by_name.items() if counts.total() > 1]
            names = often if len(often) >= _ENOUGH else by_name
            usual = {name: max(by_name[name].items(), key=itemgetter(1, 0))[0] for name in names}
            self._pool[slot] = dict(sorted(usual.items()))  # in an order that does not depend on the corpus's
        self._possible = {slot: frozenset(entry.values) for slot, entry in schema.slots.items() if entry.categorical}
        for slot, entry in schema.slots.items():
            # With hardly a value said (a corpus cut short), the schema's own have to do.
            if entry.categorical and len(self._pool.get(slot, ())) < 2:
                self._pool[slot] = {squash(value): value for value in entry.values if is_sayable(value)}
        self._others: dict[tuple[str, str, tuple[str, ...]], tuple[str, ...]] = {}

    def others(self, slot: str, surface: str, forms: Sequence[str]) -> tuple[str, ...]:
        """What could have been said for `slot` in place of `surface`, in the same form; `forms` are its true values.

        Empty where the surface is not the value's own name ("myself" for one person) or leaves nothing to mistake
        (yes and no): there is no other value in the same form.
        """
        key = (slot, surface, tuple(forms))
        if key not in self._others:
            if len(self._others) >= _REMEMBERED:
                self._others.clear()
            self._others[key] = tuple(self._find_others(*key))
        return self._others[key]

    def _find_others(self, slot: str, surface: str, forms: Sequence[str]) -> Iterator[str]:
        lists = _lists()
        if any(form.casefold() in lists.fixed for form in forms):
            return
        shifted = shift_surface(surface)
        if shifted or any(character.isdigit() for character in surface):
            possible = self._possible.get(slot, frozenset())
            is_limited = any(value.isdigit() for value in possible)  # there is no hotel with six stars
            for other in shifted:
                number = other.casefold()
                number = str(lists.numbers.index(number)) if number in lists.numbers else number
                if not is_limited or number in possible:
                    yield other
            return
        own, true_names = squash(surface), [squash(form) for form in forms]
        is_plural = own not in true_names
        if is_plural and not any(own == name + "s" for name in true_names):
            return
        for name, other in self._pool.get(slot, {}).items():
            # a value inside the other one would be said along with it.
            if name not in own and own not in name:
                written = _match_capitals(f"{other}s" if is_plural and not other.endswith("s") else other, surface)
                if written:
                    yield written


def is_sayable(value: str) -> bool:
    """Whether a value is a name that a person could say: not a number or time, no marks of notation, not too long."""
    folded = value.casefold()
    return (
        0 < len(value.split()) <= _LONGEST_WORDS
        and len(value) <= _LONGEST
        and folded not in _lists().fixed
        and not _UNSAYABLE.search(value)
        and not any(character.isdigit() for character in value)
        and not any(word in _lists().numbers for word in folded.split())
        and value.isprintable()
        and squash(value) != ""
    )


def squash(text: str) -> str:
    """Letters and digits only, small: "Guest house" and "guesthouse" are one."""
    return _MARKS.sub("", text.casefold())


def _match_capitals(other: str, surface: str) -> str:
    """The other value with the capitals of the surface; empty where an acronym would get a full name."""
    if surface == surface.lower():
        return other.lower()
    if surface == surface.upper() and len(surface) > 1:
        return other.upper() if len(surface) > _ACRONYM or other == other.upper() else ""
    if other != other.lower():
        return other
    # a corpus that writes some users' names small: "Kings lynn" is not how the others write it.
    words = [word if word in _SMALL_WORDS else word[:1].upper() + word[1:] for word in other.split(" ")]
    return " ".join(words) if surface[:1].isupper() else other


@lru_cache(maxsize=_REMEMBERED)
def shift_surface(surface: str) -> tuple[str, ...]:
    """The surface with its number, time, date or day changed, in all plausible ways; empty if it is something else."""
    lists, folded = _lists(), surface.casefold()
    words = _PART.findall(folded)
    if not words or len(words) > 2 * _LONGEST_WORDS:
        return ()
    for word in words:
        if word in lists.siblings and all(other == word or other in lists.plain for other in words):
            siblings = (sibling for sibling in lists.siblings[word] if sibling != word)
            return tuple(_exchange_word(surface, word, siblings))
    if not all(word.isdigit() or word in lists.plain for word in words):
        return ()
    return tuple(_shift_number(surface))


def _shift_number(surface: str) -> Iterator[str]:
    """A clock time, an hour, a day of the month, an amount, or the last number that is a word."""
    shifted: Iterable[str]
    if match := _CLOCK.search(surface):
        shifted = _shift_clock(surface, *match.groups())
    elif match := _HOUR.search(surface):
        width = len(match[0]) if match[0].startswith("0") else 1
        shifted = [f"{hour:0{width}d}" for hour in _near_hours(surface, int(match[0]), 1, _NOON)]
    elif match := _ORDINAL.search(surface):
        days = map(ordinal, _near(int(match[1]), 1, _LAST_DAY))
        shifted = map(str.upper, days) if match[2].isupper() else days
    elif match := _NUMBER.search(surface):
        number = int(match[0].replace(",", ""))
        if _MONTH.search(surface):
            shifted = map(str, _near(number, 1, _LAST_DAY))
        elif _DAY_PART.search(surface):
            shifted = map(str, _near_hours(surface, number, 1, _NOON))
        else:
            step = 1
            while number >= 40 * step and not 1900 <= number <= 2100:  # a year changes by single years
                step *= 10
            commas = "," if "," in match[0] else ""
            shifted = [
                f"{other:{commas}}"
                for other in range(number - 2 * step, number + 3 * step, step)
                if other > 0 and other != number
            ]
    else:
        for word in map(str.casefold, reversed(LETTERS.findall(surface))):  # the hour comes last: "ten to three"
            for series in (_lists().numbers, _lists().ordinals):
                if word in series:
                    near = _near_hours(surface, series.index(word), 1, _NOON)
                    yield from _exchange_word(surface, word, (series[number] for number in near))
                    return
        return
    for other in shifted:
        yield f"{surface[: match.start()]}{other}{surface[match.end() :]}"


def _shift_clock(surface: str, hour: str, mark: str, minute: str) -> Iterator[str]:
    half_day = bool(_HALF_DAY.search(surface))
    first, last = (1, _NOON) if half_day else (0, _LAST_HOUR)
    # "5:15" without am or pm means an hour up to twelve: nobody would go on to 13 and mean the same half of the day.
    if not half_day and not hour.startswith("0") and 0 < int(hour) < _NOON and len(hour) == 1:
        first, last = 1, _NOON
    width = 1 if half_day and not hour.startswith("0") else len(hour)
    for other in _near_hours(surface, int(hour), first, last):
        yield f"{other:0{width}d}{mark}{minute}"
    for quarter in ("00", "15", "30", "45"):
        if quarter != minute:
            yield f"{hour}{mark}{quarter}"


def _near_hours(surface: str, hour: int, first: int, last: int) -> list[int]:
    """The hours around an hour, within the part of the day that the surface names."""
    part = _DAY_PART.search(surface)
    near = _near(hour, first, last)
    return [other for other in near if other in _lists().hours[part[0].lower()]] if part else near


def _near(number: int, first: int, last: int) -> list[int]:
    return [other for other in (number - 2, number - 1, number + 1, number + 2) if first <= other <= last]


def _exchange_word(surface: str, word: str, others: Iterable[str]) -> Iterator[str]:
    """The surface with other words for the last place where it says a word, in that place's capitals."""
    matches = [match for match in LETTERS.finditer(surface) if match[0].casefold() == word]
    if not matches:
        return
    start, end = matches[-1].span()
    own = surface[start:end]
    for other in others:
        shown = other.upper() if own.isupper() and len(own) > 1 else other.capitalize() if own[0].isupper() else other
        yield f"{surface[:start]}{shown}{surface[end:]}"
