"""What the user takes over from the system: a name it offered, something else it proposed. And what is let go."""

from __future__ import annotations

from dstress.dialogue import DONTCARE, service_of
from dstress.trackers.rules.evidence import Mention
from dstress.trackers.rules.focus import Situation
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_choice import chosen, replaced
from dstress.trackers.rules.words import table


def accepted(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """The one name that the system offered, if the user goes on with it."""
    slot, name = _offer(at)
    if not slot or slot in filled or phrasing().refuses.search(at.user.row):
        return {}
    service = at.slots[slot].service
    # Who agrees first may go on to something else at once.
    if service != at.current and not (service == at.focus and phrasing().accepts.match(at.user.row)):
        return {}
    return {slot: name} if _goes_on(at, at.slots[slot].is_required) else {}


def _goes_on(at: Situation, is_required: bool) -> bool:
    """Where a name is what a search is for, to ask about it is to take it up; for a booking, the user has to agree."""
    row, phrases = at.user.row, phrasing()
    asks = bool(phrases.asks.search(row))
    if asks and not is_required:
        return True
    if phrases.declines.search(row):
        return False
    return bool(phrases.accepts.search(row)) or (not asks and bool(phrases.books.search(row)))


def _offer(at: Situation) -> tuple[str, str]:
    """The slot and the name, if the system said one name only: from a list, else by its capitals."""
    if not at.offer.says_name:
        return "", ""
    slots = [slot for slot, profile in at.slots.items() if profile.is_name and profile.service == at.focus]
    # Where the user has to agree, a question may come before the answer.
    offer = at.offer if slots and at.slots[slots[0]].is_required else at.system
    listed = {option for mention in offer.mentions if mention.kind == "name" for option in _names(mention, at)}
    if listed:
        return listed.pop() if len(listed) == 1 else ("", "")
    names = {cue.name for cue in offer.names}
    return (slots[0], names.pop()) if len(names) == 1 and slots else ("", "")


def _names(mention: Mention, at: Situation) -> list[tuple[str, str]]:
    """What a mention names, if a list has it: then only one service does."""
    options = [(slot, value) for slot, value in mention.options.items() if at.slots[slot].is_name]
    return options if len(options) == 1 else []


def proposed(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """What the system proposes in place of what it does not have: `Would 19:00 do instead?`, and the user agrees."""
    row, phrases = at.user.row.replace("no problem", ""), phrasing()
    if filled or not at.system.asking or not phrases.unavailable.search(at.system.row):
        return {}
    if not phrases.accepts.search(row) or phrases.declines.search(row):
        return {}
    said = [
        (slot, value)
        for mention in at.system.mentions
        if mention.kind in ("time", "listed", "date")
        for slot, value in mention.options.items()
        if at.slots[slot].service == at.focus
    ]
    missing = {slot for slot, value in said if at.state.get(slot) == value and value != DONTCARE}
    return {slot: value for slot, value in said if slot in missing and at.state[slot] != value}


def confirmed(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """What the system repeats for confirmation beyond what it was told, and the user confirms."""
    row, phrases = at.user.row, phrasing()
    if not phrases.confirms.search(at.system.row) or not phrases.accepts.search(row) or phrases.declines.search(row):
        return {}
    told = chosen(at._replace(user=at.system, requested=frozenset(), state={}))
    return {slot: value for slot, value in told.items() if slot not in at.state and slot not in filled}


def dropped(at: Situation, filled: dict[str, str]) -> set[str]:
    """What the user lets go: a whole service, a name (`not Moonfish then`), or the other end of a journey."""
    if not at.state:
        return set()
    names = {slot for slot in replaced(at) if slot not in filled and at.slots[slot].is_name}
    if not phrasing().discards.search(at.user.row):
        return names
    services = _called_off(at)
    return names | _other_ends(at, filled) | {slot for slot in at.state if service_of(slot) in services}


def _called_off(at: Situation) -> set[str]:
    """The services that are off: `forget the taxi, we'll walk`."""
    words = at.user.words.words
    phrases = table()["rejecting"]["services"]
    return {
        cue.name
        for cue in at.user.services
        if words[cue.first - 1 : cue.first] == ["the"]
        and any(" ".join(words[: cue.first - 1]).endswith(phrase) for phrase in phrases)
    }


def _other_ends(at: Situation, filled: dict[str, str]) -> set[str]:
    """`Never mind leaving at 10, I have to be there by 8` leaves only the time of arrival."""
    given = {at.slots[slot].service: at.slots[slot].role for slot in filled if at.slots[slot].kind == "time"}
    return {
        slot
        for slot in at.state
        if (profile := at.slots.get(slot))
        and profile.kind == "time"
        and profile.role
        and given.get(profile.service, "") not in ("", profile.role)
    }
