"""What the user answers without naming a value: yes, no, "I don't mind"; or with nothing but a name."""

from __future__ import annotations

from collections.abc import Iterable

from dstress.dialogue import DONTCARE
from dstress.trackers.rules.evidence import Cue
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import word_set

_REACH = 5
_FIRST_WORDS = 4
_SHORT = 7
_LONGEST_NAME = 4


def read_flags(turn: TurnEvidence) -> dict[str, str]:
    """Yes and no, by the words for a slot, or as the answer to a question about it."""
    filled: dict[str, str] = {}
    flags = [profile for profile in turn.slots.values() if profile.kind == "flag"]
    concepts = {profile.concept for profile in flags}
    for cues, is_wish in ((turn.user.cues, True), (turn.user.denied, False)):
        for cue in cues:
            if cue.name not in concepts:
                continue
            service = turn.service_at(cue.first)
            if not _asks_of_offer(cue, turn, service):
                wanted = is_wish != _is_denied(cue, turn)
                for profile in flags:
                    if (profile.concept, profile.service) == (cue.name, service):
                        filled[profile.slot] = profile.flag(wanted)
    return filled | _read_yes_or_no(turn, filled)


def _is_denied(cue: Cue, turn: TurnEvidence) -> bool:
    words = turn.user.words
    first = max(words.clause(cue.first)[0], cue.first - _REACH)
    return not word_set("negations").isdisjoint(words.words[first : cue.first])


def _asks_of_offer(cue: Cue, turn: TurnEvidence, service: str) -> bool:
    """Whether the user asks if the place at hand has something: a question about it, not a wish."""
    words = turn.user.words
    if words.sentences[cue.first] not in turn.user.questions:
        return False
    first, _ = words.sentence(cue.first)
    verb, *subject = words.words[first : first + 2]
    if verb not in word_set("asking") or word_set("the_one").isdisjoint(subject):
        return False
    offers = [mention for mention in turn.system.mentions if any(turn.slots[slot].is_name for slot in mention.options)]
    return turn.has_name_for(service) or len(offers) == 1


def _read_yes_or_no(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """A plain yes or no to the system's question."""
    requested = sorted(slot for slot in turn.requested if turn.slots[slot].kind == "flag" and slot not in filled)
    if not requested:
        return {}
    start = " ".join(turn.user.words.words[:_FIRST_WORDS])
    denied = phrasing().declines.match(start)
    if not denied and not phrasing().accepts.search(start):
        return {}
    return {slot: turn.slots[slot].flag(not denied) for slot in requested}


def read_dontcares(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """Slots the user does not care about: named beside an expression, else those that the system asked for."""
    text, opened = turn.user.text, dict[str, str]()
    for match in phrasing().open.finditer(text):
        first = text.count(" ", 0, match.start())
        named = _named_beside(first, first + match[0].count(" ") + 1, turn)
        opened |= _opened(named, turn, filled) or _opened(turn.requested, turn, filled)
    if opened or filled or len(turn.user.words) > _SHORT or not phrasing().open_alone.match(text):
        return opened
    return _opened(turn.requested, turn, filled)


def _named_beside(first: int, last: int, turn: TurnEvidence) -> list[str]:
    """The slots that the clause of an expression speaks of."""
    words = turn.user.words
    start, end = words.clause(first)
    concepts = {cue.name for cue in turn.user.cues if start <= cue.first < max(end, last)}
    service = turn.service_at(first)
    return [slot for slot, profile in turn.slots.items() if profile.service == service and profile.concept in concepts]


def _opened(slots: Iterable[str], turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """Slots without names, which nobody leaves open, and without what is filled; a yes or no gives way."""
    kept = [
        slot
        for slot in sorted(slots)
        if turn.slots[slot].kind not in ("name", "open") and (slot not in filled or turn.slots[slot].kind == "flag")
    ]
    known = {turn.slots[slot].service for slot in (*turn.state, *filled) if _is_end_time(turn.slots.get(slot))}
    kept = [slot for slot in kept if not (_is_end_time(turn.slots[slot]) and turn.slots[slot].service in known)]
    if any(_is_end_time(turn.slots[slot]) and turn.slots[slot].role == "from" for slot in kept):
        kept = [slot for slot in kept if not _is_end_time(turn.slots[slot]) or turn.slots[slot].role == "from"]
    return dict.fromkeys(kept, DONTCARE)


def _is_end_time(profile: Profile | None) -> bool:
    """Whether a slot is when a journey starts or ends: who gives one has left the other out, not open."""
    return profile is not None and profile.kind == "time" and bool(profile.role)


def read_bare_name(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """A name that is all the answer to a question for it: `Upper Wray.`"""
    requested = [slot for slot in turn.requested if turn.slots[slot].kind in ("name", "open") and slot not in filled]
    words = turn.user.words
    if len(requested) != 1 or not words.words:
        return {}
    first, last = words.clause(0)
    fillers = word_set("fillers")
    while first < last and words.words[first] in fillers:
        first += 1
    while last > first and words.words[last - 1] in fillers:
        last -= 1
    if not 0 < last - first <= _LONGEST_NAME or not _can_be_name(first, last, turn):
        return {}
    name = words.span_text(first, last)
    return {requested[0]: name.lower() if turn.style.lower else name}


def _can_be_name(first: int, last: int, turn: TurnEvidence) -> bool:
    words = turn.user.words.words[first:last]
    if not (word_set("no_names") | word_set("boundaries")).isdisjoint(words):
        return False
    for mention in turn.user.mentions:
        if first <= mention.first < last and (mention.first == first or mention.kind != "listed"):
            return False
    text, phrases = " ".join(words), phrasing()
    return not (phrases.accepts.search(text) or phrases.declines.search(text) or phrases.open.search(text))
