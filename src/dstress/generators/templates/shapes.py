"""What kind of utterance a template is, and after which kinds of system turns it can be said."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from dstress.generators.templates.tokens import elements_of, is_mark, lists, sentences_of, words

_ANSWERABLE = frozenset({"book"})
AFRESH = frozenset({"start", "more", "turns", "done"})
"""After these, nothing is being spoken of."""
_INTRODUCED = 5
"""A sentence of more tokens has named what is spoken of."""


class Shape(NamedTuple):
    """How a template opens (`greeting`, `assent` ...), whether it says that it wants something further ("also"),
    whether it speaks of something named before, whether it is only an answer, and what its first
    telling sentence says."""

    opening: str
    further: bool
    points_back: bool
    bare: bool
    first: frozenset[str]


def shape_of(tokens: tuple[str, ...]) -> Shape:
    """The shape of a template."""
    sentences = sentences_of(tokens)
    at = next((at for at, sentence in enumerate(sentences) if elements_of(sentence)), 0)
    named = any(len(one) > _INTRODUCED and not points_back(one) and "that" not in one for one in sentences[:at])
    first = sentences[at]
    plain = tuple(token for token in tokens if not is_mark(token))
    return Shape(
        opening_of(plain),
        not words("joining.further").isdisjoint(plain) or " as well " in f" {' '.join(plain)} ",
        not named and points_back(first),
        is_bare(first) or _is_thin(first),
        frozenset(elements_of(first)),
    )


def may_follow(shape: Shape, kind: str, answers: frozenset[str]) -> bool:
    """Whether a template can follow on this kind of system turn, which asked for `answers`."""
    fits = lists()["fits"][kind]
    if shape.further and "addition" not in fits:
        return False
    if shape.opening and shape.opening not in fits:
        denies = shape.opening == "refusal" and any(part.endswith(("=no", "=dontcare")) for part in answers)
        if not denies:
            return False
    if kind in AFRESH and shape.points_back:
        return False
    answered = kind in _ANSWERABLE or (kind == "fails" and shape.opening == "proposal")
    return not shape.bare or answered or not answers.isdisjoint(shape.first)


def is_bare(tokens: Sequence[str]) -> bool:
    """Whether words are no sentence, only an answer: "the north , please"."""
    return words("joining.verbs").isdisjoint(tokens)


def _is_thin(tokens: Sequence[str]) -> bool:
    """Whether a sentence has nothing that tells one slot from another: "let's say 7"."""
    return all(token[0] in "[{" or token in words("joining.thin") for token in tokens)


def opening_of(tokens: Sequence[str]) -> str:
    """What kind of opening an utterance has: a greeting, an assent ...; empty for a plain one."""
    start = f"{' '.join(tokens[:6])} "
    return next((name for name, phrases in _openings() if start.startswith(phrases)), "")


@cache
def _openings() -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(f"{one} " for one in phrases)) for name, phrases in lists()["openings"].items())


def points_back(sentence: Sequence[str]) -> bool:
    """Whether a sentence speaks of what was named before: "it should be cheap"."""
    if not words("joining.pointing").isdisjoint(sentence):
        return True
    return any(
        token == "there" and not words("joining.existing") & set(sentence[max(0, at - 1) : at + 2])
        for at, token in enumerate(sentence)
    )
