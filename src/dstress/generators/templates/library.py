"""The templates that a corpus gives: whole utterances, further sentences, phrases to add; and what shape each has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from dstress.generators.templates.tokens import elements_of, is_flag_mark, lists, sentences_of, words

Key = frozenset[str]
"""The elements that words say."""

AFRESH = frozenset({"start", "more", "turns", "done"})
"""After these kinds of system turns, nothing is being spoken of."""
_ANSWERABLE = frozenset({"book"})
_INTRODUCED = 5
"""A sentence of more tokens has named what is spoken of."""


class Template(NamedTuple):
    """Tokens that say a key. `base` is how usual they are, `fits` how well they follow on each kind of system turn.

    `taken` are the slots that were mostly taken up from the system along with it; `after` the tokens that a phrase was
    mostly said after.
    """

    tokens: tuple[str, ...]
    base: float
    fits: tuple[float, ...] = ()
    taken: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()


class Library(NamedTuple):
    """All templates, by key: `wholes`, `follow` (further sentences), `added` (phrases)."""

    wholes: dict[Key, tuple[Template, ...]]
    follow: dict[Key, tuple[Template, ...]]
    added: dict[Key, tuple[Template, ...]]
    heads: dict[str, tuple[Template, ...]]
    """Requests that say no slot, by service: "i am looking for a place to stay"."""
    places: dict[str, float]
    """Where in an utterance an element is said on average, from 0 to 1."""


class Shape(NamedTuple):
    """How a template opens (`greeting`, `assent` ...), whether it says that it wants something further ("also"),
    whether it speaks of something named before, whether it is only an answer, and which elements its first sentence
    with a slot says."""

    opening: str
    wants_further: bool
    points_back: bool
    only_answers: bool
    first: frozenset[str]

    def may_follow(self, kind: str, requested: frozenset[str]) -> bool:
        """Whether it can be said after this kind of system turn, which requested some elements."""
        fits = lists()["fits"][kind]
        if self.wants_further and "addition" not in fits:
            return False
        if self.opening and self.opening not in fits:
            denies = self.opening == "refusal" and any(each.endswith(("=no", "=dontcare")) for each in requested)
            if not denies:
                return False
        if kind in AFRESH and self.points_back:
            return False
        answered = kind in _ANSWERABLE or (kind == "fails" and self.opening == "proposal")
        return not self.only_answers or answered or not requested.isdisjoint(self.first)


def shape_of(tokens: tuple[str, ...]) -> Shape:
    """The shape of a template."""
    sentences = sentences_of(tokens)
    at = next((at for at, sentence in enumerate(sentences) if elements_of(sentence)), 0)
    first = sentences[at]
    introduced = any(
        len(sentence) > _INTRODUCED and not points_back(sentence) and "that" not in sentence
        for sentence in sentences[:at]
    )
    # "let's say 7" has nothing that tells one slot from another
    is_thin = all(token[0] in "[{" or token in words("joining.thin") for token in first)
    plain = tuple(token for token in tokens if not is_flag_mark(token))
    start = f"{' '.join(plain[:6])} "
    return Shape(
        next((name for name, phrases in _openings() if start.startswith(phrases)), ""),
        not words("joining.further").isdisjoint(plain) or " as well " in f" {' '.join(plain)} ",
        not introduced and points_back(first),
        is_fragment(first) or is_thin,
        frozenset(elements_of(first)),
    )


@cache
def _openings() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Kinds of openings, each with the phrases that it starts with."""
    return tuple((name, tuple(f"{phrase} " for phrase in phrases)) for name, phrases in lists()["openings"].items())


def is_fragment(tokens: Sequence[str]) -> bool:
    """Whether words are no sentence, only an answer: "the north , please"."""
    return words("joining.verbs").isdisjoint(tokens)


def points_back(sentence: Sequence[str]) -> bool:
    """Whether a sentence speaks of what was named before: "it should be cheap"."""
    if not words("joining.pointing").isdisjoint(sentence):
        return True
    return any(
        token == "there" and not words("joining.existing") & set(sentence[max(0, at - 1) : at + 2])
        for at, token in enumerate(sentence)
    )
