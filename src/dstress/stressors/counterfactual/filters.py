"""The filters of CoCo (section 4.3): is everything said, and nothing beyond? Which candidate is the first to pass?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.generators.base import Candidate, Goal
from dstress.generators.classifiers.base import Exchange, SlotClassifier
from dstress.generators.matching import oversaid, unsaid
from dstress.text.utterance import Utterance

CANDIDATES = "candidates"
UNSAID = "candidates rejected: a value unsaid"
OVERSAID = "candidates rejected: more than the goal"
CLASSIFIED = "candidates rejected by the classifier"


class Verdict(NamedTuple):
    """A candidate, and which filter rejects it and why; an empty `filter` lets it pass."""

    candidate: Candidate
    filter: str = ""
    why: str = ""


class Wanted(NamedTuple):
    """A goal for an utterance, and the candidates to say it; `counts` is what became of them."""

    said: Utterance
    goal: Goal
    candidates: Sequence[Candidate]
    counts: Counter[str]


class Filters:
    """The match filter, then the classifier, if there is one."""

    def __init__(self, classifier: SlotClassifier | None) -> None:
        self.classifier = classifier

    def judged(self, utterance: Utterance, goal: Goal, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Every candidate with its verdict, to look at."""
        verdicts = [matched(one, goal) for one in candidates]
        beyond = self._beyond([(utterance, goal, verdict.candidate) for verdict in verdicts if not verdict.filter])
        return [verdict if verdict.filter else _classified(verdict.candidate, next(beyond)) for verdict in verdicts]

    def first(self, wanted: Sequence[Wanted]) -> list[str]:
        """For each turn its first candidate that passes, empty if none does; all turns side by side, for speed."""
        turns = [iter(_passing(one)) for one in wanted]
        chosen, left = [""] * len(wanted), list(range(len(wanted)))
        while left:
            tried = [(number, one) for number in left if (one := next(turns[number], None)) is not None]
            beyond = self._beyond([(wanted[number].said, wanted[number].goal, one) for number, one in tried])
            for (number, one), extra in zip(tried, beyond, strict=True):
                if extra:
                    wanted[number].counts[CLASSIFIED] += 1
                else:
                    chosen[number] = one.text
            left = [number for number, _ in tried if not chosen[number]]
        return chosen

    def _beyond(self, asked: Sequence[tuple[Utterance, Goal, Candidate]]) -> Iterator[frozenset[str]]:
        """The slots that the classifier sees in each candidate and the goal does not have."""
        if self.classifier is None:
            return iter([frozenset[str]()] * len(asked))
        seen = self.classifier.slots([_exchange(said, candidate.text) for said, _, candidate in asked])
        return iter([_here(slots - goal.slots, said) for slots, (said, goal, _) in zip(seen, asked, strict=True)])


def _here(slots: frozenset[str], utterance: Utterance) -> frozenset[str]:
    """Without slots of services that the dialogue is not about: SGD has several that words alone do not tell apart."""
    return frozenset(slot for slot in slots if not utterance.services or service_of(slot) in utterance.services)


def matched(candidate: Candidate, goal: Goal) -> Verdict:
    """What the words alone say: is everything there, and nothing plainly beyond?"""
    if missing := unsaid(candidate.text, goal):
        return Verdict(candidate, UNSAID, "not said: " + ", ".join(missing))
    if extra := oversaid(candidate.text, goal):
        return Verdict(candidate, OVERSAID, extra)
    return Verdict(candidate)


def _passing(wanted: Wanted) -> list[Candidate]:
    verdicts = [matched(candidate, wanted.goal) for candidate in wanted.candidates]
    wanted.counts[CANDIDATES] += len(verdicts)
    wanted.counts.update(verdict.filter for verdict in verdicts if verdict.filter)
    return [verdict.candidate for verdict in verdicts if not verdict.filter]


def _classified(candidate: Candidate, beyond: frozenset[str]) -> Verdict:
    if not beyond:
        return Verdict(candidate)
    return Verdict(candidate, CLASSIFIED, "speaks about " + ", ".join(sorted(beyond)))


def _exchange(utterance: Utterance, text: str) -> Exchange:
    history = tuple(words for turn in utterance.history for words in (turn.system, turn.user) if words)
    return Exchange(history, utterance.turn.system, text)
