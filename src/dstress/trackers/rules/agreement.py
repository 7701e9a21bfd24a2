"""What the user takes over from the system: a name it offered, something else it proposed. And what is let go."""

from __future__ import annotations

from dstress.dialogue import DONTCARE, service_of
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_choice import choose_slots, rejected_slots
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import table


def accept_offer(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """The one name that the system offered, if the user goes on with it."""
    slot, name = _offered_name(turn)
    if not slot or slot in filled or phrasing().refuses.search(turn.user.text):
        return {}
    service = turn.slots[slot].service
    # Who agrees first may go on to something else at once.
    if service != turn.current and not (service == turn.focus and phrasing().accepts.match(turn.user.text)):
        return {}
    return {slot: name} if _goes_on(turn, turn.slots[slot].is_required) else {}


def _goes_on(turn: TurnEvidence, is_required: bool) -> bool:
    """Where a name is what a search is for, to ask about it is to take it up; for a booking, the user has to agree."""
    text, phrases = turn.user.text, phrasing()
    asks = bool(phrases.asks.search(text))
    if asks and not is_required:
        return True
    if phrases.declines.search(text):
        return False
    return bool(phrases.accepts.search(text)) or (not asks and bool(phrases.books.search(text)))


def _offered_name(turn: TurnEvidence) -> tuple[str, str]:
    """The slot and the name, if the system said one name only: from a list, else by its capitals."""
    if not turn.offer.says_name:
        return "", ""
    slots = [slot for slot, profile in turn.slots.items() if profile.is_name and profile.service == turn.focus]
    # Where the user has to agree, a question may come before the answer.
    offer = turn.offer if slots and turn.slots[slots[0]].is_required else turn.system
    listed = set()
    for mention in offer.mentions:
        options = [(slot, value) for slot, value in mention.options.items() if turn.slots[slot].is_name]
        if mention.kind == "name" and len(options) == 1:  # if a list has the name, only one service does
            listed.add(options[0])
    if listed:
        return listed.pop() if len(listed) == 1 else ("", "")
    names = {cue.name for cue in offer.names}
    return (slots[0], names.pop()) if len(names) == 1 and slots else ("", "")


def accept_proposal(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """What the system proposes in place of what it does not have: `Would 19:00 do instead?`, and the user agrees."""
    text, phrases = turn.user.text.replace("no problem", ""), phrasing()
    if filled or not turn.system.questions or not phrases.unavailable.search(turn.system.text):
        return {}
    if not phrases.accepts.search(text) or phrases.declines.search(text):
        return {}
    values = [
        (slot, value)
        for mention in turn.system.mentions
        if mention.kind in ("time", "listed", "date")
        for slot, value in mention.options.items()
        if turn.slots[slot].service == turn.focus
    ]
    missing = {slot for slot, value in values if turn.state.get(slot) == value and value != DONTCARE}
    return {slot: value for slot, value in values if slot in missing and turn.state[slot] != value}


def confirm_values(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """What the system repeats for confirmation beyond what it was told, and the user confirms."""
    text, phrases = turn.user.text, phrasing()
    if not phrases.confirms.search(turn.system.text):
        return {}
    if not phrases.accepts.search(text) or phrases.declines.search(text):
        return {}
    repeated = choose_slots(turn._replace(user=turn.system, requested=frozenset(), state={}))
    return {slot: value for slot, value in repeated.items() if slot not in turn.state and slot not in filled}


def drop_slots(turn: TurnEvidence, filled: dict[str, str]) -> set[str]:
    """What the user lets go: a whole service, a name (`not Moonfish then`), or the other end of a journey."""
    if not turn.state:
        return set()
    names = {slot for slot in rejected_slots(turn) if slot not in filled and turn.slots[slot].is_name}
    if not phrasing().discards.search(turn.user.text):
        return names
    services = _called_off(turn)
    return names | _other_ends(turn, filled) | {slot for slot in turn.state if service_of(slot) in services}


def _called_off(turn: TurnEvidence) -> set[str]:
    """The services that are off: `forget the taxi, we'll walk`."""
    words = turn.user.words.words
    phrases = table()["rejecting"]["services"]
    return {
        cue.name
        for cue in turn.user.services
        if words[cue.first - 1 : cue.first] == ["the"]
        and any(" ".join(words[: cue.first - 1]).endswith(phrase) for phrase in phrases)
    }


def _other_ends(turn: TurnEvidence, filled: dict[str, str]) -> set[str]:
    """`Never mind leaving at 10, I have to be there by 8` leaves only the time of arrival."""
    roles = {turn.slots[slot].service: turn.slots[slot].role for slot in filled if turn.slots[slot].kind == "time"}
    return {
        slot
        for slot in turn.state
        if (profile := turn.slots.get(slot))
        and profile.kind == "time"
        and profile.role
        and roles.get(profile.service, "") not in ("", profile.role)
    }
