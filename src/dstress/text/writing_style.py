"""How an utterance is written, and other text written the same way.

Corpora keep their own ways: SGD writes "I'd like that, please.", MultiWOZ parts tokens ("I 'd like that , please ."),
TRADE's preparation has only small letters and no apostrophes ("i would like that , please ."). What a stressor adds to
an utterance has to look like the rest of it, or a tracker could tell the addition by its spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from dstress.text.utterance import Ranges

_PARTED = re.compile(r"\w ['’](?:m|d|s|ll|re|ve)\b|\w n['’]t\b|\w [.,?!](?:\s|$)")
_CLOSED = re.compile(r"\w[.,?!](?:\s|$)|\w['’]\w")
_SMALL_I = re.compile(r"\bi\b")
_LARGE_I = re.compile(r"\bI\b")
_CONTRACTED = re.compile(r"(?<=\w)(n't|'(?:m|d|s|ll|re|ve))\b")
_MARK = re.compile(r"(?<=[\w%])([.,!?:;]+)(?=\s|$)")
_FULL = {"n't": " not", "'m": " am", "'d": " would", "'s": " is", "'ll": " will", "'re": " are", "'ve": " have"}
_IRREGULAR = re.compile(r"\b(ca|wo)(?= not\b)")
_REMEMBERED = 32_768


class Manner(NamedTuple):
    """`small`: no capitals. `parted`: punctuation and contractions stand apart. `bare`: contractions written out."""

    small: bool
    parted: bool
    bare: bool


def manner_of(text: str, beside: str = "") -> Manner:
    """The manner of an utterance; what it leaves open is read from the utterance `beside` it, the system's."""
    small = text == text.lower() if not _SMALL_I.search(text) else not _LARGE_I.search(text)
    parted = _is_parted(text)
    if parted is None:
        parted = bool(_is_parted(beside))
    return Manner(small, parted, small and parted and "'" not in text and "'" not in beside)


def shows_parting(text: str) -> bool:
    """Whether a text has any punctuation or contraction by which its manner can be told."""
    return _is_parted(text) is not None


def _is_parted(text: str) -> bool | None:
    if _PARTED.search(text):
        return True
    return False if _CLOSED.search(text) else None


@lru_cache(maxsize=_REMEMBERED)
def dressed(phrase: str, manner: Manner) -> str:
    """A phrase of plain English ("I'd love that, thanks.") in the given manner. Its first letter stays as it is."""
    if manner.bare:
        phrase = _CONTRACTED.sub(lambda found: _FULL[found.group()], phrase)
        phrase = _IRREGULAR.sub(lambda found: {"ca": "can", "wo": "will"}[found.group()], phrase)
    if manner.parted:
        phrase = _MARK.sub(r" \1", _CONTRACTED.sub(r" \1", phrase))
    return phrase.lower() if manner.small else phrase


def capitalised(text: str) -> str:
    """The text with a capital first letter; the rest stays."""
    return text[:1].upper() + text[1:]


def free(spans: Iterable[re.Match[str]], protected: Ranges) -> Iterator[re.Match[str]]:
    """Matches, in their order, that touch no protected range. Both are sorted, so one walk does."""
    ranges = iter(protected)
    start, end = next(ranges, (-1, -1))
    for found in spans:
        while end >= 0 and end <= found.start():
            start, end = next(ranges, (-1, -1))
        if end < 0 or found.end() <= start:
            yield found
