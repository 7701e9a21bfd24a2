"""The ways to say a value: every accepted form of it, prepared for search in many texts.

What a form is decides how it is looked for: `dontcare`, yes and no, a time, a number, a date; else it is a name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cache, lru_cache
from itertools import islice, product
from typing import Any

from dstress.dialogue import DONTCARE
from dstress.text.letters import LetteredText, Place, fold, is_free, name_words, needs_edges, words_of
from dstress.text.near_spelling import find_near, pieces
from dstress.text.numbers import find_number, number_hints, number_of, number_phrases
from dstress.text.tables import read_table
from dstress.text.times import date_of, find_date, find_time, time_hints, time_of
from dstress.text.yes_no import Flags, Openness, find_dontcare, find_flag, find_unneeded

_REMEMBERED = 16_384
_SPELLINGS = 16
"""Spellings of one name that are tried."""
_TELLING, _LONG = 5, 8
"""Letters of a part of a name that may stand for the name: of all but its generic words, and of some of its words."""
_UNPARTED = re.compile(r"(?:[^\W_]|&)+")
_ADDITION = re.compile(r"[,(]")


class _Form(ABC):
    """One accepted form of a value, prepared for search. A text that says it has one of `hints` among its letters."""

    hints: tuple[str, ...]

    @abstractmethod
    def find_in(self, text: LetteredText) -> list[Place]:
        """Where a text says it."""


class SearchableValue:
    """The accepted forms of a value, ready for search. A text that says one has one of `hints` among its letters."""

    __slots__ = ("forms", "hints")

    def __init__(self, slot: str, forms: tuple[str, ...]) -> None:
        self.forms = tuple((form, _prepare_form(slot, form)) for form in forms)
        self.hints = _drop_implied([hint for _, prepared in self.forms for hint in prepared.hints])


@lru_cache(maxsize=_REMEMBERED)
def prepare_value(slot: str, forms: tuple[str, ...]) -> SearchableValue:
    """The value of a slot id; values come back turn after turn."""
    return SearchableValue(slot, forms)


def read_flag(slot: str, value: str) -> bool | None:
    """Whether a value of a slot is a yes or a no; None if neither."""
    return _flags().meaning(slot, value)


def _prepare_form(slot: str, form: str) -> _Form:
    folded = fold(form).strip()
    if folded == DONTCARE:
        return _Open(slot)
    if (wanted := read_flag(slot, form)) is not None:
        return _Flag(slot, wanted)
    number = number_of(folded)
    takes_times = not _word_set("clock").isdisjoint(name_words(slot))
    minutes = time_of(folded, hours=takes_times)
    if minutes is not None and (takes_times or number is None):  # numbers are times only where times are asked for
        return _Time(folded, minutes)
    if number is not None:
        return _Number(slot, number)
    if (date := date_of(folded)) is not None:
        return _Date(folded, *date)
    return _Name(form)


class _Open(_Form):
    def __init__(self, slot: str) -> None:
        self.slot = slot
        self.is_flag = _flags().is_listed(slot)
        self.hints = _openness().hints + (_flags().trigger_letters(slot) if self.is_flag else ())

    def find_in(self, text: LetteredText) -> list[Place]:
        unneeded = find_unneeded(text, self.slot, _flags()) if self.is_flag else []
        return unneeded or find_dontcare(text, _openness())


class _Flag(_Form):
    def __init__(self, slot: str, wanted: bool) -> None:
        self.slot, self.wanted = slot, wanted
        self.hints = _flags().hints(slot, wanted)

    def find_in(self, text: LetteredText) -> list[Place]:
        return find_flag(text, self.slot, self.wanted, _flags())


class _Number(_Form):
    def __init__(self, slot: str, number: float) -> None:
        self.slot, self.number = slot, number
        self.phrases = tuple(_phrase(text) for text in number_phrases(slot, number))
        self.hints = (*number_hints(number), *(letters for letters, _ in self.phrases))

    def find_in(self, text: LetteredText) -> list[Place]:
        places = find_number(text, self.slot, self.number)
        return places or [place for phrase in self.phrases for place in text.places(*phrase)]


class _Time(_Form):
    def __init__(self, form: str, minutes: int) -> None:
        self.letters, self.minutes = "".join(words_of(form)), minutes
        self.hints = (*time_hints(minutes), self.letters)

    def find_in(self, text: LetteredText) -> list[Place]:
        return find_time(text, self.minutes) or text.places(self.letters)


class _Date(_Form):
    def __init__(self, form: str, month: str, day: int) -> None:
        self.letters, self.month, self.day = "".join(words_of(form)), month, day
        self.hints = (str(day),)

    def find_in(self, text: LetteredText) -> list[Place]:
        return find_date(text, self.month, self.day) or text.places(self.letters)


class _Name(_Form):
    """A name or another word: by its letters, then by other words for it, then nearly, then by its telling part."""

    def __init__(self, form: str) -> None:
        self.raw = fold(form).strip()
        words = words_of(form)
        self.letters = "".join(words)
        self.edges = bool(words) and needs_edges(self.letters)
        count = len(_UNPARTED.findall(self.raw))
        self.spelled = tuple((letters, 0 if is_free(letters) else count) for letters in _spell_name(words))
        self.spelled += tuple(_phrase(text) for text in _table()["synonyms"].get(" ".join(words), ()))
        self.parts = tuple(_telling_parts(words, words_of(_ADDITION.split(form, maxsplit=1)[0])))
        self.core = _strip_generic(words)
        near_pieces = (piece for name in (self.letters, self.core) for _, piece in pieces(name))
        self.hints = (*near_pieces, *(letters for letters, _ in self.spelled), *self.parts) if self.edges else ("",)

    def find_in(self, text: LetteredText) -> list[Place]:
        places = self.find_exactly(text) or find_near(text, self.letters)
        for part in self.parts:
            if not places:
                places = text.places(part)
        return places or find_near(text, self.core)

    def find_exactly(self, text: LetteredText) -> list[Place]:
        """Where the text has the letters of the value, or other words for it."""
        if not self.edges:
            return [match.span() for match in re.finditer(re.escape(self.raw), text.folded)] if self.raw else []
        own = text.letters
        return [place for letters, count in self.spelled if letters in own for place in text.places(letters, count)]


def _phrase(text: str) -> tuple[str, int]:
    """Letters and the number of words they must be: other words for a value are not found across other blanks."""
    return text.replace(" ", ""), text.count(" ") + 1


def _drop_implied(hints: list[str]) -> tuple[str, ...]:
    """The hints without those that another is part of."""
    kept: list[str] = []
    for hint in sorted(dict.fromkeys(hints), key=len):
        if not any(part in hint for part in kept):
            kept.append(hint)
    return tuple(kept)


def _spell_name(words: list[str]) -> list[str]:
    """The letters of a name in every spelling of its words, with and without "the", also in the singular."""
    choices = [_spellings().get(word, (word,)) for word in words]
    spelled: dict[str, None] = {}
    for spelling in islice(product(*choices), _SPELLINGS):
        letters = "".join(spelling)
        spelled[letters] = None
        if words[:1] == ["the"] and _is_telling(words[1:]):
            spelled[letters[3:]] = None
        if len(letters) > _TELLING and letters.endswith("s") and not letters.endswith("ss"):
            spelled[letters[:-1]] = None
    return list(filter(None, spelled))


def _telling_parts(words: list[str], head: list[str]) -> list[str]:
    """What may be left of a name, the longest first: two or more of its words, or all but those that say what it is.

    `head` is what stands before a comma or a parenthesis: London in "London, UK".
    """
    parts = {_strip_generic(words), "".join(head) if len(head) < len(words) and _is_telling(head) else ""}
    for size in range(len(words) - 1, 1, -1):
        for part in (words[:size], words[-size:]):
            if _is_telling(part) and len("".join(part)) >= _LONG and part[0] not in _word_set("faint"):
                parts.add("".join(part))
    return sorted(filter(None, parts), key=lambda part: (-len(part), part))


def _strip_generic(words: list[str]) -> str:
    """A name without the words at its ends that only say what it is."""
    first, last = 0, len(words)
    while first < last and words[first] in _word_set("generic"):
        first += 1
    while last > first and words[last - 1] in _word_set("generic"):
        last -= 1
    return "".join(words[first:last]) if last - first < len(words) and _is_telling(words[first:last]) else ""


def _is_telling(words: list[str]) -> bool:
    """Whether words tell a name from others."""
    return (
        any(
            len(word) >= _TELLING - 1 and word not in _word_set("generic") and word not in _word_set("faint")
            for word in words
        )
        and sum(map(len, words)) >= _TELLING
    )


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "data/value_forms.toml")


@cache
def _word_set(name: str) -> frozenset[str]:
    return frozenset(_table()[name])


@cache
def _spellings() -> dict[str, tuple[str, ...]]:
    """Every word that is spelled in several ways, with all its spellings, its own first."""
    spellings: dict[str, tuple[str, ...]] = {}
    for group in _table()["spellings"]:
        for word in group:
            spellings[word] = tuple(dict.fromkeys((word, *spellings.get(word, ()), *group)))
    return spellings


@cache
def _flags() -> Flags:
    return Flags(_table()["flags"])


@cache
def _openness() -> Openness:
    return Openness(_table()["dontcare"])
