"""A turn's words without its values. Spans tell where values stand, so that nothing is guessed; capitals stay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from dstress.dialogue import Act, Frame, Service, Turn, slot_id
from dstress.generators.templates.acts.annotation import ASKS, GIVES, OPENS, SELECTS, Doing, acts_of, doing_of
from dstress.generators.templates.tokens import element_for, flag_of, slot_of
from dstress.text.letters import name_words
from dstress.text.numbers import number_of, number_words
from dstress.text.tables import read_table
from dstress.text.times import date_of, time_of

PLACEHOLDER = re.compile(r"\[([^\]]+)\]")
"""A bare slot name: a template is about one service."""
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z\[])")
_WORD = re.compile(r"\[[^\]]+\]|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_SLIP = re.compile(r"\bi\b|\s[.,?!]|\.\.|[.?!] [a-z]")
_LAST_VALUE = re.compile(r"(\w+) (?:only |just )?\[([^\]]+)\](?:,? please)?\W*$", re.IGNORECASE)
_WISHES = frozenset({"like", "want", "need", "prefer", "me"})
_BEFORE_COUNT = frozenset({"for", "of", "least", "with"})
_CLOCK = re.compile(r"[\d:]+(?: ?[ap]m)?", re.IGNORECASE)


class Delexicalised(NamedTuple):
    """What a turn does, its text with placeholders, and the shape of the value in each."""

    doing: Doing
    text: str
    shapes: dict[str, str]


@cache
def word_lists() -> Mapping[str, frozenset[str]]:
    """The lists of `words.toml`."""
    return {name: frozenset(listed) for name, listed in read_table(__package__, "words.toml").items()}


def delexicalise(turn: Turn, services: Mapping[str, Service]) -> Delexicalised | None:
    """A turn that tells of one of the services and asks for nothing, without its values; None for any other."""
    giving = [(frame, act) for frame in turn.frames for act in frame.acts if act.slot and act.act in (GIVES, SELECTS)]
    about = {frame.service for frame in turn.frames if OPENS in acts_of((frame,))} | {
        frame.service for frame, _ in giving
    }
    if len(about) != 1 or ASKS in acts_of(turn.frames):
        return None
    [service] = about
    places: list[tuple[int, int, str]] = []
    elements: set[str] = set()
    for frame, act in giving:
        if len(act.values) != 1:
            return None
        elements.add(element_for(slot_id(service, act.slot), act.values[0]))
        if not flag_of(act.values[0]):
            place = _find_place(turn.user, frame, act)
            if place is None:
                return None
            places.append((*place, act.slot))
    places.sort()
    text, done, shapes = "", 0, dict[str, str]()
    for start, end, slot in places:
        if start < done or slot in shapes:
            return None
        text, done = f"{text}{turn.user[done:start]}[{slot}]", end
        shapes[slot] = shape_of(turn.user[start:end])
    text = end_sentence((text + turn.user[done:]).strip())
    return Delexicalised(doing_of(turn, service, frozenset(elements)), text, shapes) if service in services else None


def _find_place(text: str, frame: Frame, act: Act) -> tuple[int, int] | None:
    """Where a turn says a value, if once: at its span, or where the value's own words are."""
    spans = [(span.start, span.end) for span in frame.spans if span.slot == act.slot]
    if not spans:
        number = number_of(act.values[0])
        forms = {act.values[0], *(word for word, value in number_words().items() if value == number)}
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        spans = [match.span() for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)]
    return spans[0] if len(spans) == 1 else None


def shape_of(value: str) -> str:
    """What kind of words a value is: others of the kind can stand in its place, and no words around it need change."""
    number = number_of(value)
    if number is not None and time_of(value) is None:
        return "one" if number == 1 else "number"
    if any(map(str.isdigit, value)):
        if time_of(value) is not None:
            return "clock" if _CLOCK.fullmatch(value) else "time"
        if date_of(value) is not None:  # "on the March 4th", "on the the 4th"
            return "day" if value.startswith("the ") else "day of month" if value[0].isdigit() else "month and day"
    folded = value.lower()
    return "near day" if folded in word_lists()["near_days"] or folded.startswith("next ") else "name"


def words_in(text: str) -> list[str]:
    """The words of a text in small letters, without placeholders."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text) if word[0] != "["]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return _SENTENCE.split(text)


def end_sentence(text: str) -> str:
    """A text with a mark at its end."""
    if text[-1:] in ".?!":
        return text
    asks = not word_lists()["asking"].isdisjoint(words_in(split_sentences(text)[-1])[:1])
    return f"{text}{'?' if asks else '.'}"


def is_written_well(text: str) -> bool:
    """Whether a text has its capitals, and its marks where they belong."""
    return (text[:1].isupper() or text[:1] == "[") and not _SLIP.search(text)


def is_fragment(text: str) -> bool:
    """Whether words are no sentence, only an answer."""
    return word_lists()["verbs"].isdisjoint(words_in(text))


def is_bare_wish(text: str, shapes: Mapping[str, str]) -> bool:
    """Whether a sentence names a value and does not tell what it is, so that only its question does: "I want Leeds",
    "Get 3, please"; not "for 3". The shapes are those of its values."""
    ends = filter(None, map(_LAST_VALUE.search, split_sentences(text)))
    bare = [(end[1].lower(), shapes[end[2]]) for end in ends if end[1].lower() not in _BEFORE_COUNT]
    return any(before in _WISHES or shape in ("one", "number") for before, shape in bare)


def flag_words(element: str) -> frozenset[str]:
    """The words that speak of a slot which is answered with yes or no."""
    return frozenset(name_words(slot_of(element))) - word_lists()["idle"]
