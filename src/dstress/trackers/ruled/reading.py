"""All that an utterance says, before anybody asks what for: values, figures, and words for slots and for services."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from dstress.trackers.ruled.captures import capitalised, capture_options, captures
from dstress.trackers.ruled.figures import figures
from dstress.trackers.ruled.lexicon import Lexicon
from dstress.trackers.ruled.profiles import Profile
from dstress.trackers.ruled.words import Words, word_set

_BESIDE = 3
_NOON = 12


class Mention(NamedTuple):
    """Words `first` to `last` (exclusive) may be the value of each slot in `options`: slot id -> value."""

    kind: str
    first: int
    last: int
    options: Mapping[str, str]
    rejected: bool = False


class Cue(NamedTuple):
    """Words that speak of a service or of a slot's concept.

    A reference names a service that the words are not about (`near the hotel`); `again` marks a service that the user
    comes back to for a moment, to change something.
    """

    first: int
    last: int
    name: str
    is_reference: bool = False
    again: bool = False


class Reading(NamedTuple):
    """An utterance, read. `names` are those that its capitals tell."""

    words: Words
    mentions: list[Mention]
    services: list[Cue]
    cues: list[Cue]
    asked: list[Cue]
    denied: list[Cue]
    names: list[Cue]


class Reader:
    """Reads utterances with one lexicon."""

    def __init__(self, lexicon: Lexicon, slots: Mapping[str, Profile], evenings: Collection[str] = ()) -> None:
        self.lexicon = lexicon
        self.by_kind = {
            kind: [profile.slot for profile in slots.values() if profile.kind == kind]
            for kind in ("time", "date", "number")
        }
        self.slots = slots
        self.evenings = [slot for slot in self.by_kind["time"] if slots[slot].service in evenings]
        self.leads = capture_options(slots)

    def read(self, text: str) -> Reading:
        """Find everything in one walk over the words."""
        words = Words(text)
        found: dict[str, list[Cue]] = {"service": [], "cue": [], "asked": [], "denied": []}
        values: list[Mention] = []
        for hit in self.lexicon.hits(words.keys):
            for what, names in hit.meanings.items():
                if what == "value":
                    self._add_value(values, hit.first, hit.last, names)
                else:
                    found[what] += [Cue(hit.first, hit.last, name) for name in names]
        mentions = _without_tails(words, values)
        mentions += self._figures(words, values)
        captured = self._captured(words, mentions, found["service"])
        inside = {at for name in captured for at in range(name.first, name.last)}
        mentions = [mention for mention in mentions if mention.first not in inside] + captured
        mentions.sort(key=lambda mention: mention.first)
        mentions = [_judged(words, mention) for mention in mentions]
        services = [placed(words, cue) for cue in found["service"]]
        taken = {at: mention.kind for mention in mentions for at in range(mention.first, mention.last)}
        names = [Cue(first, last, words.said(first, last)) for first, last in capitalised(words, taken)]
        named = {at for name in (*captured, *names) if name.last - name.first > 1 for at in range(name.first, name.last)}
        services = [cue._replace(is_reference=True) if cue.first in named else cue for cue in services]
        return Reading(words, mentions, services, found["cue"], found["asked"], found["denied"], names)

    def _add_value(self, values: list[Mention], first: int, last: int, options: dict[str, str]) -> None:
        """A value, unless it is part of a longer one."""
        if values and first < values[-1].last:
            if last - first <= values[-1].last - values[-1].first:
                return
            values.pop()
        kinds = {self.slots[slot].kind for slot in options}
        values.append(Mention("name" if "name" in kinds else "listed", first, last, options))

    def _figures(self, words: Words, values: list[Mention]) -> list[Mention]:
        taken = {at for value in values for at in range(value.first, value.last)}
        found = []
        for figure in figures(words):
            kind, first, last, value, either = figure
            if taken.isdisjoint(range(first, last)):
                options = dict.fromkeys(self.by_kind[kind], value)
                if kind == "number":
                    options |= self._hours(value)
                elif either:
                    options |= dict.fromkeys(self.evenings, _later(value))
                found.append(Mention(kind, first, last, options))
        return found

    def _hours(self, number: str) -> dict[str, str]:
        """A number may be the hour, if a time was asked for."""
        if not number.isdecimal() or not 0 < int(number) <= _NOON:
            return {}
        hour = f"{int(number):02d}:00"
        return dict.fromkeys(self.by_kind["time"], hour) | dict.fromkeys(self.evenings, _later(hour))

    def _stop(self, mention: Mention) -> str:
        """What kind of end a mention makes to a name: a day always does, another word from a list may be part of it."""
        is_day = any(self.slots[slot].concept == "day" for slot in mention.options)
        return "date" if is_day else mention.kind

    def _captured(self, words: Words, mentions: list[Mention], services: list[Cue]) -> list[Mention]:
        """Names that no list has."""
        taken = {at: "service" for cue in services for at in range(cue.first, cue.last)}
        taken |= {at: self._stop(mention) for mention in mentions for at in range(mention.first, mention.last)}
        found = []
        for lead, first, last in captures(words, taken):
            if options := self._settled(lead, words.said(first, last)):
                found.append(Mention("name", first, last, options))
        return found

    def _settled(self, lead: str, text: str) -> dict[str, str]:
        """The slots that a captured name may fill. Where names are listed, a near one is meant."""
        options = {}
        for slot in self.leads[lead]:
            near = self.lexicon.nearest(slot, text)
            is_plain = " " not in text and text.islower()
            if near or not (is_plain and self.lexicon.names.get(slot)):
                options[slot] = near or text
        return options


def _without_tails(words: Words, values: list[Mention]) -> list[Mention]:
    """Values without the `guest house` of `home from home guest house`, where a list has the name without it."""
    kept: list[Mention] = []
    for value in values:
        after_name = kept and kept[-1].kind == "name" and kept[-1].last == value.first
        if after_name and value.kind == "listed" and word_set("generic").issuperset(words.keys[value.first : value.last]):
            continue
        kept.append(value)
    return kept


def _later(time: str) -> str:
    """The same time of the other half of the day."""
    hour, _, minute = time.partition(":")
    return f"{int(hour) + _NOON if int(hour) < _NOON else int(hour):02d}:{minute}"


def placed(words: Words, cue: Cue) -> Cue:
    """Mark `near the restaurant` and `from the hotel`: they name a service, but are not about it."""
    row = words.words
    first, last = words.sentence(cue.first)
    if not word_set("changing").isdisjoint(row[first:last]):
        return cue._replace(again=True)
    at = cue.first - 1
    if row[at - 1 : at + 1] == ["coming", "to"]:
        return cue._replace(is_reference=True)
    if at >= 1 and row[at] in word_set("determiners"):
        while at >= 1 and row[at] in word_set("determiners"):
            at -= 1
        return cue._replace(is_reference=row[at] in word_set("references"))
    return cue


def _judged(words: Words, mention: Mention) -> Mention:
    """Mark what is said to be replaced: `not monday`, `instead of friday`, `07:45 won't work`."""
    row, first, last = words.words, mention.first, mention.last
    before = row[max(0, first - _BESIDE - 2) : first]
    while before and before[-1] in ("the", "on", "at", "in", "for", "to", "a", "from", "leaving", "arriving", "by", "there", "be"):
        before = before[:-1]
    after = row[last : last + _BESIDE]
    rejected = (
        before[-1:] in (["not"], ["forget"])
        or before[-2:] in (["instead", "of"], ["rather", "than"], ["better", "than"], ["never", "mind"])
        or before[-3:] == ["not", "have", "to"]
        or after[:2] in (["wo", "not"], ["can", "go"], ["does", "not"], ["will", "not"])
    )
    return mention._replace(rejected=True) if rejected else mention
