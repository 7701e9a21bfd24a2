"""How good a wording is as a template: how usual it is in the training corpus, and after which system turns it is said.

Both are needed only while learning; a template keeps the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log

from dstress.generators.templates.library import is_fragment
from dstress.generators.templates.system_acts import ACT_KINDS
from dstress.generators.templates.tokens import bare_name, element_in, is_flag_mark, is_placeholder

_TRIGRAM, _BIGRAM, _UNIGRAM = 0.6, 0.3, 0.1
_LEAST = 0.15
_SKIPPED = frozenset('.,?!;"')
_PRIOR = 3.0
_DAMPING = 0.5


class Fluency:
    """A trigram model over delexicalised utterances, to keep odd spelling and odd grammar out of the templates.

    Punctuation does not count, for people leave it out.
    """

    def __init__(self, utterances: Iterable[Sequence[str]]) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._total = 0
        for utterance in utterances:
            padded = _padded(utterance)
            self._total += len(padded)
            for at in range(2, len(padded)):
                self._counts[padded[at - 2], padded[at - 1], padded[at]] += 1
                self._counts[padded[at - 1], padded[at]] += 1
                self._counts[(padded[at],)] += 1
                self._counts[padded[at - 2], padded[at - 1], ""] += 1
                self._counts[(padded[at - 1], "")] += 1

    def score(self, utterance: Sequence[str]) -> float:
        """The mean log-probability of a token, and a share of that of the least likely one: a chain breaks there."""
        padded = _padded(utterance)
        steps = [log(self._probability(*padded[at - 2 : at + 1])) for at in range(2, len(padded))]
        return sum(steps) / len(steps) + _LEAST * min(steps)

    def _probability(self, first: str, second: str, third: str) -> float:
        """Of the third token after the two before it."""
        counts = self._counts
        trigrams, pairs = counts[first, second, third], counts[first, second, ""]
        bigrams, singles = counts[second, third], counts[second, ""]
        return (
            (_TRIGRAM * trigrams / pairs if pairs else 0)
            + (_BIGRAM * bigrams / singles if singles else 0)
            + _UNIGRAM * (counts[third,] + 1) / (self._total + 1)
        )


def _padded(tokens: Sequence[str]) -> list[str]:
    """The tokens that count, between marks of the start and the end. Placeholders stand by the bare names of their
    slots, so that services that are alike learn from each other."""
    abstracted = [
        f"[{bare_name(element_in(token))}]" if is_placeholder(token) else token
        for token in tokens
        if token not in _SKIPPED and not is_flag_mark(token)
    ]
    return ["<", "<", *abstracted, ">"]


class ActFit:
    """Which kind of system turn an utterance follows on, by its words (naive Bayes)."""

    def __init__(self, answers: Iterable[tuple[Sequence[str], str]]) -> None:
        """Learn from the tokens of utterances and the kind of system turn that each answers."""
        self._kinds: Counter[str] = Counter()
        self._by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in ACT_KINDS}
        self._all: Counter[str] = Counter()
        for tokens, kind in answers:
            features = _features(tokens)
            self._kinds[kind] += 1
            self._by_kind[kind].update(features)
            self._all.update(features)
        self._total = sum(self._kinds.values())
        self._shares = {kind: (self._kinds[kind] + 1) / (self._total + len(ACT_KINDS)) for kind in ACT_KINDS}

    def scores(self, tokens: Sequence[str], kinds: Mapping[str, int]) -> tuple[float, ...]:
        """For each kind, how much more likely it is with these words, which so often answered each of `kinds`."""
        likely, number = self._probabilities(tokens), sum(kinds.values())
        return tuple(
            round(log((kinds.get(kind, 0) + _PRIOR * likely[kind]) / (number + _PRIOR) / self._shares[kind] + 0.01), 3)
            for kind in ACT_KINDS
        )

    def _probabilities(self, tokens: Sequence[str]) -> dict[str, float]:
        """Of each kind, given the words."""
        features = _features(tokens)
        scores = {}
        for kind, share in self._shares.items():
            counts, number = self._by_kind[kind], self._kinds[kind] + 1
            steps = [
                log((counts[feature] + 0.5) / number * self._total / (self._all[feature] + 0.5 / share))
                for feature in features
            ]
            scores[kind] = log(share) + _DAMPING * sum(steps)
        top = max(scores.values())
        odds = {kind: exp(score - top) for kind, score in scores.items()}
        total = sum(odds.values())
        return {kind: odd / total for kind, odd in odds.items()}


def _features(tokens: Sequence[str]) -> list[str]:
    """The words, the first two once more in their places, and whether there is no verb."""
    plain = ["[]" if is_placeholder(token) else token for token in tokens if not is_flag_mark(token)]
    features = {*plain, f"1 {plain[0]}", f"2 {' '.join(plain[:2])}"} - {".", "?", "!"}
    if is_fragment(plain):
        features.add("<bare>")
    return sorted(features)
