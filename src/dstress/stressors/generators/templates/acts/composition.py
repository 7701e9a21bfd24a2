"""Which words say a goal where turns have acts: a template that does what the turn does, and sentences for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, product
from math import log
from random import Random
from typing import NamedTuple

from dstress.dialogue import Turn, service_of, slot_id
from dstress.stressors.generators.base import Candidate, Request
from dstress.stressors.generators.matching import find_unsaid
from dstress.stressors.generators.templates.acts import turns
from dstress.stressors.generators.templates.acts.learning import ActLibrary, ActTemplate
from dstress.stressors.generators.templates.acts.turns import ActKey, words_in
from dstress.stressors.generators.templates.tokens import element_for, has_word, slot_of, words
from dstress.text.utterance import random_for

_ORDER = ("NEGATE", "NEGATE_INTENT", "AFFIRM", "AFFIRM_INTENT", turns.SELECT, "THANK_YOU", "REQUEST_ALTS", "GOODBYE")
"""In which order users do several things."""
_TRIED, _FOLLOWING, _WAYS, _OPENERS = 20, 4, 24, 4
"""Templates that are tried for a goal: whole ones, sentences after them, ways to say a rest, openers."""
_FLUENT, _USUAL, _PIECE, _WORD, _CHANCE = 2.5, 0.4, 1.5, 0.1, 0.6
"""What counts: usual words, words that were said often; against further pieces, length; and chance."""
_START = 3
_THING = re.compile(r"\b(?:an?|the) [a-z]+\b")
_POINTING = frozenset({"it", "it's"})
_BEFORE_NOUN = re.compile(r"\[([^\]]+)\] \w")
_TWICE = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(an?) \[([^\]]+)\]", re.IGNORECASE)


def compose(library: ActLibrary, request: Request, n: int) -> list[Candidate]:
    """Utterances that say a goal and do what the user's turn does, the best first."""
    system, goal, utterance, _ = request
    if not goal.spoken or n < 1:
        return []
    turn = Turn("", system) if utterance is None else utterance.turn
    services = {service_of(slot) for slot in goal.spoken}
    own_slots = {slot_id(frame.service, act.slot) for frame in turn.frames for act in frame.acts}
    # What the turn gives in words that say it another way ("refundable") would get lost with them.
    if len(services) != 1 or not own_slots.isdisjoint(goal.unspoken):
        return []
    if not all(
        turns.takes_offer(turn, service_of(slot)) or turns.named_by_system(turn, slot) for slot in goal.unspoken
    ):
        return []  # the label has a value that neither the user's words nor the user's agreement account for
    [service] = services
    key = turns.act_key_of(turn, service, frozenset(element_for(slot, value) for slot, value in goal.spoken.items()))
    if turns.SELECT in turns.acts_of(turn.frames) and not key.intent and not goal.spoken.keys() <= own_slots:
        return []  # who takes an offer has no further wishes for the search
    after = turns.acts_of(turn.system_frames)
    composition = _Composition(
        library,
        turn,
        "" if utterance is None else utterance.dialogue,
        bool(key.intent and after) and "NOTIFY_FAILURE" not in after,
        {slot.partition("-")[2]: value for slot, value in goal.spoken.items()},
        random_for("acts", system, sorted(goal.spoken.items()), sorted(goal.unspoken.items())),
    )
    ranked = sorted(composition.utterances(key), key=lambda candidate: (-candidate.score, candidate.text))
    best: dict[str, Candidate] = {}
    for candidate in ranked:
        best.setdefault(candidate.text, candidate)
    return list(islice((best[text] for text in best if not _TWICE.search(text) and not find_unsaid(text, goal)), n))


