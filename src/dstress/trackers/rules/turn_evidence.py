"""Where a turn stands: the service in focus, what the system has just asked for, what the user intends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dstress.dialogue import Intent, Service, service_of, slot_id
from dstress.trackers.base import Context, Exchange
from dstress.trackers.rules.evidence import Evidence, Reader
from dstress.trackers.rules.slot_profiles import Profile, ValueStyle
from dstress.trackers.rules.words import pattern, table

_LOOK_BACK = 12
_BOOKING = "book "
_FEW_WORDS = 5


class TurnEvidence(NamedTuple):
    """A turn, read: both utterances, the previous state, the service in focus, and the slots that were asked for.

    `offer` is what the system said when it last named something: mostly just before, or before the user asked back.
    """

    user: Evidence
    system: Evidence
    state: Mapping[str, str]
    slots: Mapping[str, Profile]
    focus: str
    requested: frozenset[str]
    offer: Evidence
    style: ValueStyle

    def service_at(self, at: int) -> str:
        """The service that word `at` of the user is about: the nearest one named in its sentence, else the last."""
        cues = [cue for cue in self.user.services if not cue.is_reference]
        sentences = self.user.words.sentences
        same = [cue for cue in cues if sentences[cue.first] == sentences[at]]
        before = [cue for cue in same or cues if cue.first <= at]
        return before[-1].name if before else same[0].name if same else self.focus

    @property
    def current(self) -> str:
        """The service that the utterance ends on."""
        about = self.user.about
        return about[-1] if about else self.focus

    def has_name_for(self, service: str) -> bool:
        """Whether the state has a name for a service."""
        return any(
            slot in self.slots and self.slots[slot].kind == "name" and self.slots[slot].service == service
            for slot in self.state
        )


def read_turn(reader: Reader, context: Context) -> TurnEvidence:
    """All that a turn and those before it say."""
    user, system = reader.read(context.user), reader.read(context.system)
    history = context.history
    focus, concepts = find_focus(reader, system, history), requested_concepts(system)
    requested = frozenset(
        slot for slot, profile in reader.slots.items() if profile.service == focus and profile.concept in concepts
    )
    # Where the system has named nothing, one question of the user may stand between an offer and its answer.
    offer = system
    if history and not system.says_name and reader.read(history[-1].user).questions:
        offer = reader.read(history[-1].system)
    return TurnEvidence(user, system, context.previous or {}, reader.slots, focus, requested, offer, reader.style)


def find_focus(reader: Reader, system: Evidence, history: Sequence[Exchange]) -> str:
    """The service that the talk is about before the user speaks: the user's last, unless the system asks of another."""
    sentences, concepts = system.words.sentences, requested_concepts(system)
    asked_of = [
        cue.name for cue in system.services if not cue.is_reference and sentences[cue.first] in system.questions
    ]
    by_system, focus = system.about, ""
    for system_before, user_before in reversed(history[-_LOOK_BACK:]):
        by_user = [cue.name for cue in reader.read(user_before).services if not (cue.is_reference or cue.again)]
        if by_user:
            focus = by_user[-1] if not asked_of or by_user[-1] in asked_of else asked_of[-1]
            break
        if by_system:
            break
        by_system = reader.read(system_before).about
    focus = focus or (by_system[-1] if by_system else "")
    # A question for a slot that only one service has must be about that one.
    profiles = reader.slots.values()
    owners = [{profile.service for profile in profiles if profile.concept == concept} for concept in concepts]
    sure = {next(iter(services)) for services in owners if len(services) == 1}
    return sure.pop() if len(sure) == 1 and not any(focus in services for services in owners) else focus


def requested_concepts(system: Evidence) -> list[str]:
    """What the system's questions ask for."""
    sentences = system.words.sentences
    return list(dict.fromkeys(cue.name for cue in system.request_cues if sentences[cue.first] in system.questions))


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
    filled = {slot for slot in state if service_of(slot) == service.name}
    books = any(slot.startswith(slot_id(service.name, _BOOKING)) or slots[slot].is_name for slot in filled)
    fitting = [intent for intent in service.intents if intent.transactional == books] or list(service.intents)

    def count_filled(intent: Intent) -> int:
        return sum(slot_id(service.name, slot) in filled for slot in (*intent.required, *intent.optional))

    return max(fitting, key=count_filled).name if fitting else ""


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
    replies = ("accepts", "declines", "open", "confirms", "courtesies")
    return not find_facts(user) and not any(pattern(reply).search(user.text) for reply in replies)


def find_facts(user: Evidence) -> list[str]:
    """The facts that an utterance asks for, by the names of columns: `phone`, `postcode` ..."""
    return [fact for fact in table()["facts"] if pattern(fact, "facts").search(user.text)]
