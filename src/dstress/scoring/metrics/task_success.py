"""Whether a dialogue system does what its user came for: mwzeval's inform and success rates.

A response *offers* what the database has for the state of its turn, if it names a place or a train. A dialogue is
matched if every service's last offer lies within what the goal asks for; it succeeds if also all that the goal asks to
be told was told. Every branch is the script's, also where one would have written another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from dstress.conventions.mwzeval import MwzEval
from dstress.conventions.venues import Venues
from dstress.corpora.database import Database
from dstress.dialogue import Dialogue, Goal, State, service_of
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns
from dstress.scoring.metrics.base import POINTS, Floats, Metric, ratio
from dstress.text.placeholders import REFERENCE, TRAIN_ID, Placeholders

States = dict[str, dict[str, str]]
"""A state by service, then by column of the database."""


class Outcome(NamedTuple):
    """What came of a dialogue, by service of its goal; `success` is empty where not everything was matched."""

    match: dict[str, bool]
    success: dict[str, bool]


class Inform(Metric):
    """Share of dialogues, of 100, in which the system offers what the goal asks for, in every service (mwzeval)."""

    name = "inform"
    by_turn = by_dialogue = True
    needs_states = False
    on_request = reads_responses = True
    unit = POINTS
    ceiling = 100.0

    def missing(self, alignment: Alignment) -> str:
        columns = alignment.columns
        if all(prediction.response is None for prediction in columns.predictions):
            return "the predictions have no responses"
        if all(dialogue.goal is None for dialogue in columns.gold_dialogues):
            return "the gold has no goals"
        if columns.vocabulary.open_database() is None:
            return "the corpus has no database; import it again from a source with files such as hotel_db.json"
        return ""

    def statistics(self, alignment: Alignment) -> Floats:
        columns, table = alignment.columns, np.zeros((len(alignment.columns.turns), 2))
        last = np.where(columns.turn_counts > 0, np.cumsum(columns.turn_counts) - 1, -1)
        for turn, outcome in zip(last.tolist(), outcomes(columns), strict=True):
            services = [s for s in outcome.match if alignment.services is None or s in alignment.services]
            if services and turn >= 0:
                table[turn] = all(self.judged(outcome).get(service, False) for service in services), 1.0
        return table

    def judged(self, outcome: Outcome) -> Mapping[str, bool]:
        """What counts, by service."""
        return outcome.match

    def value(self, sums: Floats) -> Floats:
        return 100.0 * ratio(sums[..., 0], sums[..., 1])


class Success(Inform):
    """Share of dialogues, of 100, that are matched and in which the system tells all that the goal asks (mwzeval)."""

    name = "success"

    def judged(self, outcome: Outcome) -> Mapping[str, bool]:
        return outcome.success


def outcomes(columns: Columns) -> list[Outcome]:
    """The outcome of every dialogue."""
    if "outcomes" not in columns.memo:
        judge = columns.vocabulary.memo.get("judge")
        if judge is None:
            database = columns.vocabulary.open_database()
            venues = Venues(database or Database({}))
            judge = columns.vocabulary.memo["judge"] = Judge(venues, Placeholders(columns.schema))
        columns.memo["outcomes"] = [judge.judge(dialogue, predictions) for dialogue, predictions in columns.paired()]
    return list(columns.memo["outcomes"])


class Judge:
    """Judges dialogues, and remembers what it has looked up."""

    def __init__(self, venues: Venues, placeholders: Placeholders) -> None:
        self.venues, self.placeholders = venues, placeholders
        self._canonical = canonical = MwzEval()
        self._value = cache(
            lambda slot, value: (
                service_of(slot),
                _column(slot.partition("-")[2]),
                canonical.predicted(slot, value) or "",
            )
        )

    def judge(self, dialogue: Dialogue, predictions: Sequence[Prediction]) -> Outcome:
        """What came of a dialogue, given the predictions for its turns."""
        turns = [dialogue.turns[prediction.turn] for prediction in predictions]
        goals = {} if dialogue.goal is None else self._goal(dialogue.goal)
        states = [
            self._gold_state(turn.state) if prediction.stateless else self._state(prediction)
            for turn, prediction in zip(turns, predictions, strict=True)
        ]
        domains = active_domains(predictions, states)
        offered: dict[str, frozenset[str]] = dict.fromkeys(goals, frozenset())
        facts: dict[str, set[str]] = {service: set() for service in goals}
        for turn, prediction, state, active in zip(turns, predictions, states, domains, strict=True):
            names = self.placeholders.names(prediction.response or "")
            kinds = {kind for name in names if (kind := self.placeholders.kind(name))}
            for service in active if kinds else ():
                if service not in goals:
                    continue
                if self.venues.placeholder(service) in kinds:
                    rows = self.venues.find(service, state[service]) if service in state else frozenset()
                    # A narrower choice is still the one before; another one replaces it.
                    if not offered[service] or not offered[service] <= rows:
                        offered[service] = rows
                facts[service] |= kinds if service in turn.booked else kinds - {REFERENCE}
        match = {service: self._is_matched(service, *goals[service], offered[service]) for service in goals}
        if not all(match.values()):
            return Outcome(match, {})
        return Outcome(match, {service: requests <= facts[service] for service, (_, requests) in goals.items()})

    def _is_matched(
        self, service: str, constraints: dict[str, str], requests: set[str], offered: frozenset[str]
    ) -> bool:
        placeholder = self.venues.placeholder(service)
        if not placeholder or "name" in constraints:
            return True
        if not offered:
            return placeholder == TRAIN_ID and TRAIN_ID not in requests
        return offered <= self.venues.find(service, constraints)

    def _goal(self, goal: Goal) -> dict[str, tuple[dict[str, str], set[str]]]:
        """By service, what the user looks for and the kinds of what the system shall tell."""
        goals: dict[str, tuple[dict[str, str], set[str]]] = {}
        for slot, values in goal.inform.items():
            constraints, requests = goals.setdefault(service_of(slot), ({}, set()))
            if (bare := slot.partition("-")[2]).startswith("book "):
                requests.add(REFERENCE)
            else:
                constraints[_column(bare)] = values[0]
        for slot in goal.request:
            kind = self.placeholders.requested_kind(slot)
            goals.setdefault(service_of(slot), ({}, set()))[1].update({kind} if kind else ())
        return goals

    def _state(self, prediction: Prediction) -> States:
        state: States = {service: {} for service in prediction.services}
        for item in prediction.state.items():
            service, column, value = self._value(*item)
            state.setdefault(service, {})[column] = value
        return state

    def _gold_state(self, gold: State) -> States:
        state: States = {}
        for slot, values in gold.items():
            for value in self._canonical.gold(slot, values):
                state.setdefault(service_of(slot), {})[_column(slot.partition("-")[2])] = value
        return state


def _column(slot: str) -> str:
    return slot.casefold().replace(" ", "")


def active_domains(predictions: Sequence[Prediction], states: Sequence[States]) -> list[tuple[str, ...]]:
    """What each response is about: as the system says, or else the service whose part of the state changed last.

    Where several changed at once, the one before goes on if it is among them, else the one with most slots follows;
    in a turn without a change, another one of those that had changed with it.
    """
    if any(prediction.domains is not None for prediction in predictions):
        return [prediction.domains or () for prediction in predictions]
    domains: list[tuple[str, ...]] = []
    current, before = "", defaultdict[str, dict[str, str]](dict)
    changed_before: list[str] = []
    for state in states:
        changed = [service for service in state if not state[service].items() <= before[service].items()]
        if not changed:
            if not current:
                domains.append(())
                continue
            others = [service for service in changed_before if service in state and service != current]
            current = others[0] if len(changed_before) > 1 and others else current
        elif current not in changed:
            current = max(changed, key=lambda service: len(state[service]))
        before, changed_before = defaultdict(dict, state), changed
        domains.append((current,))
    return domains
