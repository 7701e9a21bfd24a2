"""Which words say a goal where turns have acts: a template that does what the turn does, and sentences for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, product
from math import log
from random import Random
from typing import NamedTuple

from dstress.dialogue import Turn, service_of, slot_id
from dstress.generators.base import Candidate, Request
from dstress.generators.matching import find_unsaid
from dstress.generators.templates.acts.annotation import (
    SELECTS,
    Doing,
    acts_of,
    doing_of,
    named_by_system,
    replied_to,
    requested_in,
    takes_offer,
)
from dstress.generators.templates.acts.delexical import (
    PLACEHOLDER,
    is_bare_wish,
    is_fragment,
    shape_of,
    word_lists,
    words_in,
)
from dstress.generators.templates.acts.learning import ActLibrary, ActTemplate
from dstress.generators.templates.tokens import element_for, slot_of
from dstress.text.utterance import random_for

_ORDER = ("NEGATE", "NEGATE_INTENT", "AFFIRM", "AFFIRM_INTENT", SELECTS, "THANK_YOU", "REQUEST_ALTS", "GOODBYE")
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


class Situation(NamedTuple):
    """What words must fit: the turn in whose place they stand, its dialogue, and the values by bare slot name."""

    turn: Turn
    dialogue: str
    goes_further: bool
    values: Mapping[str, str]
    random: Random


def compose(library: ActLibrary, request: Request, n: int) -> list[Candidate]:
    """Utterances that say a goal and do what the user's turn does, the best first."""
    system, goal, utterance = request
    if not goal.spoken or n < 1:
        return []
    turn = Turn("", system) if utterance is None else utterance.turn
    services = {service_of(slot) for slot in goal.spoken}
    given = {slot_id(frame.service, act.slot) for frame in turn.frames for act in frame.acts}
    # What the turn gives in words that say it another way ("refundable") would get lost with them.
    if len(services) != 1 or not all(slot not in given and _is_taken_up(turn, slot) for slot in goal.unspoken):
        return []
    [service] = services
    doing = doing_of(turn, service, frozenset(element_for(slot, value) for slot, value in goal.spoken.items()))
    if SELECTS in acts_of(turn.frames) and not doing.intent and not goal.spoken.keys() <= given:
        return []  # who takes an offer has no further wishes for the search
    after = acts_of(turn.system_frames)
    situation = Situation(
        turn,
        "" if utterance is None else utterance.dialogue,
        bool(doing.intent and after) and "NOTIFY_FAILURE" not in after,
        {slot.partition("-")[2]: value for slot, value in goal.spoken.items()},
        random_for("acts", system, sorted(goal.spoken.items()), sorted(goal.unspoken.items())),
    )
    scored = _Composition(library, situation).utterances(doing)
    candidates: dict[str, float] = {}
    for score, text in sorted(scored, key=lambda item: (-item[0], item[1])):
        if text not in candidates and not _TWICE.search(text) and not find_unsaid(text, goal):
            candidates[text] = score
            if len(candidates) == n:
                break
    return [Candidate(text, score) for text, score in candidates.items()]


def _is_taken_up(turn: Turn, slot: str) -> bool:
    """Whether the user agrees to a value that the label holds without the user's words."""
    return takes_offer(turn, service_of(slot)) or bool(named_by_system(turn, slot))


