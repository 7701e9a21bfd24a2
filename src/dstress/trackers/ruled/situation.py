"""Where a turn stands: which service is in focus, and what the system has just asked for and offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dstress.trackers.ruled.phrasing import phrasing
from dstress.trackers.ruled.profiles import Profile
from dstress.trackers.ruled.reading import Cue, Mention, Reading, placed

_LOOK_BACK = 12


class Situation(NamedTuple):
    """A turn, read: both utterances, the state so far, the service in focus, and the slots that were asked for."""

    user: Reading
    system: Reading
    state: Mapping[str, str]
    slots: Mapping[str, Profile]
    focus: str
    requested: frozenset[str]

    def service_at(self, at: int) -> str:
        """The service that word `at` of the user is about: the nearest one named in its sentence, else the last."""
        cues = [cue for cue in self.user.services if not cue.is_reference]
        if not cues:
            return self.focus
        first, last = self.user.words.sentence(at)
        here = [cue for cue in cues if first <= cue.first < last]
        if here:
            before = [cue for cue in here if cue.first <= at]
            return (before[-1] if before else here[0]).name
        earlier = [cue for cue in cues if cue.first < at]
        return earlier[-1].name if earlier else self.focus

    @property
    def named(self) -> list[str]:
        """The services that the user names, in order."""
        return list(dict.fromkeys(cue.name for cue in self.user.services if not cue.is_reference))

    @property
    def current(self) -> str:
        """The service that the utterance ends on."""
        named = self.named
        return named[-1] if named else self.focus


def service_cues(reading: Reading, slots: Mapping[str, Profile], allowed: frozenset[str]) -> list[Cue]:
    """Words for services, and values that only one service has."""
    cues = [cue for cue in reading.services if cue.name in allowed]
    for mention in reading.mentions:
        if mention.kind in ("listed", "name"):
            services = {slots[slot].service for slot in mention.options if not slots[slot].role} & allowed
            if len(services) == 1 and not any(cue.first < mention.last and mention.first < cue.last for cue in cues):
                cue = Cue(mention.first, mention.last, services.pop(), mention.kind == "name")
                cues.append(cue if cue.is_reference else placed(reading.words, cue))
    return sorted(cues)


def focus_of(system: Reading, history: Sequence[tuple[str, str]], read: Callable[[str], Reading]) -> str:
    """The service that the talk is about before the user speaks: the user's last, unless the system names one other."""
    asking = phrasing().questions(system.words)
    mine = [cue.name for cue in system.services if not cue.is_reference and system.words.sentences[cue.first] in asking]
    spoken = _named(system)
    for heard, said in reversed(history[-_LOOK_BACK:]):
        theirs = [cue.name for cue in read(said).services if not (cue.is_reference or cue.again)]
        if theirs:
            return theirs[-1] if not mine or theirs[-1] in mine else mine[-1]
        if spoken:
            return spoken[-1]
        spoken = _named(read(heard))
    return spoken[-1] if spoken else ""


def _named(system: Reading) -> list[str]:
    return [cue.name for cue in system.services if not cue.is_reference] or [cue.name for cue in system.services]


def requests(system: Reading, slots: Mapping[str, Profile], focus: str) -> frozenset[str]:
    """The slots that the system's questions ask for, of the service in focus."""
    sentences = phrasing().questions(system.words)
    if not sentences:
        return frozenset()
    numbers = system.words.sentences
    asked = {cue.name for cue in system.asked if numbers[cue.first] in sentences}
    if not asked:
        return frozenset()
    return frozenset(slot for slot, profile in slots.items() if profile.service == focus and profile.concept in asked)


def asked_service(system: Reading, slots: Mapping[str, Profile], focus: str) -> str:
    """The service that a question must be about, if it is not the one in focus: only one has such a slot."""
    numbers, asking = system.words.sentences, phrasing().questions(system.words)
    services = [
        {profile.service for profile in slots.values() if profile.concept == cue.name}
        for cue in system.asked
        if numbers[cue.first] in asking
    ]
    sure = {next(iter(owners)) for owners in services if len(owners) == 1}
    return sure.pop() if len(sure) == 1 and not any(focus in owners for owners in services) else focus


def offered(system: Reading, slots: Mapping[str, Profile]) -> list[Mention]:
    """The names that the system has just said."""
    return [
        mention
        for mention in system.mentions
        if any(slots[slot].kind == "name" and not slots[slot].role for slot in mention.options)
    ]
