"""Which words belong to what: "stay" to hotels, "table" to restaurants, "please" to all; "parking" to its flag."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.templates.delexical import Delexicalised
from dstress.generators.templates.tokens import (
    bare_name,
    element_in,
    elements_of,
    is_flag_mark,
    sentences_of,
    service_noun,
    slot_of,
)
from dstress.text.letters import name_words

_OWNED = 0.93
_OFTEN = 20
_SELDOM = 5
_INTRODUCING = 0.1
_GENERAL = 0.8
_FOREIGN = 0.05
_MOSTLY = 0.7
_SHARE = 4_000
"""A word must be in one of so many words of sentences with a flag to speak of its slot."""


class Vocabulary(NamedTuple):
    """Words by services. Services of one noun, such as `Restaurants_1` and `Restaurants_2`, mostly share theirs."""

    owners: dict[str, str]
    """Words that are hardly ever said of another kind of service, with its noun."""
    introducing: dict[str, str]
    """Those of them by which such a service is first spoken of."""
    particular: frozenset[str]
    """Words that are said of one service and not of others of its noun: "salon" among `Services_1` to `Services_4`."""
    general: frozenset[str]
    """Words that are said of most kinds of services."""
    foreign: dict[str, frozenset[str]]
    """By nouns, words that are hardly ever said of such a service, though often of others: nobody leaves on a table."""

    @classmethod
    def of(cls, utterances: Iterable[Delexicalised]) -> Vocabulary:
        """Read off the utterances about one service."""
        total: Counter[str] = Counter()
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for utterance in utterances:
            services = {service_of(element) for element in elements_of(utterance.tokens)}
            if len(services) == 1:
                [service] = services
                total[service] += 1
                for word in set(utterance.tokens):
                    if word.isalpha():
                        used[word][service] += 1
        nouns = _sum_by_noun(total)
        used_by_noun = {word: _sum_by_noun(counts) for word, counts in used.items()}
        owners = _owners(used_by_noun, nouns)
        return cls(
            owners,
            {
                word: noun
                for word, noun in owners.items()
                if word in used_by_noun and used_by_noun[word][noun] >= _INTRODUCING * nouns[noun]
            },
            frozenset(word for word, counts in used.items() if _is_particular(counts, total)),
            frozenset(
                word
                for word, counts in used_by_noun.items()
                if sum(number >= _SELDOM for number in counts.values()) >= _GENERAL * len(nouns)
            ),
            {
                noun: frozenset(
                    word
                    for word, counts in used_by_noun.items()
                    if (chance := counts.total() * number / nouns.total()) >= _OFTEN
                    and counts[noun] < _FOREIGN * chance
                )
                for noun, number in nouns.items()
            },
        )


def _sum_by_noun(counts: Mapping[str, int]) -> Counter[str]:
    """Counts of services as counts of their nouns."""
    sums: Counter[str] = Counter()
    for service, number in counts.items():
        sums[service_noun(service)] += number
    return sums


def _owners(used_by_noun: Mapping[str, Counter[str]], nouns: Iterable[str]) -> dict[str, str]:
    """Words said of one kind of service almost alone, and the nouns themselves."""
    owners = {}
    for word, counts in used_by_noun.items():
        noun, number = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if number >= _OFTEN and number >= _OWNED * counts.total():
            owners[word] = noun
    return owners | {form: noun for noun in nouns for form in (noun, f"{noun}s")}


def _is_particular(counts: Mapping[str, int], total: Mapping[str, int]) -> bool:
    """Whether a word is said of one service alone, though its noun has others."""
    service, number = min(counts.items(), key=lambda item: (-item[1], item[0]))
    alike = [other for other in total if service_noun(other) == service_noun(service)]
    return len(alike) > 1 and number >= _SELDOM and number >= _OWNED * sum(counts.get(other, 0) for other in alike)


def flag_words(utterances: Iterable[tuple[str, ...]], owners: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """For each flag's slot the words that speak of it: of those in sentences with one flag, the words that mostly go
    with a slot of that name; and the words of its name."""
    counts: Counter[tuple[str, str]] = Counter()
    used: Counter[str] = Counter()
    slots: dict[str, None] = {}
    for tokens in utterances:
        for sentence in sentences_of(tokens):
            flags = {slot_of(element_in(token)) for token in sentence if is_flag_mark(token)}
            if len(flags) == 1:
                [slot] = flags
                slots[slot] = None
                for word in set(sentence):
                    if word.isalpha() and owners.get(word) != word:
                        counts[word, bare_name(slot)] += 1
                        used[word] += 1
    often = max(2, sum(used.values()) // _SHARE)
    by_name: dict[str, set[str]] = {bare_name(slot): set() for slot in slots}
    for (word, name), number in counts.items():
        if (number >= often and number >= _MOSTLY * used[word]) or (len(word) > 3 and word in name):
            by_name[name].add(word)
    return {slot: frozenset(by_name[bare_name(slot)]) | frozenset(name_words(slot)) for slot in slots}
