"""The templates that a corpus gives: whole utterances, further sentences, phrases to add; each with its scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import exp, log
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.templates.fluency import Fluency
from dstress.generators.templates.shapes import is_bare
from dstress.generators.templates.system_acts import KINDS
from dstress.generators.templates.tokens import elements_of, is_end, is_mark, is_placeholder, sentences_of, words

Key = frozenset[str]
"""The elements that words say."""

_KEPT = 80
"""Templates of one key, at most."""
_KEPT_PARTS = 24
_WORST_PART = -3.4
"""Pieces that score less are left out; the scores of a small corpus are lower."""
_LARGE, _SMALL = 5_000, 500
_PRIOR = 3.0
_DAMPING = 0.5
_COUNT = 0.3


class Template(NamedTuple):
    """Tokens that say a key. `base` is how usual they are, `fits` how well they follow on each kind of system turn.

    `taken` are the slots that were mostly taken up from the system along with it; `after` the tokens that a phrase was
    mostly said after.
    """

    tokens: tuple[str, ...]
    base: float
    fits: tuple[float, ...] = ()
    taken: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()


class Lesson(NamedTuple):
    """One clean utterance of the training corpus: what a template is learned from."""

    tokens: tuple[str, ...]
    kind: str
    taken: tuple[str, ...]


class Fit:
    """Which kind of system turn an utterance follows on, by its words (naive Bayes)."""

    def __init__(self, heard: Iterable[tuple[Sequence[str], str]]) -> None:
        self._kinds: Counter[str] = Counter()
        self._seen: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        self._all: Counter[str] = Counter()
        for tokens, kind in heard:
            found = _features(tokens)
            self._kinds[kind] += 1
            self._seen[kind].update(found)
            self._all.update(found)
        self._total = sum(self._kinds.values())
        self.shares = {kind: (self._kinds[kind] + 1) / (self._total + len(KINDS)) for kind in KINDS}

    def likely(self, tokens: Sequence[str]) -> dict[str, float]:
        """The probability of each kind, given the words."""
        found = _features(tokens)
        scores = {}
        for kind, share in self.shares.items():
            seen, number = self._seen[kind], self._kinds[kind] + 1
            steps = [log((seen[one] + 0.5) / number * self._total / (self._all[one] + 0.5 / share)) for one in found]
            scores[kind] = log(share) + _DAMPING * sum(steps)
        top = max(scores.values())
        odds = {kind: exp(score - top) for kind, score in scores.items()}
        total = sum(odds.values())
        return {kind: odd / total for kind, odd in odds.items()}

    def of(self, tokens: Sequence[str], kinds: Mapping[str, int]) -> tuple[float, ...]:
        """For each kind, how much more likely it is with these words, which were heard after `kinds`."""
        likely, number = self.likely(tokens), sum(kinds.values())
        return tuple(
            round(log((kinds.get(kind, 0) + _PRIOR * likely[kind]) / (number + _PRIOR) / self.shares[kind] + 0.01), 3)
            for kind in KINDS
        )


def _features(tokens: Sequence[str]) -> list[str]:
    plain = ["[]" if is_placeholder(token) else token for token in tokens if not is_mark(token)]
    found = {*plain, f"1 {plain[0]}", f"2 {' '.join(plain[:2])}"} - {".", "?", "!"}
    if is_bare(plain):
        found.add("<bare>")
    return sorted(found)


class Library(NamedTuple):
    """All that was learned, by key: `wholes`, `follow` (further sentences), `added` (phrases)."""

    wholes: dict[Key, tuple[Template, ...]]
    follow: dict[Key, tuple[Template, ...]]
    added: dict[Key, tuple[Template, ...]]
    heads: dict[str, tuple[Template, ...]]
    """Requests that say no slot, by service: "i am looking for a place to stay"."""
    places: dict[str, float]
    """Where in an utterance a slot is said on average, from 0 to 1."""


def build(lessons: Sequence[Lesson], fluency: Fluency, fit: Fit, introducing: Collection[str]) -> Library:
    """Templates from clean utterances. `introducing` are the words by which services are first spoken of."""
    phrases, heads = _requests(lessons)
    return Library(
        _wholes(lessons, fluency, fit),
        _follow(lessons, fluency),
        _added(phrases, len(lessons), fluency),
        _heads(heads, introducing, fluency, fit),
        _places(lessons),
    )


def _wholes(lessons: Sequence[Lesson], fluency: Fluency, fit: Fit) -> dict[Key, tuple[Template, ...]]:
    kinds: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    taken: dict[tuple[str, ...], Counter[frozenset[str]]] = defaultdict(Counter)
    for lesson in lessons:
        kinds[lesson.tokens][lesson.kind] += 1
        taken[lesson.tokens][frozenset(lesson.taken)] += 1
    found: dict[Key, list[Template]] = defaultdict(list)
    for tokens, counted in kinds.items():
        number = sum(counted.values())
        base = fluency.of(tokens) + _COUNT * log(number)
        often = max(taken[tokens].items(), key=lambda item: (item[1], sorted(item[0])))[0]
        found[frozenset(elements_of(tokens))].append(Template(tokens, round(base, 3), fit.of(tokens, counted), often))
    return {key: _varied(templates) for key, templates in found.items()}


def _varied(templates: list[Template]) -> tuple[Template, ...]:
    """The most usual ones, and for each kind of system turn those that fit it best."""
    ranked = sorted(templates, key=lambda one: (-one.base, one.tokens))
    kept = dict.fromkeys(ranked[: _KEPT // 3])
    for at in range(len(KINDS)):
        best = sorted(ranked, key=lambda one: (-one.base - one.fits[at], one.tokens))
        kept.update(dict.fromkeys(best[: _KEPT // len(KINDS)]))
    return tuple(kept)


def _follow(lessons: Sequence[Lesson], fluency: Fluency) -> dict[Key, tuple[Template, ...]]:
    """Sentences that were said after another about the same service."""
    counted: Counter[tuple[str, ...]] = Counter()
    for lesson in lessons:
        if len({service_of(part) for part in elements_of(lesson.tokens)}) != 1:
            continue
        sentences = sentences_of(lesson.tokens)
        for at, sentence in enumerate(sentences[1:], start=1):
            told = any(elements_of(one) for one in sentences[:at])
            if not elements_of(sentence) or sentence[0] in words("joining.restarts") or is_bare(sentence):
                continue
            if not words("joining.anew").isdisjoint(sentence):
                continue
            if told or not words("joining.pointing").isdisjoint(sentence):
                counted[sentence] += 1
    return _ranked(counted, fluency, {}, _worst(len(lessons)))


_Cut = tuple[str, ...]


def _requests(lessons: Sequence[Lesson]) -> tuple[dict[_Cut, Counter[str]], dict[tuple[str, _Cut], Counter[str]]]:
    """Requests cut in two: phrases at the end, with the tokens before them; heads without a slot, with their kinds."""
    phrases: dict[_Cut, Counter[str]] = defaultdict(Counter)
    heads: dict[tuple[str, _Cut], Counter[str]] = defaultdict(Counter)
    for lesson in lessons:
        sentences = sentences_of(lesson.tokens)
        for sentence in sentences:
            body = sentence[:-1] if is_end(sentence[-1]) else sentence
            for at in range(3, len(body)):
                if words("joining.requests").isdisjoint(body[:at]) or not _can_be_added(body[at:]):
                    continue
                phrases[body[at:]][body[at - 1]] += 1
                if not elements_of(body[:at]) and len(sentences) == 1:
                    service = service_of(elements_of(body[at:])[0])
                    heads[service, (*body[:at], *sentence[len(body) :])][lesson.kind] += 1
    return phrases, heads


def _added(phrases: Mapping[_Cut, Counter[str]], lessons: int, fluency: Fluency) -> dict[Key, tuple[Template, ...]]:
    """Phrases to add, with the tokens that they were heard after."""
    often = 1 + (lessons > _SMALL) + (lessons > _LARGE)
    counted = Counter({phrase: number for phrase, found in phrases.items() if (number := sum(found.values())) >= often})
    after = {phrase: [token for token, number in phrases[phrase].items() if number >= often] for phrase in counted}
    return _ranked(counted, fluency, after, _worst(lessons))


def _heads(
    heads: Mapping[tuple[str, _Cut], Counter[str]], introducing: Collection[str], fluency: Fluency, fit: Fit
) -> dict[str, tuple[Template, ...]]:
    found: dict[str, list[Template]] = defaultdict(list)
    for (service, tokens), kinds in heads.items():
        number = sum(kinds.values())
        if number > 1 and not frozenset(introducing).isdisjoint(tokens):
            base = fluency.of(tokens) + _COUNT * log(number)
            found[service].append(Template(tokens, round(base, 3), fit.of(tokens, kinds)))
    return {service: _varied(templates)[:_KEPT] for service, templates in found.items()}


def _can_be_added(phrase: Sequence[str]) -> bool:
    """Whether a phrase is one: "for [people] people", "in the [area]"; not "for a place to stay in the [area]"."""
    plain = [token for token in phrase if not is_mark(token)]
    if plain[0] not in words("joining.starts") or not elements_of(phrase) or len(plain) > 9:
        return False
    if not words("joining.never").isdisjoint(plain):
        return False
    if plain[0] not in words("joining.naming") and any(part.endswith("-name") for part in elements_of(phrase)):
        return False
    first = next(at for at, token in enumerate(phrase) if is_placeholder(token) or is_mark(token))
    lead = phrase[1:first]
    moving = plain[0] in words("joining.moving")
    starts = sum(token in words("joining.starts") for token in lead)
    return starts <= moving and words("joining.inside").issuperset(lead)


def _worst(lessons: int) -> float:
    return _WORST_PART if lessons > _LARGE else 2 * _WORST_PART


def _ranked(
    counted: Counter[tuple[str, ...]], fluency: Fluency, after: Mapping[tuple[str, ...], Sequence[str]], worst: float
) -> dict[Key, tuple[Template, ...]]:
    found: dict[Key, list[Template]] = defaultdict(list)
    for tokens, number in counted.items():
        base = fluency.of(tokens) + _COUNT * log(number)
        found[frozenset(elements_of(tokens))].append(
            Template(tokens, round(base, 3), after=frozenset(after.get(tokens, ())))
        )
    return {
        key: tuple(sorted(kept, key=lambda one: (-one.base, one.tokens))[:_KEPT_PARTS])
        for key, templates in found.items()
        if (kept := [one for one in templates if one.base > worst])
    }


def _places(lessons: Sequence[Lesson]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for lesson in lessons:
        elements = elements_of(lesson.tokens)
        if len(elements) > 1:
            for at, part in enumerate(elements):
                sums[part] += at / (len(elements) - 1)  # type: ignore[assignment]
                numbers[part] += 1
    return {part: sums[part] / numbers[part] for part in numbers}
