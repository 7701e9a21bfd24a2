"""What the user takes over from the system: a name it offered, something else it proposed. And what is let go."""

from __future__ import annotations

from dstress.dialogue import DONTCARE
from dstress.trackers.ruled.phrasing import phrasing
from dstress.trackers.ruled.situation import Situation


def accepted(at: Situation, filled: dict[str, str]) -> dict[str, str]:
    """The one name that the system offered, if the user goes on with it."""
    slot, name = _offer(at)
    if not slot or slot in filled or at.slots[slot].service != at.current or phrasing().refuses.search(at.user.row):
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
    listed = {
        (slot, value)
        for mention in at.system.mentions
        for slot, value in mention.options.items()
        if at.slots[slot].is_name and mention.kind == "name"
    }
    if listed:
        return listed.pop() if len(listed) == 1 else ("", "")
    names = {cue.name for cue in at.system.names}
    slots = [slot for slot, profile in at.slots.items() if profile.is_name and profile.service == at.focus]
    return (slots[0], names.pop()) if len(names) == 1 and slots else ("", "")


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
        for slot, value in mention.options.items()
        if at.slots[slot].service == at.focus and at.slots[slot].kind in ("time", "listed", "date")
    ]
    missing = {slot for slot, value in said if at.state.get(slot) == value and value != DONTCARE}
    return {slot: value for slot, value in said if slot in missing and at.state[slot] != value}


def dropped(at: Situation, filled: dict[str, str]) -> list[str]:
    """The other end of a journey, when the user lets it go: `never mind leaving at 10, I have to be there by 8`."""
    if not phrasing().discards.search(at.user.row):
        return []
    given = {at.slots[slot].service: at.slots[slot].role for slot in filled if at.slots[slot].kind == "time"}
    return [
        slot
        for slot in at.state
        if (profile := at.slots.get(slot))
        and profile.kind == "time"
        and profile.role
        and given.get(profile.service, "") not in ("", profile.role)
    ]
