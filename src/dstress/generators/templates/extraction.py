"""From selected utterances to the library: they are templates themselves, and are cut into sentences and phrases."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.templates.library import Key, Library, Template, is_fragment
from dstress.generators.templates.scores import ActFit, Fluency
from dstress.generators.templates.system_acts import ACT_KINDS
from dstress.generators.templates.tokens import (
    elements_of,
    ends_sentence,
    is_flag_mark,
    is_placeholder,
    sentences_of,
    words,
)

_KEPT = 80
"""Templates of one key, at most."""
_KEPT_PARTS = 24
_WORST_PART = -3.4
"""Pieces that score less are left out; the scores of a small corpus are lower."""
_LARGE, _SMALL = 5_000, 500
_COUNT = 0.3

Tokens = tuple[str, ...]


class Selected(NamedTuple):
    """A clean utterance of the training corpus, the kind of system turn before it, the slots taken up with it."""

    tokens: Tokens
    kind: str
    taken: tuple[str, ...]


class Extractor:
    """Scores templates by models of the corpus. `introducing` are the words by which services are first spoken of."""

    def __init__(self, fluency: Fluency, fit: ActFit, introducing: Collection[str]) -> None:
        self._fluency, self._fit, self._introducing = fluency, fit, frozenset(introducing)

    def extract(self, utterances: Sequence[Selected]) -> Library:
        """All templates that the utterances give."""
        phrases, heads = _cut_requests(utterances)
        often = 1 + (len(utterances) > _SMALL) + (len(utterances) > _LARGE)
        worst = _WORST_PART if len(utterances) > _LARGE else 2 * _WORST_PART
        sentences = {sentence: (number, ()) for sentence, number in _count_further_sentences(utterances).items()}
        usual = {
            phrase: (number, [token for token, times in before.items() if times >= often])
            for phrase, before in phrases.items()
            if (number := before.total()) >= often
        }
        return Library(
            self._wholes(utterances),
            self._pieces(sentences, worst),
            self._pieces(usual, worst),
            self._heads(heads),
            _mean_places(utterances),
        )

    def _base(self, tokens: Tokens, number: int) -> float:
        """How usual tokens are that were said so often."""
        return round(self._fluency.score(tokens) + _COUNT * log(number), 3)

    def _wholes(self, utterances: Iterable[Selected]) -> dict[Key, tuple[Template, ...]]:
        kinds: dict[Tokens, Counter[str]] = defaultdict(Counter)
        taken: dict[Tokens, Counter[frozenset[str]]] = defaultdict(Counter)
        for utterance in utterances:
            kinds[utterance.tokens][utterance.kind] += 1
            taken[utterance.tokens][frozenset(utterance.taken)] += 1
        by_key: dict[Key, list[Template]] = defaultdict(list)
        for tokens, counts in kinds.items():
            mostly_taken = max(taken[tokens].items(), key=lambda item: (item[1], sorted(item[0])))[0]
            base, fits = self._base(tokens, counts.total()), self._fit.scores(tokens, counts)
            by_key[frozenset(elements_of(tokens))].append(Template(tokens, base, fits, mostly_taken))
        return {key: _choose_varied(templates) for key, templates in by_key.items()}

    def _heads(self, heads: Mapping[tuple[str, Tokens], Counter[str]]) -> dict[str, tuple[Template, ...]]:
        by_service: dict[str, list[Template]] = defaultdict(list)
        for (service, tokens), kinds in heads.items():
            number = kinds.total()
            if number > 1 and not self._introducing.isdisjoint(tokens):
                template = Template(tokens, self._base(tokens, number), self._fit.scores(tokens, kinds))
                by_service[service].append(template)
        return {service: _choose_varied(templates)[:_KEPT] for service, templates in by_service.items()}

    def _pieces(
        self, pieces: Mapping[Tokens, tuple[int, Sequence[str]]], worst: float
    ) -> dict[Key, tuple[Template, ...]]:
        """The best of sentences or phrases, which come with how often they were said and mostly after which tokens."""
        by_key: dict[Key, list[Template]] = defaultdict(list)
        for tokens, (number, after) in pieces.items():
            template = Template(tokens, self._base(tokens, number), after=frozenset(after))
            if template.base > worst:
                by_key[frozenset(elements_of(tokens))].append(template)
        return {
            key: tuple(sorted(templates, key=lambda template: (-template.base, template.tokens))[:_KEPT_PARTS])
            for key, templates in by_key.items()
        }


def _choose_varied(templates: list[Template]) -> tuple[Template, ...]:
    """The most usual ones, and for each kind of system turn those that fit it best."""
    ranked = sorted(templates, key=lambda template: (-template.base, template.tokens))
    chosen = dict.fromkeys(ranked[: _KEPT // 3])
    for at in range(len(ACT_KINDS)):
        best = sorted(ranked, key=lambda template: (-template.base - template.fits[at], template.tokens))
        chosen.update(dict.fromkeys(best[: _KEPT // len(ACT_KINDS)]))
    return tuple(chosen)


def _count_further_sentences(utterances: Iterable[Selected]) -> Counter[Tokens]:
    """Sentences that were said after another about the same service."""
    counts: Counter[Tokens] = Counter()
    for utterance in utterances:
        if len({service_of(element) for element in elements_of(utterance.tokens)}) != 1:
            continue
        sentences = sentences_of(utterance.tokens)
        for at, sentence in enumerate(sentences[1:], start=1):
            if not elements_of(sentence) or sentence[0] in words("joining.restarts") or is_fragment(sentence):
                continue
            if not words("joining.anew").isdisjoint(sentence):
                continue
            if any(map(elements_of, sentences[:at])) or not words("joining.pointing").isdisjoint(sentence):
                counts[sentence] += 1
    return counts


def _cut_requests(
    utterances: Iterable[Selected],
) -> tuple[dict[Tokens, Counter[str]], dict[tuple[str, Tokens], Counter[str]]]:
    """Requests cut in two: phrases at the end, with the tokens before them; heads without a slot, with their kinds."""
    phrases: dict[Tokens, Counter[str]] = defaultdict(Counter)
    heads: dict[tuple[str, Tokens], Counter[str]] = defaultdict(Counter)
    for utterance in utterances:
        sentences = sentences_of(utterance.tokens)
        for sentence in sentences:
            body = sentence[:-1] if ends_sentence(sentence[-1]) else sentence
            for at in range(3, len(body)):
                if words("joining.requests").isdisjoint(body[:at]) or not _can_be_added(body[at:]):
                    continue
                phrases[body[at:]][body[at - 1]] += 1
                if not elements_of(body[:at]) and len(sentences) == 1:
                    service = service_of(elements_of(body[at:])[0])
                    heads[service, (*body[:at], *sentence[len(body) :])][utterance.kind] += 1
    return phrases, heads


def _can_be_added(phrase: Sequence[str]) -> bool:
    """Whether a phrase is one: "for [people] people", "in the [area]"; not "for a place to stay in the [area]"."""
    plain = [token for token in phrase if not is_flag_mark(token)]
    if plain[0] not in words("joining.starts") or not elements_of(phrase) or len(plain) > 9:
        return False
    if not words("joining.never").isdisjoint(plain):
        return False
    names = any(element.endswith("-name") for element in elements_of(phrase))
    if names and plain[0] not in words("joining.naming"):
        return False
    first = next(at for at, token in enumerate(phrase) if is_placeholder(token) or is_flag_mark(token))
    lead = phrase[1:first]
    is_moving = plain[0] in words("joining.moving")
    starts = sum(token in words("joining.starts") for token in lead)
    return starts <= is_moving and words("joining.inside").issuperset(lead)


def _mean_places(utterances: Iterable[Selected]) -> dict[str, float]:
    """Where in utterances elements are said, from 0 to 1."""
    sums: dict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for utterance in utterances:
        elements = elements_of(utterance.tokens)
        if len(elements) > 1:
            for at, element in enumerate(elements):
                sums[element] += at / (len(elements) - 1)
                counts[element] += 1
    return {element: sums[element] / counts[element] for element in counts}
