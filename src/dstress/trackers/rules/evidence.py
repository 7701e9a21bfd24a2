"""All that an utterance says, before anybody asks what for: values, figures, and words for slots and for services."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from dstress.trackers.rules.figures import Figure, evening, figures
from dstress.trackers.rules.lexicon import Lexicon
from dstress.trackers.rules.phrases import phrasing
from dstress.trackers.rules.slot_profiles import Profile, ValueStyle
from dstress.trackers.rules.unlisted_names import find_capitalised, find_names, slots_by_lead
from dstress.trackers.rules.words import Words, table, word_set

_NOON = 12
_PLAIN = ValueStyle()


class Mention(NamedTuple):
    """Words `first` to `last` (exclusive) may be the value of each slot in `options`: slot id -> value.

    `rejected` marks what the user takes back: `not monday`, `rather than 18:15`.
    """

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


class Evidence(NamedTuple):
    """What an utterance says. `text` is its words with one blank between two, `request_cues` ask for a slot.

    `names` are those that its capitals tell, `questions` the numbers of the sentences that ask something.
    """

    words: Words
    text: str
    mentions: list[Mention]
    services: list[Cue]
    cues: list[Cue]
    request_cues: list[Cue]
    denied: list[Cue]
    names: list[Cue]
    questions: frozenset[int]

    @property
    def says_name(self) -> bool:
        """Whether it names something; an address is no name."""
        row = self.words.words
        return bool(self.names) or any(
            mention.kind == "name" and not row[mention.first].isdecimal() for mention in self.mentions
        )

    @property
    def about(self) -> list[str]:
        """The services that it is about, as often and in the order as it names them."""
        return [cue.name for cue in self.services if not cue.is_reference]


class Reader:
    """Reads utterances with one lexicon. `evenings` are services whose times are of the evening unless they say."""

    def __init__(
        self, lexicon: Lexicon, slots: Mapping[str, Profile], evenings: Collection[str] = (), style: ValueStyle = _PLAIN
    ) -> None:
        self.lexicon, self.slots, self.style = lexicon, slots, style
        self.by_kind = {
            kind: [profile.slot for profile in slots.values() if profile.kind == kind]
            for kind in ("time", "date", "number")
        }
        self.evenings = [slot for slot in self.by_kind["time"] if slots[slot].service in evenings]
        self.leads = slots_by_lead(slots)

    def read(self, text: str) -> Evidence:
        """Find everything in one walk over the words."""
        words = Words(text)
        cues: dict[str, list[Cue]] = {"service": [], "cue": [], "asked": [], "denied": []}
        values: list[Mention] = []
        for hit in self.lexicon.hits(words.keys):
            for what, meanings in hit.meanings.items():
                if what == "value":
                    self._add_value(values, hit.first, hit.last, meanings)
                else:
                    cues[what] += [Cue(hit.first, hit.last, name) for name in meanings]
        mentions = _without_tails(words, values)
        mentions += self._figures(words, values)
        captured = self._captured(words, mentions, cues["service"])
        in_captured = {at for name in captured for at in range(name.first, name.last)}
        mentions = [mention for mention in mentions if mention.first not in in_captured] + captured
        mentions.sort(key=lambda mention: mention.first)
        names = [
            Cue(*span, self._written(words, *span))
            for span in find_capitalised(words, self._taken(mentions, cues["service"]))
        ]
        spans = [(name.first, name.last) for name in captured] + [(name.first, name.last) for name in names]
        inside = {at for first, last in spans if last - first > 1 for at in range(first, last)}
        return Evidence(
            words=words,
            text=" ".join(words.words),
            mentions=_judged(words, mentions),
            services=self._services(words, cues["service"], mentions, inside),
            cues=[cue for cue in cues["cue"] if cue.first not in inside],
            request_cues=_longest(cues["asked"]),
            denied=cues["denied"],
            names=names,
            questions=phrasing().questions(words),
        )

    def _add_value(self, values: list[Mention], first: int, last: int, options: dict[str, str]) -> None:
        """A value, unless it is part of a longer one."""
        if values and first < values[-1].last:
            if last - first <= values[-1].last - values[-1].first:
                return
            values.pop()
        is_name = any(self.slots[slot].kind == "name" for slot in options)
        values.append(Mention("name" if is_name else "listed", first, last, options))

    def _figures(self, words: Words, values: list[Mention]) -> list[Mention]:
        taken = {at for value in values for at in range(value.first, value.last)}
        return [
            Mention(figure.kind, figure.first, figure.last, self._figure_options(words, figure))
            for figure in figures(words)
            if taken.isdisjoint(range(figure.first, figure.last))
        ]

    def _figure_options(self, words: Words, figure: Figure) -> dict[str, str]:
        kind, first, last, value, either = figure
        if self.style.as_said and kind in ("time", "date"):
            return dict.fromkeys(self.by_kind[kind], words.span_text(first, last))
        options = dict.fromkeys(self.by_kind[kind], value)
        if kind == "number" and value.isdecimal() and 0 < int(value) <= _NOON:
            # A number may be the hour, if a time was asked for.
            options |= dict.fromkeys(self.by_kind["time"], f"{int(value):02d}:00")
            options |= dict.fromkeys(self.evenings, evening(f"{int(value):02d}:00"))
        elif either:
            options |= dict.fromkeys(self.evenings, evening(value))
        return options

    def _taken(self, mentions: Iterable[Mention], services: Iterable[Cue]) -> dict[int, str]:
        """What each word says already. A day always ends a name; another word from a list may be part of it."""
        taken = {at: "service" for cue in services for at in range(cue.first, cue.last)}
        for mention in mentions:
            is_day = any(self.slots[slot].concept == "day" for slot in mention.options)
            taken |= dict.fromkeys(range(mention.first, mention.last), "date" if is_day else mention.kind)
        return taken

    def _captured(self, words: Words, mentions: list[Mention], services: list[Cue]) -> list[Mention]:
        """Names that no list has."""
        names = []
        for lead, first, last in find_names(words, self._taken(mentions, services)):
            if options := self._settled(lead, self._written(words, first, last), words.is_capital(first)):
                names.append(Mention("name", first, last, options))
        return names

    def _written(self, words: Words, first: int, last: int) -> str:
        """A name as the corpus writes it."""
        return words.span_text(first, last).lower() if self.style.lower else words.span_text(first, last)

    def _settled(self, lead: str, text: str, is_capital: bool) -> dict[str, str]:
        """The slots that a captured name may fill. Where names are listed, a near one is meant."""
        options = {}
        is_plain = " " not in text and not is_capital
        for slot in self.leads[lead]:
            near = self.lexicon.nearest(slot, text)
            if near or not (is_plain and self.lexicon.names.get(slot)):
                options[slot] = near or text
        return options

    def _services(self, words: Words, cues: list[Cue], mentions: list[Mention], inside: set[int]) -> list[Cue]:
        """Words for services, and values that only one service has; those inside a name are not about it."""
        named = list(cues)
        for mention in mentions:
            owner = self._owner(mention)
            if owner and not any(cue.first < mention.last and mention.first < cue.last for cue in cues):
                named.append(Cue(mention.first, mention.last, owner, mention.kind == "name"))
        placed = [_placed(words, cue, cue.first in inside) for cue in sorted(named)]
        return _passed(words, placed)

    def _owner(self, mention: Mention) -> str:
        """The only service that has a value."""
        if mention.kind not in ("listed", "name"):
            return ""
        services = {self.slots[slot].service for slot in mention.options if not self.slots[slot].role}
        return services.pop() if len(services) == 1 else ""


def _longest(cues: list[Cue]) -> list[Cue]:
    """Without phrases that a longer one starts with: `how many nights` does not ask `how many`."""
    kept: list[Cue] = []
    for cue in cues:
        if not kept or cue.first != kept[-1].first or cue.last == kept[-1].last:
            kept.append(cue)
    return kept


def _without_tails(words: Words, values: list[Mention]) -> list[Mention]:
    """Values without the `guest house` of `home from home guest house`, where a list has the name without it.

    And without names that only name a street: `on jesus lane` is not about Jesus College.
    """
    kept: list[Mention] = []
    generic, streets = word_set("generic"), word_set("streets")
    for value in values:
        after_name = kept and kept[-1].kind == "name" and kept[-1].last == value.first
        if after_name and value.kind == "listed" and generic.issuperset(words.keys[value.first : value.last]):
            continue
        if value.kind == "name" and not streets.isdisjoint(words.keys[value.last : value.last + 1]):
            continue
        kept.append(value)
    return kept


def _placed(words: Words, cue: Cue, inside_name: bool) -> Cue:
    """Mark `near the restaurant` and `from the hotel`: they name a service, but are not about it."""
    if inside_name or cue.is_reference:
        return cue._replace(is_reference=True)
    row = words.words
    first, last = words.sentence(cue.first)
    if not word_set("changing").isdisjoint(row[first:last]):
        return cue._replace(again=True)
    determiners, at = word_set("determiners"), cue.first - 1
    if " ".join(row[max(0, at - 1) : at + 1]) in table()["passing"]["before"]:
        return cue._replace(is_reference=True)
    if at >= 1 and row[at] in determiners:
        while at >= 1 and row[at] in determiners:
            at -= 1
        return cue._replace(is_reference=row[at] in word_set("references"))
    return cue


def _passed(words: Words, cues: list[Cue]) -> list[Cue]:
    """Mark what is named in passing beside another service: `the taxi ride`, `the day my train arrives`."""
    if len({cue.name for cue in cues}) < 2:
        return cues
    marked = cues[:1]
    for before, cue in pairwise(cues):
        carried = marked[-1].is_reference and before.last == cue.first and before.name == cue.name
        marked.append(cue._replace(is_reference=True) if carried else cue)
    plain = {cue.name for cue in marked if not cue.is_reference}
    if len(plain) < 2:
        return marked
    mine = [cue for cue in marked if words.words[cue.first - 1 : cue.first] == ["my"]]
    others = plain - {cue.name for cue in mine}
    return [cue._replace(is_reference=True) if cue in mine else cue for cue in marked] if others else marked


def _judged(words: Words, mentions: list[Mention]) -> list[Mention]:
    """Mark what is taken back, and what is left to choose: `a hotel or a guest house` asks for neither."""
    judged = [mention._replace(rejected=True) if _is_rejected(words, mention) else mention for mention in mentions]
    choice = False
    for number in range(len(mentions) - 2, -1, -1):
        mention, following = mentions[number], mentions[number + 1]
        between = words.words[mention.last : following.first]
        alike = mention.kind == "listed" and bool(mention.options.keys() & following.options.keys())
        # "train, coach or ferry": what a comma joins to a choice belongs to it.
        choice = alike and ((between[:1] == ["or"] and len(between) <= 2) or (choice and not between))
        if choice:
            judged[number] = mention._replace(rejected=True)
            judged[number + 1] = following._replace(rejected=True)
    return judged


def _is_rejected(words: Words, mention: Mention) -> bool:
    row, trailing = words.words, word_set("before_values")
    at = mention.first
    while at and row[at - 1] in trailing:
        at -= 1
    before, after = _rejecting()
    lead = f" {' '.join(row[max(0, at - 3) : at])}"
    return lead.endswith(before) or " ".join(row[mention.last : mention.last + 2]) in after


@cache
def _rejecting() -> tuple[tuple[str, ...], frozenset[str]]:
    phrases = table()["rejecting"]
    return tuple(f" {phrase}" for phrase in phrases["before"]), frozenset(phrases["after"])
