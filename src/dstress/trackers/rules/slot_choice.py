"""Which slot a value belongs to. Every slot that could hold it is weighed; the best one takes it, or none."""

from __future__ import annotations

from collections.abc import Iterator

from dstress.trackers.rules.evidence import Mention
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import keys_of, table, word_set

# What speaks for a slot. A slot of the service that the words are about has enough by itself.
_ENOUGH = 3.0
_OWN_SERVICE = 3.0
_NAMED_SERVICE = 1.0
_OTHER_SERVICE = -4.0
_REQUESTED = 4.0
_CUE = 1.0
_UNIT = 4.0
_ROLE = 3.0
_NO_ROLE = -2.0
_REJECTED = 5.0
_MERELY_SERVICE = -2.0
_NEVER = -99.0

_NEAR = 4
_REACH = 5


def choose_slots(turn: TurnEvidence) -> dict[str, str]:
    """The slots that the user's own words fill."""
    return SlotChoice(turn).filled


class SlotChoice:
    """The user's mentions, shared out from left to right."""

    def __init__(self, turn: TurnEvidence) -> None:
        self.turn = turn
        self.words = turn.user.words
        self.filled: dict[str, str] = {}
        self.about = turn.user.about
        self.service = ""
        self.rejected = rejected_slots(turn) if turn.state else frozenset[str]()
        for mention in turn.user.mentions:
            if not mention.rejected:
                self._place(mention)

    def _place(self, mention: Mention) -> None:
        before = " ".join(self.words.words[max(0, mention.first - _REACH) : mention.first])
        # Where the words before a value take back what was said before, it replaces that.
        taken = {} if self.filled and phrasing().corrects.search(before) else self.filled
        self.service = self.turn.service_at(mention.first)
        weighed = [
            (self._weight(mention, self.turn.slots[slot]), -number, slot)
            for number, slot in enumerate(mention.options)
            if slot not in taken
        ]
        weight, _, slot = max(weighed, default=(_NEVER, 0, ""))
        if weight >= _ENOUGH:
            self.filled[slot] = mention.options[slot]

    def _weight(self, mention: Mention, profile: Profile) -> float:
        """How much speaks for a slot: its service, the system's question, the words around the value."""
        weight = self._service_weight(mention, profile)
        near = range(mention.first - _NEAR, mention.last + _NEAR)
        if any(cue.name == profile.concept and cue.first in near for cue in self.turn.user.cues):
            weight += _CUE
        if profile.slot in self.turn.requested:
            weight += _REQUESTED
        if profile.slot in self.rejected:
            weight += _REJECTED
        if mention.kind == "number":
            return weight + self._number_weight(mention, profile)
        if profile.role:
            return weight + self._role_weight(mention, profile)
        if profile.concept == "type":
            return weight + self._type_weight(mention, profile)
        return weight

    def _service_weight(self, mention: Mention, profile: Profile) -> float:
        if self.service == profile.service:
            return _OWN_SERVICE
        if profile.is_name and sum(self.turn.slots[slot].is_name for slot in mention.options) == 1:
            return _OWN_SERVICE
        if profile.service in self.about or (not self.about and profile.service == self.turn.focus):
            return _NAMED_SERVICE
        return _OTHER_SERVICE

    def _number_weight(self, mention: Mention, profile: Profile) -> float:
        """The noun after a number tells what it counts: `3 nights`; without one, `for 3` counts people."""
        is_requested = profile.slot in self.turn.requested
        if profile.kind == "time":
            counts = any(self.turn.slots[slot].kind == "number" for slot in self.turn.requested)
            return 0 if is_requested and not counts and self._follows(mention, "before_hours") else _NEVER
        keys = self.words.keys
        if keys[mention.last : mention.last + 1] == ["of"] and mention.options[profile.slot] == "1":
            return _NEVER
        noun = self._noun(mention)
        if noun:
            first, _ = self.words.sentence(mention.first)
            asks_price = self.words.words[first : first + 2] == ["how", "much"]
            return _UNIT if noun in profile.units and not asks_price else _NEVER
        before = keys[max(0, mention.first - 2) : mention.first]
        if before and (before[-1] in profile.units or (before[-1] in ("of", "is") and profile.units & set(before))):
            return _ROLE
        if (is_requested and self._follows(mention, "before_counts")) or profile.slot in self.rejected:
            return 0
        return 0 if before[-1:] == ["for"] and profile.concept == "people" else _NEVER

    def _noun(self, mention: Mention) -> str:
        """The noun that a number counts; `of` where it counts nothing we know: `1 of them`."""
        keys, units = self.words.keys, word_set("all_units")
        for near in range(mention.last, min(mention.last + 3, len(keys))):
            if keys[near] in units:
                return keys[near]
            if keys[near] not in word_set("before_units"):
                return "of" if keys[mention.last] == "of" else ""
        return ""

    def _follows(self, mention: Mention, words: str) -> bool:
        """Whether a number can be an answer: it starts a clause, or follows a little word; the 1 of `that 1` cannot."""
        first, _ = self.words.clause(mention.first)
        return mention.first == first or self.words.words[mention.first - 1] in word_set(words)

    def _role_weight(self, mention: Mention, profile: Profile) -> float:
        """The preposition before a place, or the verb before a time, tells which end of a journey it is."""
        if profile.kind == "time":
            role = self._verb(mention) or self._preposition(mention, "leaving", "arriving")
        elif profile.kind == "date":
            role = self._preposition(mention, "starting", "ending")
        else:
            role = self._preposition(mention, "from", "to")
        if role:
            return _ROLE if role == profile.role else _NEVER
        # A time or a date that says nothing is when a journey starts.
        is_likely = profile.slot in self.turn.requested or profile.slot in self.rejected
        return 0 if is_likely or (profile.kind in ("time", "date") and profile.role == "from") else _NO_ROLE

    def _verb(self, mention: Mention) -> str:
        """What is done at a time, by the last verb before it in its clause."""
        first, _ = self.words.clause(mention.first)
        for word in reversed(self.words.words[first : mention.first]):
            if word in word_set("leave_verbs"):
                return "from"
            if word in word_set("arrive_verbs"):
                return "to"
        return ""

    def _preposition(self, mention: Mention, starts: str, ends: str) -> str:
        for word in self._before(mention):
            if word in word_set(starts):
                return "from"
            if word in word_set(ends):
                return "to"
        return ""

    def _before(self, mention: Mention) -> Iterator[str]:
        """The words before a mention, the nearest first, as far as only little words stand between."""
        row = self.words.words
        first, _ = self.words.clause(mention.first)
        for near in range(mention.first - 1, max(first - 1, mention.first - 1 - _REACH), -1):
            yield row[near]
            if row[near] not in word_set("skipped") and mention.kind not in ("time", "date"):
                return

    def _type_weight(self, mention: Mention, profile: Profile) -> float:
        """`the church` is one that was spoken of; `hotel` is a kind of hotel, but mostly the word for the service."""
        before = self.words.words[mention.first - 1] if mention.first else ""
        if before in word_set("determiners") and self.turn.has_name_for(profile.service):
            return _NEVER
        if self.turn.focus == profile.service and before in word_set("articles"):
            return 0
        is_service = mention.options[profile.slot] == profile.service
        return _MERELY_SERVICE if is_service else 0


def rejected_slots(turn: TurnEvidence) -> frozenset[str]:
    """The slots whose values the user takes back: `not the bus station`, `rather than 5:30 pm`."""
    rejected = {
        slot
        for mention in turn.user.mentions
        if mention.rejected
        for slot, value in mention.options.items()
        if turn.state.get(slot) == value
    }
    text = f" {' '.join(turn.user.words.keys)} "
    rejecting = [f" {phrase} " for phrase in table()["rejecting"]["names"] if f" {phrase} " in text]
    if rejecting:
        for slot, value in turn.state.items():
            keys = " ".join(keys_of(value))
            if any(f"{phrase}{keys} " in text or f"{phrase}the {keys} " in text for phrase in rejecting):
                rejected.add(slot)
    return frozenset(rejected)