class _Composition:
    def __init__(self, library: ActLibrary, situation: Situation) -> None:
        self._library, self._situation = library, situation

    def utterances(self, doing: Doing) -> Iterator[tuple[float, str]]:
        """Openers for some of the acts, a template for the others, further sentences for what it does not say."""
        turn = self._situation.turn
        turns_to = doing.intent and doing.service not in {frame.service for frame in turn.system_frames}
        turns_away = turns_to or "REQUEST_ALTS" in doing.acts
        requested = requested_in(turn)
        asked = frozenset(element for element in doing.elements if slot_of(element) in requested)
        for acts in _parts(doing.acts):
            if not doing.acts - acts <= self._library.openers.keys():
                continue
            openers = self._openers(doing.acts - acts)
            for elements in _parts(doing.elements):
                whole = doing._replace(acts=acts, elements=elements)
                if not (elements or doing.intent) or (asked and not asked & elements):
                    continue
                leads = [
                    lead
                    for lead in self._fitting(self._library.wholes, whole, _TRIED)
                    if (elements <= asked or not _only_answers(lead, whole))
                    and not (turns_away and not _POINTING.isdisjoint(words_in(lead.text)))
                ]
                rests = list(islice(self._further(doing.service, doing.elements - elements), _WAYS)) if leads else []
                for lead, (score, further) in product(leads, rests):
                    if _begin_alike(lead.text, further) or _ask_alike(lead.text, further):
                        continue
                    text = " ".join((*openers, self._filled(lead), *further))
                    cost = _PIECE * len(openers) - _CHANCE * self._situation.random.random()
                    yield self._score(lead) + score - cost, text

    def _openers(self, acts: frozenset[str]) -> list[str]:
        """A sentence for each act."""
        ordered = sorted(acts, key=lambda act: (_ORDER.index(act) if act in _ORDER else len(_ORDER), act))
        return [self._situation.random.choice(self._library.openers[act][:_OPENERS]) for act in ordered]

    def _further(self, service: str, rest: frozenset[str]) -> Iterator[tuple[float, list[str]]]:
        """Sentences that say the rest, few before many."""
        if not rest:
            yield 0.0, []
        for elements in _parts(rest):
            if min(rest, default="") not in elements:
                continue
            doing = Doing(service, "", frozenset(), elements)
            found = self._fitting(self._library.follow, doing, _FOLLOWING)
            for score, others in self._further(service, rest - elements) if found else ():
                for template in found:
                    if not _begin_alike(template.text, others):
                        yield self._score(template) + score - _PIECE, [self._filled(template), *others]

    def _fitting(self, library: Mapping[Doing, list[ActTemplate]], doing: Doing, most: int) -> list[ActTemplate]:
        """Some of the templates that the values and the system's turn go with."""
        fitting = [template for template in library.get(doing, ()) if self._fits(template)]
        return self._situation.random.sample(fitting, min(most, len(fitting)))

    def _fits(self, template: ActTemplate) -> bool:
        situation, lists = self._situation, word_lists()
        if template.dialogues == {situation.dialogue}:
            return False
        if any(shape_of(situation.values[slot]) != shape for slot, shape in template.shapes):
            return False
        words = words_in(template.text)
        if not lists["replies"].isdisjoint(words[:1]) and replied_to(situation.turn) not in template.after:
            return False
        if not lists["greetings"].isdisjoint(words[:1]) and situation.turn.system:
            return False
        if not lists["further"].isdisjoint(words) and not situation.goes_further:
            return False
        if any(map(_is_name, situation.values)) and not lists["vague"].isdisjoint(words) and not _says_name(template):
            return False
        for match in _BEFORE_NOUN.finditer(template.text):
            if situation.values[match[1]].lower().endswith(tuple(lists["own_nouns"])):
                return False  # "an eccentric story movie"
        return all(_goes_after(match[1], situation.values[match[2]]) for match in _ARTICLE.finditer(template.text))

    def _filled(self, template: ActTemplate) -> str:
        return PLACEHOLDER.sub(lambda match: self._situation.values[match[1]], template.text)

    def _score(self, template: ActTemplate) -> float:
        return _FLUENT * template.fluency + _USUAL * log(template.times) - _WORD * len(template.text.split())


def _parts(elements: frozenset[str]) -> list[frozenset[str]]:
    """All subsets, the largest first."""
    ordered = sorted(elements)
    return [frozenset(part) for size in range(len(ordered), -1, -1) for part in combinations(ordered, size)]


def _only_answers(lead: ActTemplate, doing: Doing) -> bool:
    """Whether words need their question: no sentence, or a yes or no to whether something is wanted."""
    gives_flag = any("=" in element for element in doing.elements)
    replies = not word_lists()["replies"].isdisjoint(words_in(lead.text)[:1])
    fragment = not doing.acts and is_fragment(lead.text)
    return (gives_flag and replies) or fragment or is_bare_wish(lead.text, dict(lead.shapes))


def _begin_alike(text: str, others: Iterable[str]) -> bool:
    """Whether sentences begin alike, so that together they sound like a list."""
    return any(words_in(text)[:_START] == words_in(other)[:_START] for other in others)


def _ask_alike(text: str, others: Iterable[str]) -> bool:
    """Whether sentences ask for the same twice: "make an appointment", "make the appointment for Monday"."""
    asked, things = frozenset(words_in(text)) & word_lists()["asked_once"], {*_THING.findall(text.lower())}
    return any(
        len(asked.intersection(words_in(other))) > 1 or not things.isdisjoint(_THING.findall(other.lower()))
        for other in others
    )


def _is_name(slot: str) -> bool:
    return slot.endswith("name") or slot in ("title", "track")


def _says_name(template: ActTemplate) -> bool:
    return any(map(_is_name, PLACEHOLDER.findall(template.text)))


def _goes_after(article: str, value: str) -> bool:
    """Whether a value can follow "a" or "an"; of abbreviations nobody knows."""
    return not value.isupper() and (value[:1].lower() in "aeiou") == (article.lower() == "an")
