"""Which slot a value belongs to. Every slot that could hold it is weighed; the best one takes it, or none."""

from __future__ import annotations

from dstress.trackers.rules.evidence import Mention
from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import keys_of, pattern, table, word_set

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
    """The slots that the user's own words fill: the user's mentions, shared out from left to right."""
    filled: dict[str, str] = {}
    words = turn.user.words
    rejected = rejected_slots(turn)
    for mention in turn.user.mentions:
        if mention.rejected:
            continue
        before = " ".join(words.words[max(0, mention.first - _REACH) : mention.first])
        # Where the words before a value take back what was said before, it replaces that.
        taken = {} if filled and pattern("corrects").search(before) else filled
        weighing = _Weighing(turn, mention, rejected)
        weighed = [
            (weighing.weigh(turn.slots[slot]), -number, slot)
            for number, slot in enumerate(mention.options)
            if slot not in taken
        ]
        weight, _, slot = max(weighed, default=(_NEVER, 0, ""))
        if weight >= _ENOUGH:
            filled[slot] = mention.options[slot]
    return filled


class _Weighing:
    """One mention of the user, and how much speaks for each slot that could hold it."""

    def __init__(self, turn: TurnEvidence, mention: Mention, rejected: frozenset[str]) -> None:
        self.turn, self.mention, self.rejected = turn, mention, rejected
        self.words, self.about = turn.user.words, turn.user.about
        self.service = turn.service_at(mention.first)
        self.clause_start, _ = self.words.clause(mention.first)

    def weigh(self, profile: Profile) -> float:
        """The sum for a slot: its service, the system's question, the words around the value."""
        mention, turn = self.mention, self.turn
        is_only_name = profile.is_name and sum(turn.slots[slot].is_name for slot in mention.options) == 1
        if self.service == profile.service or is_only_name:
            weight = _OWN_SERVICE
        elif profile.service in self.about or (not self.about and profile.service == turn.focus):
            weight = _NAMED_SERVICE
        else:
            weight = _OTHER_SERVICE
        near = range(mention.first - _NEAR, mention.last + _NEAR)
        if any(cue.name == profile.concept and cue.first in near for cue in turn.user.cues):
            weight += _CUE
        if profile.slot in turn.requested:
            weight += _REQUESTED
        if profile.slot in self.rejected:
            weight += _REJECTED
        if mention.kind == "number":
            return weight + self._weigh_number(profile)
        if profile.role:
            return weight + self._weigh_role(profile)
        if profile.concept == "type":
            # `the church` is one that was spoken of; `hotel` is a kind of hotel, but mostly the word for the service.
            before = self.words.words[mention.first - 1] if mention.first else ""
            if before in word_set("determiners") and turn.has_name_for(profile.service):
                return weight + _NEVER
            is_article = turn.focus == profile.service and before in word_set("articles")
            if mention.options[profile.slot] == profile.service and not is_article:
                return weight + _MERELY_SERVICE
        return weight

    def _weigh_number(self, profile: Profile) -> float:
        """The noun after a number tells what it counts: `3 nights`; without one, `for 3` counts people."""
        mention, keys, row = self.mention, self.words.keys, self.words.words
        is_requested = profile.slot in self.turn.requested
        if profile.kind == "time":
            counts = any(self.turn.slots[slot].kind == "number" for slot in self.turn.requested)
            return 0 if is_requested and not counts and self._can_answer("before_hours") else _NEVER
        if keys[mention.last : mention.last + 1] == ["of"] and mention.options[profile.slot] == "1":
            return _NEVER
        if noun := self._noun():
            first, _ = self.words.sentence(mention.first)
            asks_price = row[first : first + 2] == ["how", "much"]
            return _UNIT if noun in profile.units and not asks_price else _NEVER
        before = keys[max(0, mention.first - 2) : mention.first]
        if before and (before[-1] in profile.units or (before[-1] in ("of", "is") and profile.units & set(before))):
            return _ROLE
        if (is_requested and self._can_answer("before_counts")) or profile.slot in self.rejected:
            return 0
        return 0 if before[-1:] == ["for"] and profile.concept == "people" else _NEVER

    def _noun(self) -> str:
        """The noun that a number counts; `of` where it counts nothing we know: `1 of them`."""
        keys, last = self.words.keys, self.mention.last
        for near in range(last, min(last + 3, len(keys))):
            if keys[near] in word_set("all_units"):
                return keys[near]
            if keys[near] not in word_set("before_units"):
                return "of" if keys[last] == "of" else ""
        return ""

    def _can_answer(self, words: str) -> bool:
        """Whether a number can be an answer: it starts a clause, or follows a little word; the 1 of `that 1` cannot."""
        first = self.mention.first
        return first == self.clause_start or self.words.words[first - 1] in word_set(words)

    def _weigh_role(self, profile: Profile) -> float:
        """The preposition before a place, or the verb before a time, tells which end of a journey it is."""
        clause = self.words.words[self.clause_start : self.mention.first][::-1]
        near = []  # the words before the mention, the nearest first, as far as only little words stand between
        for word in clause[:_REACH]:
            near.append(word)
            if word not in word_set("skipped") and self.mention.kind not in ("time", "date"):
                break
        if profile.kind == "time":
            role = _role(clause, "leave_verbs", "arrive_verbs") or _role(near, "leaving", "arriving")
        elif profile.kind == "date":
            role = _role(near, "starting", "ending")
        else:
            role = _role(near, "from", "to")
        if role:
            return _ROLE if role == profile.role else _NEVER
        # A time or a date that says nothing is when a journey starts.
        is_likely = profile.slot in self.turn.requested or profile.slot in self.rejected
        return 0 if is_likely or (profile.kind in ("time", "date") and profile.role == "from") else _NO_ROLE


def _role(words: list[str], starts: str, ends: str) -> str:
    """Which end of a journey the first telling word is of."""
    roles = dict.fromkeys(word_set(ends), "to") | dict.fromkeys(word_set(starts), "from")
    return next((roles[word] for word in words if word in roles), "")


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
    if rejecting := [f" {phrase} " for phrase in table()["rejecting"]["names"] if f" {phrase} " in text]:
        for slot, value in turn.state.items():
            keys = " ".join(keys_of(value))
            if any(f"{phrase}{keys} " in text or f"{phrase}the {keys} " in text for phrase in rejecting):
                rejected.add(slot)
    return frozenset(rejected)
