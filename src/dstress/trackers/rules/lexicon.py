"""Every phrase that means something, in one tree of words: values, and words for slots and for services.

One walk over an utterance finds them all, in time that does not grow with the number of values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dstress.dialogue import DONTCARE, Dialogue, Schema, Service
from dstress.text.lemmas import content
from dstress.text.near_spelling import errors_allowed, is_within
from dstress.text.numbers import number_phrases
from dstress.trackers.rules.slot_profiles import Phrase, Profile
from dstress.trackers.rules.words import key_of, keys_of, table, word_set

Counts = dict[str, Counter[str]]
"""Slot id -> how often a training split gives it each value."""

_SHARED = 3
"""Values that a place slot must have in common with a list of names before it takes them all."""
_RARE = 2
_COMMON = 20
"""A name of common words only must be given so often to be believed: `a and b guest house`."""
_END = ""
_TELLING = 4


class Hit(NamedTuple):
    """Words `first` to `last` (exclusive) mean something: as a `value`, `service`, or as one of a concept's phrases."""

    first: int
    last: int
    meanings: dict[str, dict[str, str]]


class Lexicon:
    """Phrases and what they mean: for `value`, slot id -> canonical value; else names of services or concepts."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        self.names: dict[str, dict[str, dict[str, str]]] = {}
        """Slot id -> first letter -> the letters of a listed name -> the name; only of a training split's lists."""

    def add(self, phrase: Phrase, what: str, name: str, value: str = "") -> None:
        """Give a phrase a meaning; the first value of a slot stays."""
        node = self._root
        for key in phrase:
            node = node.setdefault(key, {})
        node.setdefault(_END, {}).setdefault(what, {}).setdefault(name, value)

    def nearest(self, slot: str, text: str) -> str:
        """The listed value of a slot that a text misspells; nothing if none is near."""
        letters = _letters(text)
        errors = errors_allowed(letters)
        for listed, value in self.names.get(slot, {}).get(letters[:1], {}).items():
            if abs(len(listed) - len(letters)) <= errors and is_within(letters, listed, errors):
                return value
        return ""

    def hits(self, keys: Sequence[str]) -> Iterator[Hit]:
        """Everything a text's words mean, from left to right; at each word, the longest first."""
        size = len(keys)
        for first, key in enumerate(keys):
            node = self._root.get(key)
            hits = []
            last = first + 1
            while node:
                if _END in node:
                    hits.append(Hit(first, last, node[_END]))
                node = node.get(keys[last]) if last < size else None
                last += 1
            yield from reversed(hits)


def count_values(dialogues: Iterable[Dialogue]) -> Counts:
    """How often the turns of a training split give each slot each value: all that is taken from it."""
    counts: Counts = defaultdict(Counter)
    for dialogue in dialogues:
        for update in dialogue.updates():
            for slot, forms in update.items():
                if forms and forms[0] != DONTCARE and "|" not in forms[0]:
                    counts[slot][forms[0]] += 1
    return counts


def build_lexicon(schema: Schema, slots: Mapping[str, Profile], counts: Counts) -> Lexicon:
    """The lexicon of a schema, and of a training split's values."""
    lexicon = Lexicon()
    listed = {slot: _canonical(profile, counts.get(slot, Counter())) for slot, profile in slots.items()}
    venues = [listed[slot] for slot, profile in slots.items() if profile.is_name]
    for slot, profile in slots.items():
        values = listed[slot]
        if profile.kind == "name" and profile.role:
            # Where taxis go to places that other services list, they go to all of them.
            places = set(map(_letters, values))
            for names in venues:
                further = [name for name in names if _letters(name) not in places]
                values = [*values, *further] if len(names) - len(further) >= _SHARED else values
        _add_values(lexicon, profile, values)
        if counts:
            by_letter = lexicon.names.setdefault(slot, {})
            for value in values:
                by_letter.setdefault(_letters(value)[:1], {}).setdefault(_letters(value), value)
    _add_spoken(lexicon, slots)
    for profile in slots.values():
        for what in ("asked", "cues", "denied"):
            for phrase in getattr(profile.phrases, what):
                lexicon.add(phrase, what, profile.concept)
    for service in schema.services:
        for phrase in service_phrases(service):
            lexicon.add(phrase, "service", service.name)
    return lexicon


