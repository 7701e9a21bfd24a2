"""Which slot a value belongs to. Every slot that could hold it is weighed; the best one takes it, or none."""

from __future__ import annotations

from collections.abc import Iterator

from dstress.trackers.ruled.phrasing import phrasing
from dstress.trackers.ruled.profiles import Profile
from dstress.trackers.ruled.reading import Mention
from dstress.trackers.ruled.situation import Situation
from dstress.trackers.ruled.words import keys_of, word_set

_ENOUGH = 3.0
_NEVER = -99.0
_REACH = 5
_NEAR = 4
_REJECTING = ("not", "instead of", "rather than", "better than")


def chosen(at: Situation) -> dict[str, str]:
    """The slots that the user's own words fill."""
    found: dict[str, str] = {}
    replaced = _replaced(at)
    for mention in at.user.mentions:
        if mention.rejected:
            continue
        slot = _best(mention, at, {} if _is_corrected(mention, at) else found, replaced)
        if slot:
            found[slot] = mention.options[slot]
    return found


def _is_corrected(mention: Mention, at: Situation) -> bool:
    """Whether the words before a value take back what was said before: it then replaces that."""
    before = " ".join(at.user.words.words[max(0, mention.first - _REACH) : mention.first])
    return bool(phrasing().corrects.search(before))


def _replaced(at: Situation) -> frozenset[str]:
    """The slots whose values the user takes back: `not the bus station`, `rather than 5:30 pm`."""
    found = {
        slot
        for mention in at.user.mentions
        if mention.rejected
        for slot, value in mention.options.items()
        if at.state.get(slot) == value
    }
    row = f" {' '.join(at.user.words.keys)} "
    if any(f" {phrase} " in row for phrase in _REJECTING):
        for slot, value in at.state.items():
            said = " ".join(keys_of(value))
            if any(f" {phrase} {said} " in row or f" {phrase} the {said} " in row for phrase in _REJECTING):
                found.add(slot)
    return frozenset(found)


def _is_bare(mention: Mention, at: Situation) -> bool:
    """Whether a number can be the answer to a question: it starts a clause, or follows a little word; `that 1` cannot."""
    words = at.user.words
    first, _ = words.clause(mention.first)
    before = words.words[first : mention.first]
    return not before or before[-1] in word_set("before_counts")


def _people_asked(at: Situation) -> bool:
    return any(at.slots[slot].kind == "number" for slot in at.requested)


def _best(mention: Mention, at: Situation, taken: dict[str, str], replaced: frozenset[str]) -> str:
    weighed = [
        (_weight(mention, at.slots[slot], at, replaced), -number, slot)
        for number, slot in enumerate(mention.options)
        if slot not in taken and slot in at.slots
    ]
    weight, _, slot = max(weighed, default=(_NEVER, 0, ""))
    return slot if weight >= _ENOUGH else ""


def _weight(mention: Mention, profile: Profile, at: Situation, replaced: frozenset[str]) -> float:
    """How much speaks for a slot: its service, the system's question, the words around the value."""
    weight = _service_weight(mention, profile, at)
    if profile.slot in at.requested:
        weight += 4
    weight += _cue_weight(mention, profile, at)
    if mention.kind == "number" and profile.kind == "time":
        return weight if profile.slot in at.requested and not _people_asked(at) and _is_bare(mention, at) else _NEVER
    if profile.slot in replaced:
        weight += 5
    if mention.kind == "number":
        weight += _unit_weight(mention, profile, at, replaced)
    elif profile.role:
        weight += _role_weight(mention, profile, at)
    if _is_also_service(mention, profile, at):
        weight -= 2
    if profile.concept == "type" and _is_known(mention, profile, at):
        return _NEVER
    return weight


def _service_weight(mention: Mention, profile: Profile, at: Situation) -> float:
    if at.service_at(mention.first) == profile.service:
        return 3
    if profile.kind == "name" and not profile.role:
        return 2.5
    named = at.named
    if profile.service in named or (not named and profile.service == at.focus):
        return 1
    return -4


