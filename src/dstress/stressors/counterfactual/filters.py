"""The filters of CoCo (section 4.3): is everything said, and nothing beyond? Which candidate is the first to pass?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dstress.dialogue import service_of
from dstress.stressors.counterfactual.classifier.examples import Exchange
from dstress.stressors.counterfactual.classifier.linear import Linear
from dstress.stressors.generators.base import Candidate, Goal
from dstress.stressors.generators.matching import find_oversaid, find_unsaid, seeks, takes_up
from dstress.stressors.generators.templates.tokens import has_bookings
from dstress.text.utterance import Utterance

CANDIDATES = "candidates"
UNSAID = "candidates rejected: a value unsaid"
UNTAKEN = "candidates rejected: an offer not taken up"
OVERSAID = "candidates rejected: more than the goal"
CLASSIFIED = "candidates rejected by the classifier"


class Verdict(NamedTuple):
    """A candidate, and which filter rejects it and why; an empty `filter` lets it pass."""

    candidate: Candidate
    filter: str = ""
    why: str = ""


Trial = tuple[Utterance, Goal, Sequence[Candidate]]
"""A turn, what it is to say, and words for that."""


def judge(trial: Trial, classifier: Linear | None) -> list[Verdict]:
    """Every candidate with its verdict, to look at: first what the words alone say, then the classifier."""
    utterance, goal, candidates = trial
    verdicts = [_match(candidate, goal, utterance) for candidate in candidates]
    passing = [place for place, verdict in enumerate(verdicts) if not verdict.filter]
    classified = _classify([(utterance, goal, verdicts[place].candidate) for place in passing], classifier)
    for place, verdict in zip(passing, classified, strict=True):
        verdicts[place] = verdict
    return verdicts


def choose(trials: Sequence[Trial], classifier: Linear | None) -> Iterator[tuple[str, Counter[str]]]:
    """For each turn its first candidate that passes, empty if none does, and what became of its candidates.

    All turns go side by side, for speed.
    """
    passing, counts = [], []
    for utterance, goal, candidates in trials:
        verdicts = [_match(candidate, goal, utterance) for candidate in candidates]
        counts.append(Counter({CANDIDATES: len(verdicts)}))
        counts[-1].update(verdict.filter for verdict in verdicts if verdict.filter)
        passing.append(iter([verdict.candidate for verdict in verdicts if not verdict.filter]))
    chosen, left = [""] * len(trials), list(range(len(trials)))
    while left:
        tried = [(place, candidate) for place in left if (candidate := next(passing[place], None)) is not None]
        classified = _classify([(*trials[place][:2], candidate) for place, candidate in tried], classifier)
        for (place, candidate), verdict in zip(tried, classified, strict=True):
            if verdict.filter:
                counts[place][verdict.filter] += 1
            else:
                chosen[place] = candidate.text
        left = [place for place, _ in tried if not chosen[place]]
    return zip(chosen, counts, strict=True)


def _match(candidate: Candidate, goal: Goal, utterance: Utterance) -> Verdict:
    """What the words alone say: is everything there, nothing plainly beyond, and taken up what is offered?"""
    if missing := find_unsaid(candidate.text, goal):
        return Verdict(candidate, UNSAID, "not said: " + ", ".join(missing))
    if extra := find_oversaid(candidate.text, goal):
        return Verdict(candidate, OVERSAID, extra)
    ignored = _ignored_offers(candidate.text, goal, utterance)
    return Verdict(candidate, UNTAKEN, ignored) if ignored else Verdict(candidate)


def _classify(trials: Sequence[tuple[Utterance, Goal, Candidate]], classifier: Linear | None) -> list[Verdict]:
    """Reject candidates in which the classifier, if there is one, sees slots that the goal does not have."""
    if classifier is None:
        return [Verdict(candidate) for *_, candidate in trials]
    exchanges = []
    for utterance, _, candidate in trials:
        history = tuple(words for turn in utterance.history for words in (turn.system, turn.user) if words)
        exchanges.append(Exchange(history, utterance.turn.system, candidate.text))
    verdicts = []
    for slots, (utterance, goal, candidate) in zip(classifier.slots(exchanges), trials, strict=True):
        services = utterance.services
        # Not those of services that the dialogue is not about: SGD has several that words alone do not tell apart.
        extra = sorted(slot for slot in slots - goal.slots if not services or service_of(slot) in services)
        why = f"speaks about {', '.join(extra)}"
        verdicts.append(Verdict(candidate, CLASSIFIED, why) if extra else Verdict(candidate))
    return verdicts


def _ignored_offers(text: str, goal: Goal, utterance: Utterance) -> str:
    """What words leave aside that is settled: an offer of the goal's that wants a yes, or a place that has its name.

    What a goal holds unsaid is an offer. A name is taken up by booking it, where the slots tell what that is, anything
    else by a yes.
    """
    booked = has_bookings(utterance.schema.slots)
    offers = [slot for slot in goal.unspoken if not (booked and slot.endswith("-name"))]
    if offers and not takes_up(text):
        return "no yes to " + ", ".join(offers)
    services = set(map(service_of, goal.spoken))
    named = [
        slot
        for slot in (*goal.unspoken, *utterance.before)
        if slot.endswith("-name") and slot not in goal.spoken and services == {service_of(slot)}
    ]
    return "looks for something else than " + ", ".join(named) if booked and named and seeks(text) else ""
