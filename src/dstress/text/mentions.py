"""Where an utterance says a value of the state.

Every stressor that keeps labels true stands on this: text it must not touch, text it must rewrite together with the
state, and the label guard. Corpora mark some places themselves (`Frame.spans`); elsewhere, and to check the marks, the
text is searched for every way a person would say the value. `docs/values.md` has the measured recall and precision.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, product
from operator import itemgetter
from typing import Any, NamedTuple

from dstress.dialogue import DONTCARE, Frame, State, Turn, slot_id
from dstress.text.letters import Lettered, Place, fold, is_free, lettered, name_words, needs_edges, words_of
from dstress.text.near_spelling import near, pieces
from dstress.text.numbers import find_number, number_hints, number_of, number_phrases
from dstress.text.tables import read_table
from dstress.text.times import date_of, find_date, find_time, time_hints, time_of
from dstress.text.yes_no import Flags, Openness, find_dontcare, find_flag, find_unneeded

_REMEMBERED = 16_384
_SPELLINGS = 16
_TELLING = 5
_LONG = 8
_UNPARTED = re.compile(r"(?:[^\W_]|&)+")
_ADDITION = re.compile(r"[,(]")
_IN_ORDER = itemgetter(2, 3)
_NOTHING: list[Any] = []


class Mention(NamedTuple):
    """Characters `start` to `end` (exclusive) of an utterance say `value`, an accepted form of the slot's gold."""

    slot: str
    value: str
    start: int
    end: int


def find(text: str, slot: str, forms: Sequence[str]) -> list[Mention]:
    """Every place where `text` says one of the accepted `forms` of the slot id `slot`, in order; none overlap."""
    return list(_find(lettered(text), slot, tuple(forms))) if text else []


def mentions(turn: Turn, before: State) -> list[Mention]:
    """Where `turn.user` says the values that it changes, in order. `before` is the state of the turn before."""
    if not turn.user:
        return []
    said = lettered(turn.user)
    listed: list[Mention] = []
    for slot, forms in turn.state.items():
        if before.get(slot) != forms and (found := _find(said, slot, forms)):
            listed += found
    spans = [
        _Claim(slot_id(frame.service, span.slot), span.start, span.end, frame)
        for frame in turn.frames
        for span in frame.spans
    ]
    if spans:
        listed = _vouched(listed, spans) + _annotated(turn, before, spans, {mention.slot for mention in listed})
    return _outermost(listed) if len(listed) > 1 else listed


def protected(turn: Turn, before: State) -> list[Place]:
    """The characters of `turn.user` that no text stressor may touch, in disjoint, sorted ranges.

    These are all said values of the state, the values that they replace ("not monday, tuesday"), and all spans.
    """
    if not turn.user:
        return []
    said, size, state = lettered(turn.user), len(turn.user), turn.state
    places = [(max(0, span.start), min(size, span.end)) for frame in turn.frames for span in frame.spans]
    for slot, forms in state.items():
        if found := _find(said, slot, forms):
            places += [mention[2:] for mention in found]
    for slot, forms in before.items():
        if state.get(slot) != forms and (found := _find(said, slot, forms)):
            places += [mention[2:] for mention in found]
    return merged(places) if places else places


def merged(places: Iterable[Place]) -> list[Place]:
    """The same characters in disjoint, sorted ranges."""
    found: list[Place] = []
    for start, end in sorted(places):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif start < end:
            found.append((start, end))
    return found


def _outermost(listed: list[Mention]) -> list[Mention]:
    """In order; without those inside another slot's ("hotel" in "ashley hotel") whose slot is said elsewhere too."""
    listed.sort(key=lambda mention: (mention.start, -mention.end))
    outer, inside = listed[0], []
    for mention in listed[1:]:
        if mention.end <= outer.end and mention[2:] != outer[2:]:
            inside.append(mention)
        elif mention.end > outer.end:
            outer = mention
    if inside:
        outside = {mention.slot for mention in listed if mention not in inside}
        listed = [mention for mention in listed if mention not in inside or mention.slot not in outside]
    return listed


class _Claim(NamedTuple):
    """An annotated span: the slot that it gives the characters to."""

    slot: str
    start: int
    end: int
    frame: Frame


def _vouched(listed: list[Mention], claims: list[_Claim]) -> list[Mention]:
    """What matching finds, less what annotations give to another slot; unless that is all there is of a slot.

    So of two threes, each goes to its slot. Annotations are not trusted blindly: a span adds nothing that matching
    does not find in it, for "same area" is marked as `centre`, but does not say it.
    """
    kept: list[Mention] = []
    doubted: list[Mention] = []
    for mention in listed:
        owners = [slot for slot, start, end, _ in claims if start < mention.end and mention.start < end]
        (kept if not owners or mention.slot in owners else doubted).append(mention)
    if doubted:
        sure = {mention.slot for mention in kept}
        kept += [mention for mention in doubted if mention.slot not in sure]
    return kept


