"""All that an utterance says, before anybody asks what for: values, figures, and words for slots and for services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from dstress.dialogue import Schema
from dstress.trackers.rules.figures import evening, figures
from dstress.trackers.rules.lexicon import Counts, build_lexicon, evening_services
from dstress.trackers.rules.slot_profiles import ValueStyle, profiles
from dstress.trackers.rules.unlisted_names import find_capitalised, find_names, slots_by_lead
from dstress.trackers.rules.words import Words, pattern, table, word_set

_NOON = 12
_REMEMBERED = 4096


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
    """What an utterance says. `request_cues` ask for a slot, `denied` say no to one.

    `names` are those that its capitals tell, `questions` the numbers of the sentences that ask something.
    """

    words: Words
    mentions: list[Mention]
    services: list[Cue]
    cues: list[Cue]
    request_cues: list[Cue]
    denied: list[Cue]
    names: list[Cue]
    questions: frozenset[int]

    @property
    def text(self) -> str:
        """Its words with one blank between two."""
        return self.words.row

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
    """Reads utterances with the words of a schema and the values of a training split."""

    def __init__(self, schema: Schema, style: ValueStyle, counts: Counts) -> None:
        self.slots, self.style = profiles(schema), style
        self.lexicon = build_lexicon(schema, self.slots, counts)
        self.by_kind = {
            kind: [profile.slot for profile in self.slots.values() if profile.kind == kind]
            for kind in ("time", "date", "number")
        }
        evenings = evening_services(schema)
        self.evenings = [slot for slot in self.by_kind["time"] if self.slots[slot].service in evenings]
        self.leads = slots_by_lead(self.slots)
        # A turn's words are read again as the history of the turns after it.
        self.read = lru_cache(maxsize=_REMEMBERED)(self._read)

    def _read(self, text: str) -> Evidence:
        """Find everything in one walk over the words."""
        words = Words(text)
        cues: dict[str, list[Cue]] = {"service": [], "cues": [], "asked": [], "denied": []}
        values: list[Mention] = []
        for first, last, hits in self.lexicon.hits(words.keys):
            for what, meanings in hits.items():
                if what != "value":
                    cues[what] += [Cue(first, last, name) for name in meanings]
                    continue
                if values and first < values[-1].last:  # of values that overlap the first is meant, and its longest
                    continue
                is_name = any(self.slots[slot].kind == "name" for slot in meanings)
                values.append(Mention("name" if is_name else "listed", first, last, meanings))

        mentions = _without_tails(words, values) + list(self._figures(words, values))
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

        requests: list[Cue] = []
        for cue in cues["asked"]:  # `how many nights` does not ask `how many`
            if not requests or cue.first != requests[-1].first or cue.last == requests[-1].last:
                requests.append(cue)
        # Questions are known by their marks, or if none has one, by their words.
        questions = words.questions or {
            number
            for number, sentence in groupby(range(len(words)), key=words.sentences.__getitem__)
            if pattern("question").search(" ".join(words.words[at] for at in sentence))
        }
        return Evidence(
            words=words,
            mentions=_judged(words, mentions),
            services=self._services(words, cues["service"], mentions, inside),
            cues=[cue for cue in cues["cues"] if cue.first not in inside],
            request_cues=requests,
            denied=cues["denied"],
            names=names,
            questions=frozenset(questions),
        )

    def _figures(self, words: Words, values: list[Mention]) -> Iterator[Mention]:
        """Times, dates and numbers that are no part of a value, with the slots of their kind."""
        taken = {at for value in values for at in range(value.first, value.last)}
        for kind, first, last, value, either in figures(words):
            if not taken.isdisjoint(range(first, last)):
                continue
            is_kept = self.style.as_said and kind in ("time", "date")
            options = dict.fromkeys(self.by_kind[kind], words.span_text(first, last) if is_kept else value)
            if kind == "number" and value.isdecimal() and 0 < int(value) <= _NOON:
                # A number may be the hour, if a time was asked for.
                options |= dict.fromkeys(self.by_kind["time"], f"{int(value):02d}:00")
                options |= dict.fromkeys(self.evenings, evening(f"{int(value):02d}:00"))
            elif either and not is_kept:
                options |= dict.fromkeys(self.evenings, evening(value))
            yield Mention(kind, first, last, options)

    def _taken(self, mentions: Iterable[Mention], services: Iterable[Cue]) -> dict[int, str]:
        """What each word says already. A day always ends a name; another word from a list may be part of it."""
        taken = {at: "service" for cue in services for at in range(cue.first, cue.last)}
        for mention in mentions:
            is_day = any(self.slots[slot].concept == "day" for slot in mention.options)
            taken |= dict.fromkeys(range(mention.first, mention.last), "date" if is_day else mention.kind)
        return taken

    def _captured(self, words: Words, mentions: list[Mention], services: list[Cue]) -> list[Mention]:
        """Names that no list has. Where a slot's names are listed, a near one is meant, or one with capitals."""
        names = []
        for lead, first, last in find_names(words, self._taken(mentions, services)):
            text, options = self._written(words, first, last), dict[str, str]()
            is_plain = " " not in text and not words.is_capital(first)
            for slot in self.leads[lead]:
                near = self.lexicon.nearest(slot, text)
                if near or not (is_plain and self.lexicon.names.get(slot)):
                    options[slot] = near or text
            if options:
                names.append(Mention("name", first, last, options))
        return names

    def _written(self, words: Words, first: int, last: int) -> str:
        """A name as the corpus writes it."""
        return words.span_text(first, last).lower() if self.style.lower else words.span_text(first, last)

    def _services(self, words: Words, cues: list[Cue], mentions: list[Mention], inside: set[int]) -> list[Cue]:
        """Words for services, and values that only one service has; those inside a name are not about it."""
        named = list(cues)
        for mention in mentions:
            owners = {self.slots[slot].service for slot in mention.options if not self.slots[slot].role}
            is_covered = any(cue.first < mention.last and mention.first < cue.last for cue in cues)
            if mention.kind in ("listed", "name") and len(owners) == 1 and not is_covered:
                named.append(Cue(mention.first, mention.last, owners.pop(), mention.kind == "name"))
        return _passed(words, [_placed(words, cue, cue.first in inside) for cue in sorted(named)])


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
    mine = [cue for cue in marked if words.words[cue.first - 1 : cue.first] == ["my"]]
    if len(plain) < 2 or not plain - {cue.name for cue in mine}:
        return marked
    return [cue._replace(is_reference=True) if cue in mine else cue for cue in marked]


def _judged(words: Words, mentions: list[Mention]) -> list[Mention]:
    """Mark what is taken back, and what is left to choose: `a hotel or a guest house` asks for neither."""
    row, phrases = words.words, table()["rejecting"]
    before = tuple(f" {phrase}" for phrase in phrases["before"])
    judged = []
    for mention in mentions:
        at = mention.first
        while at and row[at - 1] in word_set("before_values"):
            at -= 1
        is_rejected = f" {' '.join(row[max(0, at - 3) : at])}".endswith(before)
        is_rejected = is_rejected or " ".join(row[mention.last : mention.last + 2]) in phrases["after"]
        judged.append(mention._replace(rejected=True) if is_rejected else mention)
    choice = False
    for number in range(len(mentions) - 2, -1, -1):
        mention, following = mentions[number], mentions[number + 1]
        between = row[mention.last : following.first]
        alike = mention.kind == "listed" and bool(mention.options.keys() & following.options.keys())
        # "train, coach or ferry": what a comma joins to a choice belongs to it.
        choice = alike and ((between[:1] == ["or"] and len(between) <= 2) or (choice and not between))
        if choice:
            judged[number] = mention._replace(rejected=True)
            judged[number + 1] = following._replace(rejected=True)
    return judged
