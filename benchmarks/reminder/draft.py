"""Text under construction: words, and marks on the values in them that move along as the text grows.

Spans are exact because they are never searched for: a mark is made when a value is put into a phrasing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.reminder.values import Voice

_BLANK = re.compile(r"\{([a-z_.]+)\}")
_ARTICLE = re.compile(r"(?:^|(?<=[\s(]))a $")
_SENTENCE_START = re.compile(r"(?:^|(?<=[.?!] ))[a-z]")


class Mark(NamedTuple):
    """Where a draft speaks of a slot's value; `refer` if it only refers to it."""

    start: int
    end: int
    slot: str
    value: str
    refer: bool = False


class Draft(NamedTuple):
    """A piece of an utterance."""

    text: str
    marks: tuple[Mark, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)


def mark_value(text: str, slot: str, value: str, article: str = "", refer: bool = False) -> Draft:
    """A value as it is spoken; an article in front of it is no part of the mark."""
    return Draft(article + text, (Mark(len(article), len(article) + len(text), slot, value, refer),))


def join(parts: Sequence[Draft], separator: str = " ") -> Draft:
    """Drafts one after the other, empty ones left out."""
    text, marks = "", list[Mark]()
    for part in parts:
        if not part:
            continue
        if text:
            text += separator
        at = len(text)
        marks += [Mark(at + m.start, at + m.end, m.slot, m.value, m.refer) for m in part.marks] if at else part.marks
        text += part.text
    return Draft(text, tuple(marks))


def fill(template: str, blank: Callable[[str], Draft]) -> Draft:
    """A phrasing with its blanks filled; `a` becomes `an` where the filler asks for it."""
    parts: list[Draft] = []
    position = 0
    for match in _BLANK.finditer(template):
        filler = blank(match[1])
        before = template[position : match.start()]
        if _ARTICLE.search(before) and filler.text[:1].lower() in tuple("aeiou"):
            before = before[:-1] + "n "
        parts += [Draft(before), filler]
        position = match.end()
    return join([*parts, Draft(template[position:])], separator="")


def sentence(draft: Draft) -> Draft:
    """A draft that ends like a sentence."""
    return draft if not draft or draft.text[-1] in ".?!:" else Draft(draft.text + ".", draft.marks)


def with_article(draft: Draft) -> Draft:
    """`restaurant` -> `a restaurant`."""
    return join([Draft("an" if draft.text[:1].lower() in tuple("aeiou") else "a"), draft])


def polish(sentences: Sequence[Draft], voice: Voice) -> Draft:
    """The final utterance: capitals and the last full stop as this voice has them. No mark moves."""
    whole = join([sentence(part) for part in sentences])
    text = _SENTENCE_START.sub(lambda match: match[0].upper(), whole.text)
    if voice.lower:
        text = text.lower()
    if not voice.final_stop:
        text = text.removesuffix(".")
    return Draft(text, whole.marks)