class _Composition(NamedTuple):
    """What words must fit: the turn in whose place they stand, its dialogue, and the values by bare slot name."""

    library: ActLibrary
    turn: Turn
    dialogue: str
    goes_further: bool
    values: Mapping[str, str]
    random: Random

    def utterances(self, key: ActKey) -> Iterator[Candidate]:
        """Openers for some of the acts, a template for the others, further sentences for what it does not say."""
        turns_to = key.intent and key.service not in {frame.service for frame in self.turn.system_frames}
        turns_away = turns_to or "REQUEST_ALTS" in key.acts
        slots_requested = turns.requested_in(self.turn)
        requested = frozenset(element for element in key.elements if slot_of(element) in slots_requested)
        for acts in _parts(key.acts):
            if not key.acts - acts <= self.library.openers.keys():
                continue
            rank = {act: place for place, act in enumerate(_ORDER)}
            others = sorted(key.acts - acts, key=lambda act: (rank.get(act, len(rank)), act))
            openers = [self.random.choice(self.library.openers[act][:_OPENERS]) for act in others]
            for elements in _parts(key.elements):
                whole = key._replace(acts=acts, elements=elements)
                if not (elements or key.intent) or (requested and not requested & elements):
                    continue
                leads = [
                    lead
                    for lead in self._fitting(self.library.wholes, whole, _TRIED)
                    if (elements <= requested or not _only_answers(lead, whole))
                    and not (turns_away and not _POINTING.isdisjoint(words_in(lead.text)))
                ]
                rests = list(islice(self._further(key.service, key.elements - elements), _WAYS)) if leads else []
                for lead, (score, further) in product(leads, rests):
                    if not (_begin_alike(lead.text, further) or _ask_alike(lead.text, further)):
                        cost = _PIECE * len(openers) - _CHANCE * self.random.random()
                        text = " ".join((*openers, self._filled(lead), *further))
                        yield Candidate(text, self._score(lead) + score - cost)

    def _further(self, service: str, rest: frozenset[str]) -> Iterator[tuple[float, list[str]]]:
        """Sentences that say the rest, few before many."""
        if not rest:
            yield 0.0, []
        for elements in _parts(rest):
            if min(rest, default="") not in elements:
                continue
            fitting = self._fitting(self.library.follow, ActKey(service, "", frozenset(), elements), _FOLLOWING)
            for score, others in self._further(service, rest - elements) if fitting else ():
                for template in fitting:
                    if not _begin_alike(template.text, others):
                        yield self._score(template) + score - _PIECE, [self._filled(template), *others]

    def _fitting(self, library: Mapping[ActKey, list[ActTemplate]], key: ActKey, most: int) -> list[ActTemplate]:
        """Some of the templates that the values and the system's turn go with."""
        fitting = [template for template in library.get(key, ()) if self._fits(template)]
        return self.random.sample(fitting, min(most, len(fitting)))

    def _fits(self, template: ActTemplate) -> bool:
        if template.dialogues == {self.dialogue}:
            return False
        if any(turns.shape_of(self.values[slot]) != shape for slot, shape in template.shapes):
            return False
        own = words_in(template.text)
        if has_word(own[:1], "acts.replies") and turns.replied_to(self.turn) not in template.after:
            return False
        if (has_word(own[:1], "acts.greetings") and self.turn.system) or (
            has_word(own, "acts.further") and not self.goes_further
        ):
            return False
        says_name = any(map(_is_name, turns.PLACEHOLDER.findall(template.text)))
        if any(map(_is_name, self.values)) and has_word(own, "acts.vague") and not says_name:
            return False
        for slot in _BEFORE_NOUN.findall(template.text):
            if self.values[slot].lower().endswith(tuple(words("acts.own_nouns"))):
                return False  # "an eccentric story movie"
        for article, slot in _ARTICLE.findall(template.text):
            value = self.values[slot]
            # Of abbreviations nobody knows whether "a" or "an" goes before them.
            if value.isupper() or (value[:1].lower() in "aeiou") != (article.lower() == "an"):
                return False
        return True

    def _filled(self, template: ActTemplate) -> str:
        return turns.PLACEHOLDER.sub(lambda match: self.values[match[1]], template.text)

    def _score(self, template: ActTemplate) -> float:
        return _FLUENT * template.fluency + _USUAL * log(template.times) - _WORD * len(template.text.split())


def _parts(elements: frozenset[str]) -> list[frozenset[str]]:
    """All subsets, the largest first."""
    ordered = sorted(elements)
    return [frozenset(part) for size in range(len(ordered), -1, -1) for part in combinations(ordered, size)]


def _only_answers(lead: ActTemplate, key: ActKey) -> bool:
    """Whether words need their question: no sentence, or a yes or no to whether something is wanted."""
    gives_flag = any("=" in element for element in key.elements)
    replies = has_word(words_in(lead.text)[:1], "acts.replies")
    is_bare = not key.acts and turns.is_fragment(lead.text)
    return (gives_flag and replies) or is_bare or turns.is_bare_wish(lead.text, dict(lead.shapes))


def _begin_alike(text: str, others: Iterable[str]) -> bool:
    """Whether sentences begin alike, so that together they sound like a list."""
    return any(words_in(text)[:_START] == words_in(other)[:_START] for other in others)


def _ask_alike(text: str, others: Iterable[str]) -> bool:
    """Whether sentences ask for the same twice: "make an appointment", "make the appointment for Monday"."""
    actions, things = frozenset(words_in(text)) & words("acts.asked_once"), {*_THING.findall(text.lower())}
    return any(
        len(actions.intersection(words_in(other))) > 1 or not things.isdisjoint(_THING.findall(other.lower()))
        for other in others
    )


def _is_name(slot: str) -> bool:
    return slot.endswith("name") or slot in ("title", "track")
