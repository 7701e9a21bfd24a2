"""What the user says without naming a value: yes, no, "I don't mind", "book it"."""

from __future__ import annotations

from dstress.dialogue import DONTCARE
from dstress.trackers.ruled.phrasing import phrasing
from dstress.trackers.ruled.reading import Cue
from dstress.trackers.ruled.situation import Situation, offered
from dstress.trackers.ruled.words import word_set

_REACH = 5


def flags(at: Situation) -> dict[str, str]:
    """Yes and no, by the words for a slot, or as the answer to a question about it."""
    found: dict[str, str] = {}
    row, current = at.user.words.words, at.current
    negations = word_set("negations")
    for said, wanted in ((at.user.cues, True), (at.user.denied, False)):
        for cue in said:
            service = at.service_at(cue.first)
            for slot, profile in at.slots.items():
                if profile.kind == "flag" and profile.concept == cue.name and profile.service == service:
                    first = max(at.user.words.clause(cue.first)[0], cue.first - _REACH)
                    if _is_asked_of_one(cue, at, service):
                        continue
                    denied = not negations.isdisjoint(row[first : cue.first])
                    found[slot] = profile.flag(wanted != denied)
    asked = [slot for slot in at.requested if at.slots[slot].kind == "flag" and slot not in found]
    if asked and row:
        start = " ".join(row[:4])
        no = phrasing().declines.match(start)
        yes = not no and phrasing().accepts.search(start)
        if yes or no:
            found.update({slot: at.slots[slot].flag(bool(yes)) for slot in sorted(asked)})
    return found


def _is_asked_of_one(cue: Cue, at: Situation, service: str) -> bool:
    """Whether the user asks if the place at hand has something: a question about it, not a wish."""
    words = at.user.words
    if words.sentences[cue.first] not in phrasing().questions(words):
        return False
    first, _ = words.sentence(cue.first)
    if words.words[first] not in word_set("asking"):
        return False
    held = any(at.slots[slot].kind == "name" and at.slots[slot].service == service for slot in at.state)
    return held or len(offered(at.system, at.slots)) == 1


def left_open(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """Slots the user does not care about: named beside the expression, else those that the system asked for."""
    row = " ".join(at.user.words.words)
    match = phrasing().open.search(row)
    if not match:
        answer = phrasing().open_alone.match(row)
        plain = [slot for slot in at.requested if at.slots[slot].kind in ("listed", "number", "name", "time", "date")]
        if not answer or filled or not plain or len(at.user.words) > 7:
            return {}
        return dict.fromkeys(sorted(plain), DONTCARE) if answer[0] in ("any", "either") else {}
    place = row[: match.start()].count(" ")
    first, last = at.user.words.clause(min(place, len(at.user.words) - 1))
    last = max(last, place + match[0].count(" ") + 1)
    service = at.service_at(place)
    named = {cue.name for cue in at.user.cues if first <= cue.first < last}
    slots = [s for s, p in at.slots.items() if p.service == service and p.concept in named]
    slots = [s for s in slots if at.slots[s].kind != "name" and (s not in filled or at.slots[s].kind == "flag")]
    slots = _settled_times(slots, at, filled)
    slots = slots or _settled_times(sorted(s for s in at.requested if s not in filled and at.slots[s].kind != "name"), at, filled)
    return dict.fromkeys(slots, DONTCARE)


def _settled_times(slots: list[str], at: Situation, filled: dict[str, str]) -> list[str]:
    """Without the times of a journey, if one is given; and only when it starts, if both are open."""
    known = {at.slots[s].service for s in (*at.state, *filled) if at.slots[s].kind == "time" and at.slots[s].role}
    kept = [s for s in slots if not (at.slots[s].role and at.slots[s].kind == "time" and at.slots[s].service in known)]
    starts = [s for s in kept if at.slots[s].kind == "time" and at.slots[s].role == "from"]
    return [s for s in kept if not (starts and at.slots[s].kind == "time" and at.slots[s].role == "to")]


def accepted(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """The one name that the system offered, if the user goes on with it."""
    offer = _offer(at)
    if not offer or offer[0] in filled or at.slots[offer[0]].service != at.current:
        return {}
    row = " ".join(at.user.words.words)
    phrases = phrasing()
    if phrases.refuses.search(row):
        return {}
    # Where a name is what a search is for, to ask about it is to take it up; where it is booked, the user has to agree.
    if phrases.asks.search(row) and not at.slots[offer[0]].is_required:
        return dict([offer])
    if phrases.declines.search(row):
        return {}
    if phrases.accepts.search(row) or phrases.books.search(row):
        return dict([offer])
    return {}


def _offer(at: Situation) -> tuple[str, str] | None:
    """The slot and the name, if the system said one name only: from a list, else by its capitals."""
    listed = {
        (slot, value)
        for name in offered(at.system, at.slots)
        for slot, value in name.options.items()
        if at.slots[slot].kind == "name" and not at.slots[slot].role
    }
    if listed:
        return listed.pop() if len(listed) == 1 else None
    slots = [s for s, p in at.slots.items() if p.kind == "name" and not p.role and p.service == at.focus]
    names = {cue.name for cue in at.system.names}
    return (slots[0], names.pop()) if len(names) == 1 and slots else None


def proposed(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """What the system proposes in place of what it does not have: `Would 19:00 do instead?`, and the user agrees."""
    system = at.system.words
    asking = phrasing().questions(system)
    row = " ".join(at.user.words.words).replace("no problem", "")
    if filled or not asking or not phrasing().accepts.search(row) or phrasing().declines.search(row):
        return {}
    if not phrasing().unavailable.search(" ".join(system.words)):
        return {}
    said = [
        (slot, value)
        for mention in at.system.mentions
        for slot, value in mention.options.items()
        if at.slots[slot].service == at.focus and at.slots[slot].kind in ("time", "listed", "date")
    ]
    missing = {slot for slot, value in said if at.state.get(slot) == value}
    return {slot: value for slot, value in said if slot in missing and at.state[slot] != value}


def dropped(at: Situation, filled: dict[str, str]) -> set[str]:
    """The other end of a journey, when the user lets it go: `never mind leaving at 10, I have to be there by 8`."""
    if not phrasing().discards.search(" ".join(at.user.words.words)):
        return set()
    given = {at.slots[slot].service: at.slots[slot].role for slot in filled if at.slots[slot].kind == "time"}
    return {
        slot
        for slot in at.state
        if slot in at.slots
        and at.slots[slot].kind == "time"
        and at.slots[slot].role
        and given.get(at.slots[slot].service, at.slots[slot].role) not in ("", at.slots[slot].role)
    }


def named_alone(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """A name that is all the answer to a question for it: `Upper Wray.`"""
    wanted = [slot for slot in at.slots if slot in at.requested and at.slots[slot].kind in ("name", "open") and slot not in filled]
    words = at.user.words
    if len(wanted) != 1 or not len(words):
        return {}
    first, last = words.clause(0)
    while first < last and words.words[first] in word_set("fillers"):
        first += 1
    while last > first and words.words[last - 1] in word_set("fillers"):
        last -= 1
    row = words.words[first:last]
    if phrasing().accepts.search(" ".join(row)) or phrasing().declines.search(" ".join(row)) or phrasing().open.search(" ".join(row)):
        return {}
    if not 0 < last - first <= 4 or any(first <= mention.first < last for mention in at.user.mentions):
        return {}
    if not word_set("no_names").isdisjoint(words.words[first:last]) or not word_set("boundaries").isdisjoint(words.words[first:last]):
        return {}
    return {wanted[0]: words.said(first, last)}
