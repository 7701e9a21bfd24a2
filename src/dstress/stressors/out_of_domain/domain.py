"""What a corpus is about. An utterance is foreign to it that says none of its values and speaks of none of its slots.

An utterance of another corpus may well be about the same things ("find me a restaurant") or about nothing at all
("yes, please"): neither is out of domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from dstress.dialogue import Dialogue, Schema
from dstress.resources import Material
from dstress.text.tables import read_table
from dstress.text.word_row import word_lists

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FEWEST_WORDS, _MOST_WORDS, _FEWEST_TELLING = 4, 40, 2
_LONGEST_VALUE = 6


class _WordLists(NamedTuple):
    booking: frozenset[str]
    everywhere: frozenset[str]


@cache
def _word_lists() -> _WordLists:
    table = read_table(__package__, "domain.toml")
    return _WordLists(frozenset(table["booking"]), frozenset(table["everywhere"]) | word_lists().function)


class Domain:
    """What a corpus is about, by the words of its schema and the values of its dialogues."""

    def __init__(self, schema: Schema, corpus: Iterable[Dialogue]) -> None:
        lists = _word_lists()
        self._slot_words = frozenset(_schema_words(schema))
        self._near_words = self._slot_words | lists.booking
        phrases: set[str] = set()
        for value in _values(schema, corpus):
            words = _words(value)
            # A title such as "It" or "Up" is a word of every language's grammar: it tells nothing.
            if words and len(words) <= _LONGEST_VALUE and any(word not in lists.everywhere for word in words):
                phrases.add(" ".join(words))
        self._phrases = frozenset(phrases)
        self._longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)

    def is_foreign(self, text: str, *, may_book: bool = False) -> bool:
        """Whether the utterance says no value of the corpus, no word of its slots, nor (unless it may) of booking."""
        near = self._slot_words if may_book else self._near_words
        if any(word in near or word.removesuffix("s") in near for word in _words(text)):
            return False
        return not self.says_value(text)

    def says_value(self, text: str) -> bool:
        """Whether the utterance says a value of the corpus."""
        words = _words(text)
        return any(
            " ".join(words[start : start + length]) in self._phrases
            for start in range(len(words))
            for length in range(1, min(self._longest, len(words) - start) + 1)
        )

    def foreign_openings(self, material: Material, services: Sequence[str] = ()) -> list[str]:
        """The foreign utterances that open a dialogue of another corpus, each once, in an order of their own.

        Only an opening is sure to stand by itself: later utterances answer a question that nobody asked here. Of
        `services`, where it has any of them, whoever named them says that they are foreign: these may speak of booking.
        """
        chosen = {service for service in material.schema.by_name if is_among(service, services)}
        openings = {
            dialogue.turns[0].user
            for dialogue in material
            if dialogue.turns and (not chosen or (dialogue.services and chosen.issuperset(dialogue.services)))
        }
        return sorted(text for text in openings if self._stands_alone(text, may_book=bool(chosen)))

    def _stands_alone(self, text: str, *, may_book: bool) -> bool:
        """Whether a foreign utterance says enough, and nothing with a number, to be put anywhere."""
        words = _words(text)
        if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or not text.isprintable() or _NUMBER.search(text):
            return False
        telling = {word for word in words if word not in _word_lists().everywhere}
        return len(telling) >= _FEWEST_TELLING and self.is_foreign(text, may_book=may_book)


def is_among(service: str, names: Sequence[str]) -> bool:
    """Whether one of the names is the service's, or that of its domain: `Banks` for `Banks_1`."""
    return any(service == name or service.startswith(f"{name}_") for name in names)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _schema_words(schema: Schema) -> Iterator[str]:
    """Telling words of service and slot names: `RentalCars_3-pickup_location` gives rental, car, pickup, location."""
    for slot in schema.slots:
        for word in _CAMEL.findall(slot.replace("_", " ")):
            small = word.lower().removesuffix("s")
            if len(small) > 2 and small not in _word_lists().everywhere:
                yield small


def _values(schema: Schema, corpus: Iterable[Dialogue]) -> Iterator[str]:
    for slot in schema.slots.values():
        yield from slot.values
    for dialogue in corpus:
        # Later turns repeat the earlier ones' values, but a value that was changed stands only in those.
        seen: dict[str, tuple[str, ...]] = {}
        for turn in dialogue.turns:
            for slot_name, forms in turn.state.items():
                if seen.get(slot_name) != forms:
                    seen[slot_name] = forms
                    yield from forms
