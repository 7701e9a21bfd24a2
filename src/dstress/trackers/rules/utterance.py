"""What a turn is about beside the state: what the user intends and asks to be told, and whether it is out of domain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from dstress.dialogue import Intent, Service, service_of, slot_id
from dstress.trackers.rules.evidence import Evidence
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import table

_BOOKING = "book "
_FEW_WORDS = 5


def find_service(turn: TurnEvidence, state: Mapping[str, str]) -> str:
    """The service that a turn is about: the one that its words end on, unless only another one's state changed.

    Where nobody has named one, it is the one that was filled last.
    """
    changed = {service_of(slot) for slot, value in state.items() if turn.state.get(slot) != value}
    if len(changed) == 1 and turn.current not in changed:
        return changed.pop()
    return turn.current or next(map(service_of, reversed([*state])), "")


def find_intent(service: Service, state: Mapping[str, str], slots: Mapping[str, Profile]) -> str:
    """What the user wants of a service: to find something, until the state names it or has a slot of its booking.

    Among several such intents it is the one with most of its slots filled, the first of equals.
    """
    known = {slot for slot in state if service_of(slot) == service.name}
    books = any(slot.startswith(slot_id(service.name, _BOOKING)) or slots[slot].is_name for slot in known)
    fitting = [intent for intent in service.intents if intent.transactional == books] or list(service.intents)

    def filled(intent: Intent) -> int:
        return sum(slot_id(service.name, slot) in known for slot in (*intent.required, *intent.optional))

    return max(fitting, key=filled).name if fitting else ""


def is_out_of_domain(turn: TurnEvidence, state: Mapping[str, str]) -> bool:
    """Whether nothing in the user's words is any of the schema's business.

    They change no slot, name no service, ask for no fact of one and say no date or time; a value of a list counts among
    few words only. And they are no yes, no, "any", correction, thanks or bye.
    """
    user = turn.user
    if state != turn.state or user.services or not user.words.words:
        return False
    kinds = {mention.kind for mention in user.mentions}
    if kinds & {"time", "date"} or (kinds and len(user.words.words) <= _FEW_WORDS):
        return False
    known = phrasing()
    replies = (known.accepts, known.declines, known.open, known.confirms, known.courtesies)
    return not find_facts(user) and not any(reply.search(user.text) for reply in replies)


def find_facts(user: Evidence) -> list[str]:
    """The facts that an utterance asks for, by the names of columns: `phone`, `postcode` ..."""
    return [fact for fact, pattern in _facts().items() if pattern.search(user.text)]


@cache
def _facts() -> dict[str, re.Pattern[str]]:
    return {fact: re.compile(rf"(?<!\S)(?:{'|'.join(texts)})(?!\S)") for fact, texts in table()["facts"].items()}