def _annotated(turn: Turn, before: State, claims: list[_Claim], found: set[str]) -> list[Mention]:
    """Spans that matching found nothing for, but whose very words an act gives as another form: NYC is New York."""
    listed: list[Mention] = []
    for slot, start, end, frame in claims:
        forms = turn.state.get(slot) if slot not in found else None
        if forms and before.get(slot) != forms and 0 <= start < end <= len(turn.user):
            text, name = turn.user[start:end], slot.partition("-")[2]
            canonical = [
                form for act in frame.acts if act.slot == name and text in act.values for form in act.canonical
            ]
            listed += [Mention(slot, form, start, end) for form in canonical if form in forms][:1]
    return listed


def _find(said: Lettered, slot: str, forms: tuple[str, ...]) -> list[Mention]:
    """The places of every form. Most values of a state are not in a text: their hints tell so at once."""
    letters = said.letters
    prepared = _prepared(slot, forms)
    for hint in prepared.hints:
        if hint in letters:
            break
    else:
        return _NOTHING
    known: list[Mention] | None = said.known.get(prepared)
    if known is not None:
        return known
    found = [Mention(slot, form, start, end) for form, value in prepared.values for start, end in value.places(said)]
    said.known[prepared] = found = _apart(found) if len(found) > 1 else found
    return found


def _apart(found: list[Mention]) -> list[Mention]:
    """Of mentions that overlap, the longest; of equally long ones, the first. In one pass: a text may be long."""
    kept: list[Mention] = []
    for mention in sorted(found, key=_IN_ORDER):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept


class _Value(ABC):
    """One accepted form of a value, prepared for search. A text that says it has one of `hints` among its letters."""

    hints: tuple[str, ...]

    @abstractmethod
    def places(self, said: Lettered) -> list[Place]:
        """Where a text says it."""


class _Prepared:
    """The accepted forms of a value, ready for search."""

    __slots__ = ("hints", "values")

    def __init__(self, slot: str, forms: tuple[str, ...]) -> None:
        self.values = tuple((form, _value(slot, form)) for form in forms)
        self.hints = _fewest([hint for _, value in self.values for hint in value.hints])


@lru_cache(maxsize=_REMEMBERED)
def _prepared(slot: str, forms: tuple[str, ...]) -> _Prepared:
    return _Prepared(slot, forms)


def _value(slot: str, form: str) -> _Value:
    folded = fold(form).strip()
    if folded == DONTCARE:
        return _Open(slot)
    if (wanted := _flags().meaning(slot, form)) is not None:
        return _Flag(slot, wanted)
    if (minutes := _minutes(slot, folded)) is not None:
        return _Time(folded, minutes)
    if (number := number_of(folded)) is not None:
        return _Number(slot, number)
    if (date := date_of(folded)) is not None:
        return _Date(folded, *date)
    return _Text(form)


def _minutes(slot: str, folded: str) -> int | None:
    """The time that a value is. Numbers are times only where times are asked for."""
    asked = not _words("clock").isdisjoint(name_words(slot))
    minutes = time_of(folded, hours=asked)
    return None if minutes is not None and not asked and number_of(folded) is not None else minutes


class _Open(_Value):
    def __init__(self, slot: str) -> None:
        self.slot = slot
        self.is_flag = _flags().is_listed(slot)
        self.hints = _openness().hints + (_flags().of(slot) if self.is_flag else ())

    def places(self, said: Lettered) -> list[Place]:
        unneeded = find_unneeded(said, self.slot, _flags()) if self.is_flag else []
        return unneeded or find_dontcare(said, _openness())


class _Flag(_Value):
    def __init__(self, slot: str, wanted: bool) -> None:
        self.slot, self.wanted = slot, wanted
        self.hints = _flags().hints(slot, wanted)

    def places(self, said: Lettered) -> list[Place]:
        return find_flag(said, self.slot, self.wanted, _flags())


class _Number(_Value):
    def __init__(self, slot: str, number: float) -> None:
        self.slot, self.number = slot, number
        self.phrases = tuple(_phrase(text) for text in number_phrases(slot, number))
        self.hints = (*number_hints(number), *(letters for letters, _ in self.phrases))

    def places(self, said: Lettered) -> list[Place]:
        found = find_number(said, self.slot, self.number)
        return found or [place for phrase in self.phrases for place in said.places(*phrase)]


class _Time(_Value):
    def __init__(self, form: str, minutes: int) -> None:
        self.letters, self.minutes = "".join(words_of(form)), minutes
        self.hints = (*time_hints(minutes), self.letters)

    def places(self, said: Lettered) -> list[Place]:
        return find_time(said, self.minutes) or said.places(self.letters)


