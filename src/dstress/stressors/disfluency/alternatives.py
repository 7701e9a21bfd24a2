"""Plausible other values: what a person could have said in place of a value, in the same form.

A number, a time, a date or a day is changed in place, so that "quarter to three" gives "quarter to four" and "9:15"
gives "9:45". For everything else the pool is what users of the corpus said for the same slot, in their own spelling:
a value that nobody ever says ("concerthall") is never offered. `docs/stressors/disfluency.md` shows both.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from dstress.dialogue import Dialogue, Schema, update
from dstress.text.numbers import ORDINAL_ENDING, number_names, ordinal, ordinal_word
from dstress.text.tables import read_table
from dstress.text.times import AM_PM, DAY_PART, MONTH, O_CLOCK, calendar_words

_PART = re.compile(r"\d+|[^\W\d_]+")
_CLOCK = re.compile(r"(?<![\d.:])(\d{1,2})([:.])([0-5]\d)(?![\d:])")
_HOUR = re.compile(rf"(?<![\d.:])(\d{{1,2}})(?=\s*(?:{AM_PM}|{O_CLOCK}))", re.IGNORECASE)
_ORDINAL = re.compile(rf"(?<!\d)(\d{{1,2}})({ORDINAL_ENDING})\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.,:])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,:])\d{1,7}(?![\d:]|[.,]\d)")
_WORD = re.compile(r"[^\W\d_]+")
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
            for slot, surface in _find_spoken_values(dialogue):
                spellings[slot][squash(surface)][surface] += 1
        self._known: dict[tuple[str, str, tuple[str, ...]], tuple[str, ...]] = {}
        self._pool = {slot: _pick_usual_spellings(by_name) for slot, by_name in spellings.items()}
        self._possible = {slot: frozenset(entry.values) for slot, entry in schema.slots.items() if entry.categorical}
        for slot, entry in schema.slots.items():
            # With hardly a value said (a corpus cut short), the schema's own have to do.
            if entry.categorical and len(self._pool.get(slot, ())) < 2:
                self._pool[slot] = {squash(value): value for value in entry.values if is_sayable(value)}

    def others(self, slot: str, surface: str, forms: Sequence[str]) -> tuple[str, ...]:
        """What could have been said for `slot` in place of `surface`, in the same form; `forms` are its true values.

        Empty where the surface is not the value's own name ("myself" for one person) or leaves nothing to mistake
        (yes and no): there is no other value in the same form.
        """
        key = (slot, surface, tuple(forms))
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._find_others(*key)
        return self._known[key]

    def _find_others(self, slot: str, surface: str, forms: Sequence[str]) -> tuple[str, ...]:
        if any(form.casefold() in _lists().fixed for form in forms):
            return ()
        shifted = shift_surface(surface)
        if shifted or any(character.isdigit() for character in surface):
            return tuple(other for other in shifted if self._is_possible(slot, other))
        names = (_match_capitals(other, surface) for other in self._find_other_names(slot, surface, forms))
        return tuple(filter(None, names))

    def _is_possible(self, slot: str, number: str) -> bool:
        """Whether a number is among a categorical slot's: there is no hotel with six stars."""
        possible = self._possible.get(slot)
        if not possible or not any(value.isdigit() for value in possible):
            return True
        numbers = _lists().numbers
        folded = number.casefold()
        return (str(numbers.index(folded)) if folded in numbers else folded) in possible

    def _find_other_names(self, slot: str, surface: str, forms: Sequence[str]) -> Iterator[str]:
        own, true_names = squash(surface), [squash(form) for form in forms]
        plural = own not in true_names
        if plural and not any(own == name + "s" for name in true_names):
            return
        for name, other in self._pool.get(slot, {}).items():
            # A value inside the other one would be said along with it.
            if name not in own and own not in name:
                yield f"{other}s" if plural and not other.endswith("s") else other


