"""The ways to say a value: every accepted form of it, prepared for search in many texts.

What a form is decides how it is looked for: `dontcare`, yes and no, a time, a number, a date; else it is a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, product

from dstress.dialogue import DONTCARE
from dstress.text.letters import LetteredText, Place, fold, name_words, words_of
from dstress.text.near_spelling import find_near, pieces
from dstress.text.numbers import find_number, number_of, number_pattern, number_phrases
from dstress.text.tables import read_table, word_sets
from dstress.text.times import date_of, find_date, find_time, time_hints, time_of
from dstress.text.yes_no import find_flag, find_open, flag_answers, open_hints, read_flag, trigger_letters

_REMEMBERED = 16_384
_SPELLINGS = 16
"""Spellings of one name that are tried."""
_TELLING, _LONG = 5, 8
"""Fewest letters of a part that may stand for the whole name: without its generic words, and for any other part. One
number decides what is distinctive throughout this module."""
_FREE = 5
"""A value of fewer letters must have its blanks where the text has them: `in n` is no inn."""
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that put no blanks between words, such as Chinese and Thai."""
_RUN = re.compile(r"(?:[^\W_]|&)+")
_ADDITION = re.compile(r"[,(]")

Finder = Callable[[LetteredText], list[Place]]
"""Where a text says one accepted form of a value."""

_words = word_sets(__package__, "data/value_forms.toml")


@dataclass(frozen=True, eq=False, slots=True)
class SearchableValue:
    """The accepted forms of a value, ready for search. A text that says one has one of `hints` among its letters."""

    forms: tuple[tuple[str, Finder], ...]
    hints: tuple[str, ...]


@lru_cache(maxsize=_REMEMBERED)
def prepare_value(slot: str, forms: tuple[str, ...]) -> SearchableValue:
    """The value of a slot id; values come back turn after turn."""
    prepared = [_prepare_form(slot, form) for form in forms]
    hints: list[str] = []
    for hint in sorted(dict.fromkeys(hint for own, _ in prepared for hint in own), key=len):
        if not any(part in hint for part in hints):  # a text with the longer one has the shorter one
            hints.append(hint)
    return SearchableValue(tuple((form, find) for form, (_, find) in zip(forms, prepared, strict=True)), tuple(hints))


def _prepare_form(slot: str, form: str) -> tuple[Sequence[str], Finder]:
    """The hints of one form, and the search for it."""
    folded = fold(form).strip()
    letters = "".join(words_of(folded))
    if folded == DONTCARE:
        return open_hints(slot), lambda text: find_open(text, slot)
    if (flag := read_flag(slot, form)) is not None:
        return (*trigger_letters(slot), *flag_answers(flag)), lambda text: find_flag(text, slot, flag)
    number = number_of(folded)
    takes_times = not _words("clock").isdisjoint(name_words(slot))
    minutes = time_of(folded, hours=takes_times)
    if minutes is not None and (takes_times or number is None):  # numbers are times only where times are asked for
        return (*time_hints(minutes), letters), lambda text: find_time(text, minutes) or text.places(letters)
    if number is not None:
        phrases = [_phrase(phrase) for phrase in number_phrases(slot, number)]
        return (
            (*number_pattern(number)[1], *(own for own, _ in phrases)),
            lambda text: (
                find_number(text, slot, number) or [place for phrase in phrases for place in text.places(*phrase)]
            ),
        )
    if (date := date_of(folded)) is not None:
        return (str(date[1]),), lambda text: find_date(text, *date) or text.places(letters)
    return _prepare_name(form)


def _prepare_name(form: str) -> tuple[Sequence[str], Finder]:
    """A name or another word: by its letters, then by other words for it, then nearly, then by its telling part."""
    raw, words = fold(form).strip(), words_of(form)
    letters = "".join(words)
    has_edges = bool(words) and not _WITHOUT_BLANKS.search(letters)
    count = len(_RUN.findall(raw))
    spelled = [(spelling, 0 if len(spelling) >= _FREE else count) for spelling in _spell_name(words)]
    spelled += map(_phrase, read_table(__package__, "data/value_forms.toml")["synonyms"].get(" ".join(words), ()))
    parts = _telling_parts(words, words_of(_ADDITION.split(form, maxsplit=1)[0]))
    core = _strip_generic(words)

    def find(text: LetteredText) -> list[Place]:
        if has_edges:
            places = [place for own, count in spelled if own in text.letters for place in text.places(own, count)]
        else:
            places = [match.span() for match in re.finditer(re.escape(raw), text.folded)] if raw else []
        places = places or find_near(text, letters)
        for part in parts:
            places = places or text.places(part)
        return places or find_near(text, core)

    near_pieces = (piece for name in (letters, core) for _, piece in pieces(name))
    return (*near_pieces, *(own for own, _ in spelled), *parts) if has_edges else ("",), find


def _phrase(text: str) -> tuple[str, int]:
    """Letters and the number of words they must be: other words for a value are not found across other blanks."""
    return text.replace(" ", ""), text.count(" ") + 1


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
            if _is_telling(part) and len("".join(part)) >= _LONG and part[0] not in _words("faint"):
                parts.add("".join(part))
    return sorted(filter(None, parts), key=lambda part: (-len(part), part))


def _strip_generic(words: list[str]) -> str:
    """A name without the words at its ends that only say what it is."""
    first, last = 0, len(words)
    while first < last and words[first] in _words("generic"):
        first += 1
    while last > first and words[last - 1] in _words("generic"):
        last -= 1
    return "".join(words[first:last]) if last - first < len(words) and _is_telling(words[first:last]) else ""


def _is_telling(words: list[str]) -> bool:
    """Whether words tell a name from others."""
    generic, faint = _words("generic"), _words("faint")
    telling = (word for word in words if len(word) >= _TELLING - 1 and word not in generic and word not in faint)
    return sum(map(len, words)) >= _TELLING and any(telling)


@cache
def _spellings() -> dict[str, tuple[str, ...]]:
    """Every word that is spelled in several ways, with all its spellings, its own first."""
    spellings: dict[str, tuple[str, ...]] = {}
    for group in read_table(__package__, "data/value_forms.toml")["spellings"]:
        for word in group:
            spellings[word] = tuple(dict.fromkeys((word, *spellings.get(word, ()), *group)))
    return spellings
