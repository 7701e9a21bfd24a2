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


class Filters:
    """The match filter, then the classifier, if there is one.

    With `offers`, what a goal holds unsaid is an offer of the system's, which the words must take up: a name by booking
    it, where the slots tell what that is, anything else by a yes.
    """

    def __init__(self, classifier: Linear | None, offers: bool = False) -> None:
        self.classifier, self.offers = classifier, offers

    def judge(self, utterance: Utterance, goal: Goal, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Every candidate with its verdict, to look at."""
        verdicts = [self._match(candidate, goal, utterance) for candidate in candidates]
        passing = [place for place, verdict in enumerate(verdicts) if not verdict.filter]
        classified = self._classify([(utterance, goal, verdicts[place].candidate) for place in passing])
        for place, verdict in zip(passing, classified, strict=True):
            verdicts[place] = verdict
        return verdicts

    def choose(
        self, trials: Sequence[tuple[Utterance, Goal, Sequence[Candidate]]]
    ) -> Iterator[tuple[str, Counter[str]]]:
        """For each turn its first candidate that passes, empty if none does, and what became of its candidates.

        All turns go side by side, for speed.
        """
        passing, counts = [], []
        for utterance, goal, candidates in trials:
            verdicts = [self._match(candidate, goal, utterance) for candidate in candidates]
            counts.append(Counter({CANDIDATES: len(verdicts)}))
            counts[-1].update(verdict.filter for verdict in verdicts if verdict.filter)
            passing.append(iter([verdict.candidate for verdict in verdicts if not verdict.filter]))
        chosen, left = [""] * len(trials), list(range(len(trials)))
        while left:
            tried = [(place, candidate) for place in left if (candidate := next(passing[place], None)) is not None]
            verdicts = self._classify([(*trials[place][:2], candidate) for place, candidate in tried])
            for (place, candidate), verdict in zip(tried, verdicts, strict=True):
                if verdict.filter:
                    counts[place][verdict.filter] += 1
                else:
                    chosen[place] = candidate.text
            left = [place for place, _ in tried if not chosen[place]]
        return zip(chosen, counts, strict=True)

    def _match(self, candidate: Candidate, goal: Goal, utterance: Utterance) -> Verdict:
        """What the words alone say: is everything there, and nothing plainly beyond?"""
        if missing := find_unsaid(candidate.text, goal):
            return Verdict(candidate, UNSAID, "not said: " + ", ".join(missing))
        if extra := find_oversaid(candidate.text, goal):
            return Verdict(candidate, OVERSAID, extra)
        if self.offers and (ignored := _ignored_offers(candidate.text, goal, utterance)):
            return Verdict(candidate, UNTAKEN, ignored)
        return Verdict(candidate)

    def _classify(self, candidates: Sequence[tuple[Utterance, Goal, Candidate]]) -> list[Verdict]:
        """Reject candidates in which the classifier sees slots that the goal does not have."""
        if self.classifier is None:
            return [Verdict(candidate) for *_, candidate in candidates]
        exchanges = []
        for utterance, _, candidate in candidates:
            history = tuple(words for turn in utterance.history for words in (turn.system, turn.user) if words)
            exchanges.append(Exchange(history, utterance.turn.system, candidate.text))
        verdicts = []
        for slots, (utterance, goal, candidate) in zip(self.classifier.slots(exchanges), candidates, strict=True):
            services = utterance.services
            # Not those of services that the dialogue is not about: SGD has several that words alone do not tell apart.
            extra = sorted(slot for slot in slots - goal.slots if not services or service_of(slot) in services)
            why = f"speaks about {', '.join(extra)}"
            verdicts.append(Verdict(candidate, CLASSIFIED, why) if extra else Verdict(candidate))
        return verdicts


def _ignored_offers(text: str, goal: Goal, utterance: Utterance) -> str:
    """What words leave aside that is settled: an offer that wants a yes, or a place that has its name already."""
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