def _canonical(profile: Profile, counted: Counter[str]) -> list[str]:
    """One form for each value, the commonest; the commonest values first."""
    if profile.kind not in ("listed", "name", "open"):
        return []
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for value, count in counted.items():
        forms[_letters(value)][value] += count
    usual = () if counted or profile.values else table()["usual"].get(profile.concept, ())
    for value in (*profile.values, *usual):
        forms[_letters(value)][value] += 0
    kept = []
    for spellings in forms.values():
        value, total = max(spellings, key=lambda form: (spellings[form], form)), spellings.total()
        # A venue's name is believed if it has a word that is not said of any such place.
        is_telling = not profile.is_name or any(len(k) > 2 and k not in word_set("generic") for k in keys_of(value))
        if not total or value in profile.values or total >= _COMMON or (total >= _RARE and is_telling):
            kept.append((total, value))
    return [value for _, value in sorted(kept, key=lambda pair: (-pair[0], pair[1]))]


def _letters(value: str) -> str:
    keys = keys_of(value)
    return "".join(keys[1:] if keys[:1] == ("the",) and len(keys) > 1 else keys)


def _add_values(lexicon: Lexicon, profile: Profile, values: Sequence[str]) -> None:
    """As they are written, then by their synonyms, then without the words that only say what a place is."""
    for value in values:
        keys = keys_of(value)
        lexicon.add(keys, "value", profile.slot, value)
        if len(keys) > 1 and keys[0] == "the":
            lexicon.add(keys[1:], "value", profile.slot, value)
        if 1 < len(keys) <= 3 and all(key.isalpha() for key in keys):
            lexicon.add(("".join(keys),), "value", profile.slot, value)
    for value in values:
        for text in table()["synonyms"].get(value.lower(), ()):
            lexicon.add(keys_of(text), "value", profile.slot, value)
    for value in values if profile.kind == "name" else ():
        keys, generic = keys_of(value), word_set("generic")
        first, last = 0, len(keys)
        while first < last and keys[first] in generic:
            first += 1
        while last > first and keys[last - 1] in generic:
            last -= 1
        is_telling = any(len(key) >= _TELLING and key not in word_set("faint") for key in keys[first:last])
        if is_telling and last - first < len(keys):
            lexicon.add(keys[first:last], "value", profile.slot, value)


def _add_spoken(lexicon: Lexicon, slots: Mapping[str, Profile]) -> None:
    """Other words for numbers (`just me`) and, where no slot lists days, for dates (`next friday`)."""
    has_days = any(profile.concept == "day" for profile in slots.values())
    days = table()["days"]
    spoken = [*days["relative"], *(f"{word} {day}".strip() for word in days["before"] for day in days["names"])]
    for slot, profile in slots.items():
        if profile.kind == "number":
            for text in number_phrases(slot, 1.0):
                lexicon.add(keys_of(text), "value", slot, "1")
        elif profile.kind == "date" and not has_days:
            for text in spoken:
                lexicon.add(keys_of(text), "value", slot, text)


def evening_services(schema: Schema) -> frozenset[str]:
    """Services whose times are of the evening, unless they say: nobody dines at half past seven in the morning."""
    cues = {keys_of(cue) for topic in table()["topics"].values() if topic.get("evening") for cue in topic["cues"]}
    return frozenset(service.name for service in schema.services if not cues.isdisjoint(service_phrases(service)))


def service_phrases(service: Service) -> list[Phrase]:
    """The words by which people speak of a service: its name's, those of its topic, else its description's."""
    words = [key for key in keys_of(service.name) if not key.isdigit()]
    described = sorted(key_of(word) for word in content(service.description))
    topics = table()["topics"]
    named = [topic for topic in topics.values() if not set(topic["names"]).isdisjoint(words)]
    about = named or [topic for topic in topics.values() if not set(topic["names"]).isdisjoint(described)]
    phrases = [keys_of(cue) for topic in about for cue in topic["cues"]]
    if not about:
        phrases = [(word,) for word in described if word not in word_set("idle")]
    return list(dict.fromkeys([tuple(words), *phrases]))
