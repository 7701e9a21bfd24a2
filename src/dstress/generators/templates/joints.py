"""Putting pieces of templates together."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from dstress.generators.templates.library import Template
from dstress.generators.templates.tokens import elements_of, is_end, is_mark, is_placeholder, sentences_of, words

_FREE = 3
"""A phrase heard after so many different words can be said after others."""
_START = 3
_REMEMBERED = 16_384


class _Request(NamedTuple):
    """A text cut where a phrase can be added: before the mark and a "please"."""

    body: tuple[str, ...]
    end: tuple[str, ...]
    last: frozenset[str]
    describes: bool


def with_phrase(tokens: tuple[str, ...], phrase: Template) -> tuple[str, ...]:
    """A phrase put at the end of a request; empty where it cannot be."""
    request = _request(tokens)
    if request is None or not _goes_with(phrase, request):
        return ()
    return request.body + phrase.tokens + request.end


@lru_cache(maxsize=_REMEMBERED)
def _request(tokens: tuple[str, ...]) -> _Request | None:
    last = sentences_of(tokens)[-1]
    declines = any(one.endswith(("=no", "=dontcare")) for one in elements_of(last))
    if declines or words("joining.requests").isdisjoint(last):
        return None
    cut = len(tokens) - is_end(tokens[-1])
    while cut and tokens[cut - 1] in words("joining.polite"):
        cut -= 1
    describes = not words("joining.describing").isdisjoint(last)
    return _Request(tokens[:cut], tokens[cut:], frozenset(last), describes) if cut else None


def _goes_with(phrase: Template, request: _Request) -> bool:
    """Whether a phrase can be said after a request: "that serves" and "for 3 tickets" only where they were heard."""
    heard = request.body[-1] in phrase.after
    if phrase.tokens[0] in words("joining.relative"):
        return heard and any(token in request.last for token in phrase.after if not is_placeholder(token))
    if heard or request.describes:
        return heard
    leaning = len(phrase.after & words("joining.leaning"))
    if 2 * leaning > len(phrase.after):
        return False
    return len(phrase.after) >= _FREE and not (len(phrase.tokens) == 2 and phrase.tokens[0] in words("joining.verbal"))


def is_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two texts have sentences that begin alike, so that together they sound like a list."""
    return not _starts(one).isdisjoint(_starts(other))


@lru_cache(maxsize=_REMEMBERED)
def _starts(tokens: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(
        tuple(token for token in sentence if not is_mark(token) and token not in words("joining.replies"))[:_START]
        for sentence in sentences_of(tokens)
    )
