"""Which words belong to which services: "stay" to hotels, "table" to restaurants, "please" to all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.templates.delexical import Delexicalised
from dstress.generators.templates.tokens import elements_of, noun_of

_OWNED = 0.93
_OFTEN = 20
_SELDOM = 5
_INTRODUCING = 0.1
_GENERAL = 0.8


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

    @classmethod
    def of(cls, utterances: Iterable[Delexicalised]) -> Vocabulary:
        """Read off the utterances about one service."""
        total: Counter[str] = Counter()
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for utterance in utterances:
            services = {service_of(part) for part in elements_of(utterance.tokens)}
            if len(services) == 1:
                [service] = services
                total[service] += 1
                for word in set(utterance.tokens):
                    if word.isalpha():
                        used[word][service] += 1
        nouns = Counter[str]()
        for service, number in total.items():
            nouns[noun_of(service)] += number
        kinds = {word: _by_noun(counted) for word, counted in used.items()}
        owners = _owners(kinds, nouns)
        return cls(
            owners,
            {
                word: noun
                for word, noun in owners.items()
                if word in kinds and kinds[word][noun] >= _INTRODUCING * nouns[noun]
            },
            frozenset(word for word, counted in used.items() if _is_particular(counted, total)),
            frozenset(
                word
                for word, counted in kinds.items()
                if sum(number >= _SELDOM for number in counted.values()) >= _GENERAL * len(nouns)
            ),
        )


def _by_noun(counted: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for service, number in counted.items():
        found[noun_of(service)] += number
    return found


def _owners(kinds: Mapping[str, Counter[str]], nouns: Iterable[str]) -> dict[str, str]:
    """Words said of one kind of service almost alone, and the nouns themselves."""
    found = {}
    for word, counted in kinds.items():
        noun, number = min(counted.items(), key=lambda item: (-item[1], item[0]))
        if number >= _OFTEN and number >= _OWNED * counted.total():
            found[word] = noun
    return found | {form: noun for noun in nouns for form in (noun, f"{noun}s")}


def _is_particular(counted: Mapping[str, int], total: Mapping[str, int]) -> bool:
    """Whether a word is said of one service alone, though its noun has others."""
    service, number = min(counted.items(), key=lambda item: (-item[1], item[0]))
    alike = [other for other in total if noun_of(other) == noun_of(service)]
    return len(alike) > 1 and number >= _SELDOM and number >= _OWNED * sum(counted.get(other, 0) for other in alike)
