"""The words that the recogniser can give at all, as a Bloom filter (Bloom 1970): small, and wrong once in fifty times.

A name that the recogniser does not know is always misheard. The copy of the channel in text has to know which are such.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from hashlib import blake2b

_REMEMBERED = 50_000
BITS, HASHES = 8, 5
"""Bits for each word, and places that each word sets."""


def pack_words(words: Iterable[str]) -> str:
    """A vocabulary as text."""
    known = sorted(set(words))
    bits = bytearray(len(known) * BITS // 8 + 1) if known else bytearray()
    for word in known:
        for place in _places(word, 8 * len(bits)):
            bits[place >> 3] |= 1 << (place & 7)
    return b64encode(bits).decode()


class Vocabulary:
    """Tells whether a word is in a packed vocabulary. An empty one knows every word."""

    def __init__(self, text: str) -> None:
        self._bits = b64decode(text)
        self._seen: dict[object, bool] = {}

    def __contains__(self, word: object) -> bool:
        known = self._seen.get(word)
        if known is None:
            places = _places(str(word), 8 * len(self._bits)) if self._bits else ()
            known = all(self._bits[place >> 3] >> (place & 7) & 1 for place in places)
            if len(self._seen) < _REMEMBERED:
                self._seen[word] = known
        return known


def _places(word: str, size: int) -> Iterator[int]:
    digest = blake2b(word.encode(), digest_size=4 * HASHES).digest()
    for start in range(0, len(digest), 4):
        yield int.from_bytes(digest[start : start + 4], "little") % size
