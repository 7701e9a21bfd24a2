"""What the linear classifier sees of an exchange: hashed n-grams of the user's and the system's words, and crosses.

One utterance may speak about any service: "for 3 people" books a table, a room or a train. So the user's words are also
seen together with the topic, the service that the words so far speak about, and with what the system has just said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dstress.dialogue import service_of
from dstress.generators.classifiers.base import Exchange
from dstress.generators.classifiers.delexical import Wording
from dstress.generators.classifiers.examples import Labelled

_MIXED, _HALF = np.uint32(0x9E3779B1), np.uint32(15)
_SYSTEM, _ASKED = np.uint32(0x5BD1E995), np.uint32(0x27D4EB2F)
_BEGINNING, _END = 3, 5
_TOPIC = np.uint32(0x85EBCA6B)
_LAST = 14
"""So many of the system's last words are seen together with the user's."""
_SHORT = 4
"""An answer of so few words is seen whole with the system's words; of a longer one its values."""
_FADING = (0.6, 0.4, 0.25, 0.15)
"""What earlier turns count for the topic, the latest first."""
_REMEMBERED = 65_536
_STRONGEST, _PRIOR = 3.0, 20.0


Hashes = NDArray[np.uint32]


def _mix(one: Hashes, other: Hashes | np.uint32) -> Hashes:
    """The hashes of pairs; numbers wrap around, which is what a hash should do."""
    mixed: Hashes = ((one * _MIXED) ^ other ^ (one >> _HALF)) * _MIXED
    return mixed


class Read(NamedTuple):
    """A text: the hashes of its words, of its n-grams and of what answers a question, and what it says of the topic."""

    words: Hashes
    grams: Hashes
    telling: Hashes
    topic: NDArray[np.float64]


class Features:
    """Reads exchanges. It learns from training exchanges what words are values, and what words are about a service."""

    def __init__(self, examples: Sequence[Labelled]) -> None:
        self._wording = Wording(examples)
        self._services = sorted({service_of(slot) for example in examples for slot in example.added})
        self._place, self._weights = self._learnt(examples)
        self._remember()

    def _remember(self) -> None:
        self._read = lru_cache(_REMEMBERED)(self._of_text)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_read"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__ |= state
        self._remember()

    def rows(self, exchanges: Sequence[Exchange]) -> tuple[Hashes, NDArray[np.int64]]:
        """The features of all exchanges, and the exchange of each: those of one are together, and in order."""
        user = [self._read(exchange.user) for exchange in exchanges]
        system = [self._read(exchange.system) for exchange in exchanges]
        context = np.stack(
            [self._context(one, exchange.history) for one, exchange in zip(system, exchanges, strict=True)]
        )
        around = _numbered(context)
        topic = _numbered(context + np.stack([one.topic for one in user]))
        words, said = _joined([one.words for one in user])
        grams, by = _joined([one.grams for one in user])
        heard, hearing = _joined([one.words for one in system])
        passed, passing = _joined([one.grams for one in system])
        crossed, crossing = _joined([_crossed(*pair) for pair in zip(user, system, strict=True)])
        count = np.arange(len(exchanges))
        found = np.concatenate(
            (
                around,
                topic ^ _ASKED,
                grams,
                passed ^ _SYSTEM,
                _mix(grams, topic[by]),
                _mix(words, around[said] ^ _SYSTEM),
                _mix(heard, topic[hearing] ^ _ASKED),
                _mix(crossed, _ASKED),
            )
        )
        place = np.concatenate((count, count, by, passing, by, said, hearing, crossing))
        order = np.argsort(place, kind="stable")
        return found[order], place[order]

    def _context(self, system: Read, history: Sequence[str]) -> NDArray[np.float64]:
        topic = system.topic
        for text, share in zip(reversed(history), _FADING, strict=False):
            topic = topic + self._read(text).topic * share
        return topic

    def _of_text(self, text: str) -> Read:
        words = self._wording.read(text)
        hashes = np.array([_BEGINNING, *map(_hash, words), _END], np.uint32)
        pairs = _mix(hashes[:-1], hashes[1:])
        own = hashes[1:-1]
        grams = np.concatenate((own, pairs, _mix(pairs[:-1], hashes[2:])))
        once = dict.fromkeys(words)
        telling = own if len(words) <= _SHORT else np.array([_hash(word) for word in once if word[0] == "<"], np.uint32)
        about = self._weights[[self._place.get(word, 0) for word in once]].sum(0)
        return Read(own, grams, telling, about)

    def _learnt(self, examples: Sequence[Labelled]) -> tuple[dict[str, int], NDArray[np.float64]]:
        """How much more often a word is said when a service is spoken about, in logarithms; the first row is 0."""
        place: dict[str, int] = {}
        services = {service: column for column, service in enumerate(self._services)}
        counts: Counter[tuple[int, int]] = Counter()
        for example in examples:
            spoken = {services[service_of(slot)] for slot in example.slots}
            if spoken:
                words = [place.setdefault(word, 1 + len(place)) for word in self._wording.read(example.exchange.user)]
                counts.update((row, column) for row in dict.fromkeys(words) for column in spoken)
        table = np.zeros((1 + len(place), max(1, len(services))))
        for (row, column), count in counts.items():
            table[row, column] = count
        share = np.maximum(table.sum(0) / max(1.0, table.sum()), 1e-9)
        table = np.log((table + _PRIOR * share) / ((table.sum(1, keepdims=True) + _PRIOR) * share))
        return place, table.clip(-_STRONGEST, _STRONGEST)


def _numbered(about: NDArray[np.float64]) -> Hashes:
    """The topic of each row, as a hash."""
    topics: Hashes = (1 + about.argmax(1)).astype(np.uint32) * _TOPIC
    return topics


def _crossed(user: Read, system: Read) -> Hashes:
    """What answers a question, each with each of the system's last words."""
    pairs: Hashes = np.bitwise_xor.outer(user.telling * _MIXED, system.words[-_LAST:]).ravel()
    return pairs


def _joined(parts: Sequence[Hashes]) -> tuple[Hashes, NDArray[np.int64]]:
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


@cache
def _hash(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))
