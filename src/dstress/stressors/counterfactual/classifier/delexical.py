"""An utterance as words in which values stand as their kinds: "<hotel-name> for <number> people from <day>".

What a sentence speaks about is in the words around its values. The values themselves change from corpus to corpus, and
a counterfactual's are new. So a value that training says stands as the slots that it is said for, a number, a time and
a day as what they are, and a run of words that training hardly knows as one unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from functools import cache
from typing import NamedTuple

from dstress.dialogue import DONTCARE
from dstress.stressors.counterfactual.classifier.examples import Labelled
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
                phrase = tuple(_split(example.exchange.user[start:end]))
                if value != DONTCARE and not is_flag(value) and 0 < len(phrase) <= _LONGEST and phrase[0][0] != "<":
                    slots.setdefault(phrase, Counter())[slot] += 1
        by_first: dict[str, dict[int, dict[Words, str]]] = {}
        for phrase in sorted(slots):
            if slots[phrase].total() >= _SEEN:
                by_first.setdefault(phrase[0], {}).setdefault(len(phrase), {})[phrase] = _name_kind(slots[phrase])
        phrases = {first: sorted(by_length.items(), reverse=True) for first, by_length in by_first.items()}
        counts = Counter(word for example in examples for word in _put_kinds(_split(example.exchange.user), phrases))
        return cls(phrases, frozenset(word for word, count in counts.items() if count > _SEEN))

    def read(self, text: str) -> Words:
        """The words and kinds of a text, in order."""
        return tuple(_put_kinds(_split(text), self.phrases, self.vocabulary))


@cache
def _fixed() -> dict[str, str]:
    """The kinds of words that are values wherever they stand."""
    fixed = {word: "<number>" for word in number_words() if word.isalpha()}
    fixed |= {"1": "<one>", "one": "<one>"}
    fixed |= dict.fromkeys((*calendar_words("weekdays"), *calendar_words("relative")), "<day>")
    return fixed | dict.fromkeys(calendar_words("plain_months"), "<date>")


def _split(text: str) -> list[str]:
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
