"""What the linear classifier sees of an exchange: hashed n-grams of the user's and the system's words, and crosses.

One utterance may speak about any service: "for 3 people" books a table, a room or a train. So the user's words are also
seen together with the topic, the service that the words so far speak about, and with what the system has just said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dstress.dialogue import service_of
from dstress.stressors.counterfactual.classifier.delexical import Delexicaliser
from dstress.stressors.counterfactual.classifier.examples import Exchange, Labelled

_MIXED, _HALF = np.uint32(0x9E3779B1), np.uint32(15)
_SYSTEM, _ASKED = np.uint32(0x5BD1E995), np.uint32(0x27D4EB2F)
_BEGINNING, _END = 3, 5
_TOPIC = np.uint32(0x85EBCA6B)
_LAST = 14  # so many of the system's last words are seen together with the user's
_SHORT = 4  # an answer of so few words is seen whole with the system's words; of a longer one its values
_FADING = (0.6, 0.4, 0.25, 0.15)  # what earlier turns count for the topic, the latest first
_REMEMBERED = 65_536
_STRONGEST, _PRIOR = 3.0, 20.0

Hashes = NDArray[np.uint32]
Rows = NDArray[np.int64]


class _Text(NamedTuple):
    """A text: the hashes of its words, of its n-grams and of what answers a question, and what it says of the topic."""

    words: Hashes
    grams: Hashes
    answers: Hashes
    topic: NDArray[np.float64]


@dataclass
class Features:
    """Reads exchanges. It learns from training exchanges what words are values, and what words are about a service."""

    delexicaliser: Delexicaliser
    word_rows: dict[str, int]
    topic_weights: NDArray[np.float64]
    """What each word's row says of each service; the first row is that of other words."""

    def __post_init__(self) -> None:
        self._read = lru_cache(_REMEMBERED)(self._read_text)

    @classmethod
    def learn(cls, examples: Sequence[Labelled]) -> Features:
        """Learn from training exchanges."""
        delexicaliser = Delexicaliser.learn(examples)
        word_rows: dict[str, int] = {}
        services = sorted({service_of(slot) for example in examples for slot in example.added})
        columns = {service: column for column, service in enumerate(services)}
        counts: Counter[tuple[int, int]] = Counter()
        for example in examples:
            spoken = {columns[service_of(slot)] for slot in example.slots}
            if spoken:
                words = delexicaliser.read(example.exchange.user)
                rows = dict.fromkeys(word_rows.setdefault(word, 1 + len(word_rows)) for word in words)
                counts.update((row, column) for row in rows for column in spoken)
        table = np.zeros((1 + len(word_rows), max(1, len(columns))))
        for (row, column), count in counts.items():
            table[row, column] = count
        # How much more often a word is said when a service is spoken about, in logarithms.
        share = np.maximum(table.sum(0) / max(1.0, table.sum()), 1e-9)
        table = np.log((table + _PRIOR * share) / ((table.sum(1, keepdims=True) + _PRIOR) * share))
        return cls(delexicaliser, word_rows, table.clip(-_STRONGEST, _STRONGEST))

    def __reduce__(self) -> tuple[Any, ...]:
        """What it remembers stays behind when it is sent to another process."""
        return Features, (self.delexicaliser, self.word_rows, self.topic_weights)

    def extract(self, exchanges: Sequence[Exchange]) -> tuple[Hashes, Rows]:
        """The features of all exchanges, and the exchange of each: those of one are together, and in order."""
        users = [self._read(exchange.user) for exchange in exchanges]
        systems = [self._read(exchange.system) for exchange in exchanges]
        before = np.stack([system.topic for system in systems])
        for row, exchange in zip(before, exchanges, strict=True):
            # The system's words tell the topic and, the less the earlier, those before.
            for text, share in zip(reversed(exchange.history), _FADING, strict=False):
                row += self._read(text).topic * share
        context = _topic_hashes(before)
        topic = _topic_hashes(before + np.stack([user.topic for user in users]))
        words, of_words = _join([user.words for user in users])
        grams, of_grams = _join([user.grams for user in users])
        system_words, of_system_words = _join([system.words for system in systems])
        system_grams, of_system_grams = _join([system.grams for system in systems])
        crossed, of_crossed = _join(
            [  # what answers a question, each with each of the system's last words
                np.bitwise_xor.outer(user.answers * _MIXED, system.words[-_LAST:]).ravel()
                for user, system in zip(users, systems, strict=True)
            ]
        )
        each = np.arange(len(exchanges))
        kinds = (
            (context, each),
            (topic ^ _ASKED, each),
            (grams, of_grams),
            (system_grams ^ _SYSTEM, of_system_grams),
            (_mix(grams, topic[of_grams]), of_grams),
            (_mix(words, context[of_words] ^ _SYSTEM), of_words),
            (_mix(system_words, topic[of_system_words] ^ _ASKED), of_system_words),
            (_mix(crossed, _ASKED), of_crossed),
        )
        hashes, rows = map(np.concatenate, zip(*kinds, strict=True))
        order = np.argsort(rows, kind="stable")
        return hashes[order], rows[order]

    def _read_text(self, text: str) -> _Text:
        words = self.delexicaliser.read(text)
        hashes = np.array([_BEGINNING, *map(_hash, words), _END], np.uint32)
        pairs = _mix(hashes[:-1], hashes[1:])
        own = hashes[1:-1]
        grams = np.concatenate((own, pairs, _mix(pairs[:-1], hashes[2:])))
        once = dict.fromkeys(words)
        answers = own if len(words) <= _SHORT else np.array([_hash(word) for word in once if word[0] == "<"], np.uint32)
        topic = self.topic_weights[[self.word_rows.get(word, 0) for word in once]].sum(0)
        return _Text(own, grams, answers, topic)


def _topic_hashes(topics: NDArray[np.float64]) -> Any:
    """The topic of each row, as a hash."""
    return (1 + topics.argmax(1)).astype(np.uint32) * _TOPIC


def _mix(hashes: Hashes, others: Hashes | np.uint32) -> Any:
    """The hashes of pairs; numbers wrap around, which is what a hash should do."""
    return ((hashes * _MIXED) ^ others ^ (hashes >> _HALF)) * _MIXED


def _join(parts: Sequence[Hashes]) -> tuple[Hashes, Rows]:
    """All hashes, and the part of each."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


@cache
def _hash(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))