def _cue_weight(mention: Mention, profile: Profile, at: Situation) -> float:
    for cue in at.user.cues:
        if cue.name == profile.concept and mention.first - _NEAR <= cue.first < mention.last + _NEAR:
            return 1
    return 0


def _unit_weight(mention: Mention, profile: Profile, at: Situation, replaced: frozenset[str]) -> float:
    """The noun after a number tells what it counts: `3 nights`; without one, `for 3` counts people."""
    words = at.user.words
    row = words.keys
    for near in row[mention.last : mention.last + 3]:
        if near in profile.units:
            return 4
        if near in _all_units(at):
            return _NEVER
        if near not in ("or", "more", "of", "other", "full", "consecutive", "train", "adult"):
            break
    before = row[max(0, mention.first - 2) : mention.first]
    if before and (before[-1] in profile.units or (before[-1] in ("of", "is") and set(before) & profile.units)):
        return 3
    if profile.slot in at.requested and _is_bare(mention, at):
        return 0
    if profile.slot in replaced or (before[-1:] == ["for"] and profile.concept == "people"):
        return 1
    return _NEVER


def _all_units(at: Situation) -> frozenset[str]:
    return frozenset(unit for profile in at.slots.values() if profile.kind == "number" for unit in profile.units) | {
        "star", "night", "day", "people", "person", "pound", "gbp", "minute", "hour", "am", "pm"
    }


def _role_weight(mention: Mention, profile: Profile, at: Situation) -> float:
    """The preposition before a place, or the verb before a time, tells which end of a journey it is."""
    starts, ends = ("leaving", "arriving") if profile.kind == "time" else ("from", "to")
    role = _verb(mention, at) if profile.kind == "time" else ""
    role = role or _role(mention, at, word_set(starts), word_set(ends))
    if not role:
        return 0 if profile.slot in at.requested or (profile.kind == "time" and profile.role == "from") else -2
    return 3 if role == profile.role else _NEVER


def _verb(mention: Mention, at: Situation) -> str:
    """What is done at a time, by the last verb before it in its clause."""
    first, _ = at.user.words.clause(mention.first)
    for word in reversed(at.user.words.words[first : mention.first]):
        if word in word_set("leave_verbs"):
            return "from"
        if word in word_set("arrive_verbs"):
            return "to"
    return ""


def _role(mention: Mention, at: Situation, starts: frozenset[str], ends: frozenset[str]) -> str:
    for word in _before(mention, at):
        if word in starts:
            return "from"
        if word in ends:
            return "to"
    return ""


def _before(mention: Mention, at: Situation) -> Iterator[str]:
    """The words before a mention, the nearest first, as far as only little words stand between."""
    row, skipped = at.user.words.words, word_set("skipped")
    for near in range(mention.first - 1, max(-1, mention.first - 1 - _REACH), -1):
        yield row[near]
        if row[near] not in skipped and mention.kind != "time":
            return


def _is_known(mention: Mention, profile: Profile, at: Situation) -> bool:
    """`the church` is one that was spoken of, not a kind that is looked for."""
    before = at.user.words.words[mention.first - 1 : mention.first]
    named = any(at.slots[slot].kind == "name" and at.slots[slot].service == profile.service for slot in at.state)
    return named and before and before[0] in word_set("determiners")


def _is_also_service(mention: Mention, profile: Profile, at: Situation) -> bool:
    """`hotel` is a type of hotel, but mostly just the word for the service, unless that is settled already."""
    before = at.user.words.words[mention.first - 1 : mention.first]
    if at.focus == profile.service and before and before[0] in ("a", "an", "actual", "only"):
        return False
    return any(
        cue.first == mention.first and cue.last == mention.last and cue.name == profile.service
        for cue in at.user.services
    ) and mention.options.get(profile.slot, "") == profile.service
