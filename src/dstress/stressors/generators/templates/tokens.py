"""Text as the templates see it: small tokens, sentences, and placeholders such as `[hotel-book day]`.

An *element* is what a template says of one slot: the slot's id, and for a flag its value too (`hotel-parking=yes`). A
placeholder stands for an element's value. A flag has words of its own, so a mark in front of them only names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from dstress.stressors.generators.goals import flag_of
from dstress.text.tables import read_table

_TOKEN = re.compile(
    r"\[[^\[\]]+\]|\{[^{}]+\}|(?<![^\s\]])-[a-z]+\b|[$£€]?\d+(?:[.:,]\d+)*\w*|[^\W\d_]+(?:[-'’&][^\W\d_]+)*|[^\w\s]|_"
)
_NAME = re.compile(r"[a-z]+")
ENDS = frozenset(".?!;")
_REMEMBERED = 16_384


def lists() -> dict[str, Any]:
    """The tables of `words.toml`."""
    return read_table(__package__, "words.toml")


@cache
def words(name: str) -> frozenset[str]:
    """One of the lists of `words.toml`, such as `unclean` or `joining.starts`."""
    table, _, inner = name.partition(".")
    return frozenset(lists()[table][inner] if inner else lists()[table])


def has_word(tokens: Iterable[str], name: str) -> bool:
    """Whether one of the tokens is in a list of `words.toml`."""
    return not words(name).isdisjoint(tokens)


def has_phrase(text: str, name: str) -> bool:
    """Whether one of the phrases of a list of `words.toml` is in a text."""
    return any(phrase in text for phrase in words(name))


def tokens_of(text: str) -> list[str]:
    """Words, marks and placeholders, in small letters except the placeholders."""
    return [token if token[0] in "[{" else token.lower().replace("’", "'") for token in _TOKEN.findall(text)]


@lru_cache(maxsize=_REMEMBERED)
def sentences_of(tokens: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The sentences; each ends with its mark, if it has one."""
    sentences: list[tuple[str, ...]] = []
    start = 0
    for at, token in enumerate(tokens, start=1):
        if token in ENDS or at == len(tokens):
            if at - start > 1 or token not in ENDS or not sentences:  # "..." and "?!" end one sentence
                sentences.append(tokens[start:at])
            start = at
    return tuple(sentences)


def runs(tokens: Sequence[str], longest: int) -> Iterable[str]:
    """Every run of up to `longest` tokens."""
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + longest, len(tokens)) + 1):
            yield " ".join(tokens[start:end])


def is_placeholder(token: str) -> bool:
    """Whether a token stands for a slot's value."""
    return token[0] == "["


def is_flag_mark(token: str) -> bool:
    """Whether a token only marks that the words after it say a flag: `{hotel-parking=yes}`."""
    return token[0] == "{"


def element_in(token: str) -> str:
    """The element in a placeholder or a flag's mark."""
    return token[1:-1]


def elements_of(tokens: Iterable[str]) -> list[str]:
    """The elements that tokens say, in order."""
    return list(dict.fromkeys(token[1:-1] for token in tokens if token[0] in "[{"))


def element_for(slot: str, value: str) -> str:
    """The element that says a value of a slot."""
    flag = flag_of(value)
    return f"{slot}={flag}" if flag else slot


def slot_of(element: str) -> str:
    """The slot id of an element."""
    return element.partition("=")[0]


def bare_name(slot: str) -> str:
    """A slot's name without its service and without `book`: what a question asks for, whatever the service."""
    return slot.partition("-")[2].lower().removeprefix("book ")


def is_booking(slot: str) -> bool:
    """Whether a slot belongs to a booking and does not say what is to be booked: `hotel-book stay`."""
    return slot.partition("-")[2].startswith("book ")


def has_bookings(slots: Iterable[str]) -> bool:
    """Whether a schema's slots tell what belongs to a booking."""
    return any(map(is_booking, slots))


def service_noun(service: str) -> str:
    """What a service is about: `Restaurants_1` -> `restaurant`."""
    match = _NAME.match(service.lower())
    return match.group().removesuffix("s") if match else ""
