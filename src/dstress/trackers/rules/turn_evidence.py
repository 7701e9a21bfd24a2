"""Where a turn stands: which service is in focus, and what the system has just asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dstress.trackers.rules.evidence import Evidence
from dstress.trackers.rules.slot_profiles import Profile, ValueStyle

_LOOK_BACK = 12


class TurnEvidence(NamedTuple):
    """A turn, read: both utterances, the state so far, the service in focus, and the slots that were asked for.

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
        if not cues:
            return self.focus
        sentences = self.user.words.sentences
        here = [cue for cue in cues if sentences[cue.first] == sentences[at]]
        if here:
            before = [cue for cue in here if cue.first <= at]
            return (before[-1] if before else here[0]).name
        earlier = [cue for cue in cues if cue.first < at]
        return earlier[-1].name if earlier else self.focus

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


def find_focus(system: Evidence, history: Sequence[tuple[str, str]], read: Callable[[str], Evidence]) -> str:
    """The service that the talk is about before the user speaks: the user's last, unless the system asks of another."""
    sentences = system.words.sentences
    requested = [
        cue.name for cue in system.services if not cue.is_reference and sentences[cue.first] in system.questions
    ]
    by_system = system.about
    for system_before, user_before in reversed(history[-_LOOK_BACK:]):
        by_user = [cue.name for cue in read(user_before).services if not (cue.is_reference or cue.again)]
        if by_user:
            return by_user[-1] if not requested or by_user[-1] in requested else requested[-1]
        if by_system:
            return by_system[-1]
        by_system = read(system_before).about
    return by_system[-1] if by_system else ""


def find_offer(system: Evidence, history: Sequence[tuple[str, str]], read: Callable[[str], Evidence]) -> Evidence:
    """What the system said when it last named something; one question of the user may stand between."""
    if history and not system.says_name:
        system_before, user_before = history[-1]
        if read(user_before).questions:
            return read(system_before)
    return system


def find_requested_service(system: Evidence, slots: Mapping[str, Profile], focus: str) -> str:
    """The service that a question must be about, if it is not the one in focus: only one has such a slot."""
    owners = [
        {profile.service for profile in slots.values() if profile.concept == concept}
        for concept in _requested_concepts(system)
    ]
    sure = {next(iter(services)) for services in owners if len(services) == 1}
    return sure.pop() if len(sure) == 1 and not any(focus in services for services in owners) else focus


def find_requested_slots(system: Evidence, slots: Mapping[str, Profile], focus: str) -> frozenset[str]:
    """The slots that the system's questions ask for, of the service in focus."""
    concepts = _requested_concepts(system)
    if not concepts:
        return frozenset()
    return frozenset(
        slot for slot, profile in slots.items() if profile.service == focus and profile.concept in concepts
    )


def _requested_concepts(system: Evidence) -> list[str]:
    sentences = system.words.sentences
    return list(dict.fromkeys(cue.name for cue in system.request_cues if sentences[cue.first] in system.questions))
