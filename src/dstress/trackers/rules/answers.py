"""What the user answers without naming a value: yes, no, "I don't mind"; or with nothing but a name."""

from __future__ import annotations

from collections.abc import Iterable

from dstress.dialogue import DONTCARE
from dstress.trackers.rules.evidence import Cue
from dstress.trackers.rules.focus import Situation
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.words import word_set

_REACH = 5
_FIRST_WORDS = 4
_SHORT = 7
_LONGEST_NAME = 4


def flags(at: Situation) -> dict[str, str]:
    """Yes and no, by the words for a slot, or as the answer to a question about it."""
    found: dict[str, str] = {}
    wished = {profile.concept: profile for profile in at.slots.values() if profile.kind == "flag"}
    for said, wanted in ((at.user.cues, True), (at.user.denied, False)):
        for cue in said:
            if cue.name in wished:
                service = at.service_at(cue.first)
                if not _is_asked_of_one(cue, at, service):
                    meant = wanted != _is_denied(cue, at)
                    found |= {profile.slot: profile.flag(meant) for profile in _flags_of(at, cue.name, service)}
    return found | _answered(at, found)


def _flags_of(at: Situation, concept: str, service: str) -> Iterable[Profile]:
    return (
        profile
        for profile in at.slots.values()
        if profile.concept == concept and profile.service == service and profile.kind == "flag"
    )


def _is_denied(cue: Cue, at: Situation) -> bool:
    words = at.user.words
    first = max(words.clause(cue.first)[0], cue.first - _REACH)
    return not word_set("negations").isdisjoint(words.words[first : cue.first])


def _is_asked_of_one(cue: Cue, at: Situation, service: str) -> bool:
    """Whether the user asks if the place at hand has something: a question about it, not a wish."""
    words = at.user.words
    if words.sentences[cue.first] not in at.user.asking:
        return False
    first, _ = words.sentence(cue.first)
    verb, *subject = words.words[first : first + 2]
    if verb not in word_set("asking") or word_set("the_one").isdisjoint(subject):
        return False
    offers = [mention for mention in at.system.mentions if any(at.slots[slot].is_name for slot in mention.options)]
    return at.held_name(service) or len(offers) == 1


def _answered(at: Situation, found: dict[str, str]) -> dict[str, str]:
    """A plain yes or no to the system's question."""
    asked = sorted(slot for slot in at.requested if at.slots[slot].kind == "flag" and slot not in found)
    if not asked:
        return {}
    start = " ".join(at.user.words.words[:_FIRST_WORDS])
    denied = phrasing().declines.match(start)
    if not denied and not phrasing().accepts.search(start):
        return {}
    return {slot: at.slots[slot].flag(not denied) for slot in asked}


def left_open(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """Slots the user does not care about: named beside an expression, else those that the system asked for."""
    row, found = at.user.row, dict[str, str]()
    for match in phrasing().open.finditer(row):
        first = row.count(" ", 0, match.start())
        named = _named_beside(first, first + match[0].count(" ") + 1, at)
        found |= _opened(named, at, filled) or _opened(at.requested, at, filled)
    if found or filled or len(at.user.words) > _SHORT or not phrasing().open_alone.match(row):
        return found
    return _opened(at.requested, at, filled)


def _named_beside(first: int, last: int, at: Situation) -> list[str]:
    """The slots that the clause of an expression speaks of."""
    words = at.user.words
    start, end = words.clause(first)
    concepts = {cue.name for cue in at.user.cues if start <= cue.first < max(end, last)}
    service = at.service_at(first)
    return [slot for slot, profile in at.slots.items() if profile.service == service and profile.concept in concepts]


def _opened(slots: Iterable[str], at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """Slots without names, which nobody leaves open, and without what is filled; a yes or no gives way."""
    kept = [
        slot
        for slot in sorted(slots)
        if at.slots[slot].kind not in ("name", "open") and (slot not in filled or at.slots[slot].kind == "flag")
    ]
    known = {at.slots[slot].service for slot in (*at.state, *filled) if _is_end_time(at.slots.get(slot))}
    kept = [slot for slot in kept if not (_is_end_time(at.slots[slot]) and at.slots[slot].service in known)]
    if any(_is_end_time(at.slots[slot]) and at.slots[slot].role == "from" for slot in kept):
        kept = [slot for slot in kept if not _is_end_time(at.slots[slot]) or at.slots[slot].role == "from"]
    return dict.fromkeys(kept, DONTCARE)


def _is_end_time(profile: Profile | None) -> bool:
    """Whether a slot is when a journey starts or ends: who gives one has left the other out, not open."""
    return profile is not None and profile.kind == "time" and bool(profile.role)


def named_alone(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """A name that is all the answer to a question for it: `Upper Wray.`"""
    wanted = [slot for slot in at.requested if at.slots[slot].kind in ("name", "open") and slot not in filled]
    words = at.user.words
    if len(wanted) != 1 or not words.words:
        return {}
    first, last = words.clause(0)
    fillers = word_set("fillers")
    while first < last and words.words[first] in fillers:
        first += 1
    while last > first and words.words[last - 1] in fillers:
        last -= 1
    if not 0 < last - first <= _LONGEST_NAME or not _can_be_name(first, last, at):
        return {}
    name = words.said(first, last)
    return {wanted[0]: name.lower() if at.style.lower else name}


def _can_be_name(first: int, last: int, at: Situation) -> bool:
    row = at.user.words.words[first:last]
    if not (word_set("no_names") | word_set("boundaries")).isdisjoint(row):
        return False
    for mention in at.user.mentions:
        if first <= mention.first < last and (mention.first == first or mention.kind != "listed"):
            return False
    text, phrases = " ".join(row), phrasing()
    return not (phrases.accepts.search(text) or phrases.declines.search(text) or phrases.open.search(text))
