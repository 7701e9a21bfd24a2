"""Where a turn stands: which service is in focus, and what the system has just asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dstress.trackers.rules.evidence import Reading
from dstress.trackers.rules.slot_profiles import Profile, Style

_LOOK_BACK = 12


class Situation(NamedTuple):
    """A turn, read: both utterances, the state so far, the service in focus, and the slots that were asked for.

    `offer` is what the system said when it last named something: mostly just before, or before the user asked back.
    """

    user: Reading
    system: Reading
    state: Mapping[str, str]
    slots: Mapping[str, Profile]
    focus: str
    requested: frozenset[str]
    offer: Reading
    style: Style

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

    def held_name(self, service: str) -> bool:
        """Whether the state has a name for a service."""
        return any(
            slot in self.slots and self.slots[slot].kind == "name" and self.slots[slot].service == service
            for slot in self.state
        )


def focus_of(system: Reading, history: Sequence[tuple[str, str]], read: Callable[[str], Reading]) -> str:
    """The service that the talk is about before the user speaks: the user's last, unless the system asks of another."""
    sentences = system.words.sentences
    asked = [cue.name for cue in system.services if not cue.is_reference and sentences[cue.first] in system.asking]
    spoken = system.about
    for heard, said in reversed(history[-_LOOK_BACK:]):
        theirs = [cue.name for cue in read(said).services if not (cue.is_reference or cue.again)]
        if theirs:
            return theirs[-1] if not asked or theirs[-1] in asked else asked[-1]
        if spoken:
            return spoken[-1]
        spoken = read(heard).about
    return spoken[-1] if spoken else ""


def offer_of(system: Reading, history: Sequence[tuple[str, str]], read: Callable[[str], Reading]) -> Reading:
    """What the system said when it last named something; one question of the user may stand between."""
    if history and not system.says_name:
        heard, said = history[-1]
        if read(said).asking:
            return read(heard)
    return system


def asked_service(system: Reading, slots: Mapping[str, Profile], focus: str) -> str:
    """The service that a question must be about, if it is not the one in focus: only one has such a slot."""
    owners = [
        {profile.service for profile in slots.values() if profile.concept == concept} for concept in _asked(system)
    ]
    sure = {next(iter(services)) for services in owners if len(services) == 1}
    return sure.pop() if len(sure) == 1 and not any(focus in services for services in owners) else focus


def requests(system: Reading, slots: Mapping[str, Profile], focus: str) -> frozenset[str]:
    """The slots that the system's questions ask for, of the service in focus."""
    asked = _asked(system)
    if not asked:
        return frozenset()
    return frozenset(slot for slot, profile in slots.items() if profile.service == focus and profile.concept in asked)


def _asked(system: Reading) -> list[str]:
    sentences = system.words.sentences
    return list(dict.fromkeys(cue.name for cue in system.asked if sentences[cue.first] in system.asking))
