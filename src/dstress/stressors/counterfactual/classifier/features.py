"""What the linear classifier sees of an exchange: hashed n-grams of the user's and the system's words, and crosses.

What a sentence speaks about is in the words around its values: "<hotel-name> for <number> people from <day>". The
values themselves change from corpus to corpus, and a counterfactual's are new. So a value that training says stands as
the slots that it is said for, a number, a time and a day as what they are, and a run of words that training hardly
knows as one unknown.

One utterance may speak about any service: "for 3 people" books a table, a room or a train. So the user's words are also
seen together with the topic, the service that the words so far speak about, and with what the system has just said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dstress.dialogue import DONTCARE, service_of
from dstress.stressors.counterfactual.classifier.examples import Exchange, Labelled
from dstress.stressors.generators.goals import is_flag
from dstress.text.letters import fold
from dstress.text.numbers import ORDINAL_ENDING, number_words
from dstress.text.times import AM_PM, CLOCK, calendar_words

UNKNOWN = "<?>"
_PART = re.compile(rf"{CLOCK}(?:\s?{AM_PM})?|\d{{1,2}}\s?{AM_PM}|\d+{ORDINAL_ENDING}\b|\d+|[^\W\d_]+|[?]")
_SUFFIX = re.compile(r" -(?=[a-z])")  # some corpora part endings from their words: "restaurant -s"
_SEEN = 2  # a value or a word that training has less often is unknown, as many will be that are asked about
_OFTEN, _MOSTLY = 0.15, 0.5  # shares of a value that make a slot's name and a service a part of its kind
_LONGEST = 6
_DIGITS = frozenset("0123456789")

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


Words = tuple[str, ...]
Phrases = dict[str, list[tuple[int, dict[Words, str]]]]
"""By first words: for each length, the longest first, the values of so many words with their kinds."""


class Delexicaliser(NamedTuple):
    """Puts kinds for values: `phrases` are those of training, by their first words, `vocabulary` its words."""

    phrases: Phrases
    vocabulary: frozenset[str]

    @classmethod
    def learn(cls, examples: Sequence[Labelled]) -> Delexicaliser:
        """Learn from training exchanges."""
        slots: dict[Words, Counter[str]] = {}
        for example in examples:
            for slot, value, start, end in example.mentions:
                phrase = tuple(_kinds_of(example.exchange.user[start:end]))
                if value != DONTCARE and not is_flag(value) and 0 < len(phrase) <= _LONGEST and phrase[0][0] != "<":
                    slots.setdefault(phrase, Counter())[slot] += 1
        by_first: dict[str, dict[int, dict[Words, str]]] = {}
        for phrase in sorted(slots):
            if slots[phrase].total() >= _SEEN:
                by_first.setdefault(phrase[0], {}).setdefault(len(phrase), {})[phrase] = _name_kind(slots[phrase])
        phrases = {first: sorted(by_length.items(), reverse=True) for first, by_length in by_first.items()}
        counts = Counter(word for example in examples for word in _put_kinds(_kinds_of(example.exchange.user), phrases))
        return cls(phrases, frozenset(word for word, count in counts.items() if count > _SEEN))

    def read(self, text: str) -> Words:
        """The words and kinds of a text, in order."""
        return tuple(_put_kinds(_kinds_of(text), self.phrases, self.vocabulary))


@cache
def _fixed() -> dict[str, str]:
    """The kinds of words that are values wherever they stand."""
    fixed = {word: "<number>" for word in number_words() if word.isalpha()}
    fixed |= {"1": "<one>", "one": "<one>"}
    fixed |= dict.fromkeys((*calendar_words("weekdays"), *calendar_words("relative")), "<day>")
    return fixed | dict.fromkeys(calendar_words("plain_months"), "<date>")


def _kinds_of(text: str) -> list[str]:
    """Words; numbers, times and days by their kinds."""
    parts = _PART.findall(_SUFFIX.sub("", fold(text)))
    fixed = _fixed()
    for at, part in enumerate(parts):
        if part in fixed:
            parts[at] = fixed[part]
        elif part[0] in _DIGITS:
            parts[at] = "<number>" if part.isdigit() else "<date>" if part[-1] in "tdh" else "<time>"
    return parts


def _put_kinds(parts: list[str], phrases: Phrases, vocabulary: Container[str] | None = None) -> list[str]:
    """Values by their kinds, the longest first, and one mark for words that are not in the vocabulary."""
    words, at = [""], 0
    while at < len(parts):
        word, size = parts[at], 1
        if word in phrases:
            for length, kinds in phrases[word]:
                if (kind := kinds.get(tuple(parts[at : at + length]))) is not None:
                    word, size = kind, length
                    break
        if word[0] != "<" and vocabulary is not None and word not in vocabulary:
            word = UNKNOWN
        if word != UNKNOWN or words[-1] != UNKNOWN:
            words.append(word)
        at += size
    return words[1:]


def _name_kind(slots: Counter[str]) -> str:
    """The names of the slots that a value is often said for, and the service that it is mostly said for, if any."""
    names, services = Counter[str](), Counter[str]()
    for slot, count in slots.items():
        service, _, name = slot.partition("-")
        names[name] += count
        services[service] += count
    often = "/".join(sorted(name for name in names if names[name] >= _OFTEN * slots.total()))
    service = min(services, key=lambda name: (-services[name], name))
    return f"<{service}:{often}>" if services[service] >= _MOSTLY * slots.total() else f"<{often}>"


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