class _Date(_Value):
    def __init__(self, form: str, month: str, day: int) -> None:
        self.letters, self.month, self.day = "".join(words_of(form)), month, day
        self.hints = (str(day),)

    def places(self, said: Lettered) -> list[Place]:
        return find_date(said, self.month, self.day) or said.places(self.letters)


class _Text(_Value):
    """A name or another word: by its letters, then by other words for it, then nearly, then by its telling part."""

    def __init__(self, form: str) -> None:
        self.raw = fold(form).strip()
        words = words_of(form)
        self.letters = "".join(words)
        self.edges = bool(words) and needs_edges(self.letters)
        count = len(_UNPARTED.findall(self.raw))
        self.spelled = tuple((letters, 0 if is_free(letters) else count) for letters in _spelled(words))
        self.spelled += tuple(_phrase(text) for text in _table()["synonyms"].get(" ".join(words), ()))
        self.parts = tuple(_telling_parts(words, words_of(_ADDITION.split(form, maxsplit=1)[0])))
        self.core = _core(words)
        near_pieces = (piece for name in (self.letters, self.core) for _, piece in pieces(name))
        self.hints = (*near_pieces, *(letters for letters, _ in self.spelled), *self.parts) if self.edges else ("",)

    def places(self, said: Lettered) -> list[Place]:
        found = self.exact(said) or near(said, self.letters)
        for part in self.parts:
            if not found:
                found = said.places(part)
        return found or near(said, self.core)

    def exact(self, said: Lettered) -> list[Place]:
        """Where the text has the letters of the value, or other words for it."""
        if not self.edges:
            return list(_substrings(said.folded, self.raw))
        text = said.letters
        return [place for letters, count in self.spelled if letters in text for place in said.places(letters, count)]


def _phrase(text: str) -> tuple[str, int]:
    """Letters and the number of words they must be: other words for a value are not found across other blanks."""
    return text.replace(" ", ""), text.count(" ") + 1


def _fewest(hints: list[str]) -> tuple[str, ...]:
    """The hints without those that another is part of."""
    kept: list[str] = []
    for hint in sorted(dict.fromkeys(hints), key=len):
        if not any(part in hint for part in kept):
            kept.append(hint)
    return tuple(kept)


def _substrings(text: str, part: str) -> Iterator[Place]:
    at = text.find(part) if part else -1
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + len(part))


def _spelled(words: list[str]) -> list[str]:
    """The letters of a name in every spelling of its words, with and without "the", also in the singular."""
    choices = [_alternatives().get(word, (word,)) for word in words]
    found: dict[str, None] = {}
    for spelling in islice(product(*choices), _SPELLINGS):
        letters = "".join(spelling)
        found[letters] = None
        if words[:1] == ["the"] and _tells(words[1:]):
            found[letters[3:]] = None
        if len(letters) > _TELLING and letters.endswith("s") and not letters.endswith("ss"):
            found[letters[:-1]] = None
    return list(filter(None, found))


def _telling_parts(words: list[str], head: list[str]) -> list[str]:
    """What may be left of a name, the longest first: two or more of its words, or all but those that say what it is.

    `head` is what stands before a comma or a parenthesis: London in "London, UK".
    """
    found = {_core(words), "".join(head) if len(head) < len(words) and _tells(head) else ""}
    for size in range(len(words) - 1, 1, -1):
        for part in (words[:size], words[-size:]):
            if _tells(part) and len("".join(part)) >= _LONG and part[0] not in _words("faint"):
                found.add("".join(part))
    return sorted(filter(None, found), key=lambda part: (-len(part), part))


def _core(words: list[str]) -> str:
    """A name without the words at its ends that only say what it is."""
    first, last = 0, len(words)
    while first < last and words[first] in _words("generic"):
        first += 1
    while last > first and words[last - 1] in _words("generic"):
        last -= 1
    return "".join(words[first:last]) if last - first < len(words) and _tells(words[first:last]) else ""


def _tells(words: list[str]) -> bool:
    """Whether words tell a name from others."""
    return (
        any(
            len(word) >= _TELLING - 1 and word not in _words("generic") and word not in _words("faint")
            for word in words
        )
        and sum(map(len, words)) >= _TELLING
    )


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "data/mentions.toml")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_table()[name])


@cache
def _alternatives() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _table()["spellings"]:
        for word in group:
            found[word] = tuple(dict.fromkeys((word, *found.get(word, ()), *group)))
    return found


@cache
def _flags() -> Flags:
    return Flags(_table()["flags"])


@cache
def _openness() -> Openness:
    return Openness(_table()["dontcare"])