def _find_spoken_values(dialogue: Dialogue) -> Iterator[tuple[str, str]]:
    """Slots and the words that users say for their new values."""
    before: dict[str, tuple[str, ...]] = {}
    for turn in dialogue.turns:
        user, folded = turn.user, turn.user.lower()
        for slot, forms in update(before, turn.state).items():
            for form in forms:
                start = folded.find(form.lower()) if form else -1
                end = start + len(form)
                if start >= 0 and not folded[start - 1 : start].isalnum() and not folded[end : end + 1].isalnum():
                    surface = user[start:end]
                    if is_sayable(surface):
                        yield slot, surface
        before = turn.remembered.state


def is_sayable(value: str) -> bool:
    """Whether a value is a name that a person could say: not a number or time, no marks of notation, not too long."""
    words = value.split()
    return (
        bool(words)
        and len(words) <= _LONGEST_WORDS
        and len(value) <= _LONGEST
        and value.casefold() not in _lists().fixed
        and not _UNSAYABLE.search(value)
        and not any(character.isdigit() for character in value)
        and not any(word in _lists().numbers for word in value.casefold().split())
        and value.isprintable()
        and squash(value) != ""
    )


def _pick_usual_spellings(by_name: Mapping[str, Counter[str]]) -> dict[str, str]:
    """Each value as it is most often written, in an order that does not depend on the corpus's.

    What was said only once is left out where there is enough without it: that is where annotations are wrong.
    """
    often = [name for name, spellings in by_name.items() if spellings.total() > 1]
    names = often if len(often) >= _ENOUGH else by_name
    return {name: max(by_name[name].items(), key=lambda item: (item[1], item[0]))[0] for name in sorted(names)}


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
    # A corpus that writes some users' names small: "Kings lynn" is not how the others write it.
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
        shifted = _shift_amount(surface, match[0])
    else:
        yield from _shift_number_word(surface)
        return
    for number in shifted:
        yield f"{surface[: match.start()]}{number}{surface[match.end() :]}"


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


def _shift_amount(surface: str, amount: str) -> Iterator[str]:
    number = int(amount.replace(",", ""))
    if _MONTH.search(surface):
        yield from map(str, _near(number, 1, _LAST_DAY))
        return
    if _DAY_PART.search(surface):
        yield from map(str, _near_hours(surface, number, 1, _NOON))
        return
    step = 1
    while number >= 40 * step and not 1900 <= number <= 2100:  # a year changes by single years
        step *= 10
    commas = "," if "," in amount else ""
    for factor in (-2, -1, 1, 2):
        other = number + factor * step
        if other > 0:
            yield f"{other:{commas}}"


def _shift_number_word(surface: str) -> Iterator[str]:
    """Numbers as words: the last one is the hour in "ten to three"."""
    lists = _lists()
    for word in map(str.casefold, reversed(_WORD.findall(surface))):
        for series in (lists.numbers, lists.ordinals):
            if word in series:
                near = _near_hours(surface, series.index(word), 1, _NOON)
                yield from _exchange_word(surface, word, (series[number] for number in near))
                return


def _near_hours(surface: str, hour: int, first: int, last: int) -> list[int]:
    """The hours around an hour, within the part of the day that the surface names."""
    part = _DAY_PART.search(surface)
    near = _near(hour, first, last)
    return [other for other in near if other in _lists().hours[part[0].lower()]] if part else near


def _near(number: int, first: int, last: int) -> list[int]:
    return [other for other in (number - 2, number - 1, number + 1, number + 2) if first <= other <= last]


def _exchange_word(surface: str, word: str, others: Iterable[str]) -> Iterator[str]:
    """The surface with other words for the last place where it says a word, in that place's capitals."""
    matches = [match for match in _WORD.finditer(surface) if match[0].casefold() == word]
    if not matches:
        return
    start, end = matches[-1].span()
    own = surface[start:end]
    for other in others:
        shown = other.upper() if own.isupper() and len(own) > 1 else other.capitalize() if own[0].isupper() else other
        yield f"{surface[:start]}{shown}{surface[end:]}"
