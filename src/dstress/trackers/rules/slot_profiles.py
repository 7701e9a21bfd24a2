"""What a schema tells of its slots: what kind of value each holds, and by which words people speak of it.

A slot's *concept* (`concepts.toml`) is what its name stands for in any schema: `leaveat`, `leave_at` and `leaving_time`
are all when a journey starts. A slot of no known concept goes by the words of its own name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal, NamedTuple

from dstress.dialogue import Schema, Service, Slot, slot_id
from dstress.text.coreference import bare_name
from dstress.text.letters import name_words
from dstress.text.numbers import counted, number_of
from dstress.text.slot_names import is_named_entity_slot, multiwoz_slots
from dstress.text.tables import read_table
from dstress.trackers.rules.words import key_of, keys_of, word_set

Kind = Literal["flag", "time", "date", "number", "listed", "name", "open"]
Phrase = tuple[str, ...]
_NUMBERED = re.compile(r"\w+_\d+")
_YES = frozenset({"yes", "true"})
_NO = frozenset({"no", "false"})


class Concept(NamedTuple):
    """A meaning that slots of many schemas share."""

    name: str
    slots: re.Pattern[str]
    kind: str = ""
    role: str = ""
    asked: tuple[Phrase, ...] = ()
    cues: tuple[Phrase, ...] = ()
    denied: tuple[Phrase, ...] = ()


class Profile(NamedTuple):
    """One slot as the tracker sees it.

    `role` parts where a journey starts from where it ends; `units` are the nouns it counts; `is_required` says that a
    transaction cannot do without it.
    """

    slot: str
    service: str
    kind: Kind
    concept: str
    role: str
    values: tuple[str, ...]
    asked: tuple[Phrase, ...]
    cues: tuple[Phrase, ...]
    denied: tuple[Phrase, ...]
    units: frozenset[str]
    is_required: bool

    @property
    def is_name(self) -> bool:
        """Whether it names a place or a thing, not an end of a journey."""
        return self.kind == "name" and not self.role

    def flag(self, wanted: bool) -> str:
        """The slot's own word for yes or no."""
        known = _YES if wanted else _NO
        return next((value for value in self.values if value.lower() in known), "yes" if wanted else "no")


@cache
def concepts() -> tuple[Concept, ...]:
    """The shipped concepts, in the order in which they are tried."""
    return tuple(_concept(name, entry) for name, entry in read_table(__package__, "concepts.toml").items())


def _concept(name: str, entry: dict[str, Any]) -> Concept:
    phrases = {part: map(keys_of, entry.get(part, ())) for part in ("asked", "cues", "denied")}
    return Concept(
        name,
        re.compile(entry["slots"]),
        entry.get("kind", ""),
        entry.get("role", ""),
        **{part: tuple(dict.fromkeys(filter(None, keys))) for part, keys in phrases.items()},
    )


class ValueStyle(NamedTuple):
    """How a corpus writes values: as they were said (SGD), or in lower case (MultiWOZ); else names keep their case."""

    as_said: bool = False
    lower: bool = False

    @classmethod
    def of(cls, schema: Schema) -> ValueStyle:
        """The style of the corpus that a schema belongs to."""
        return cls(is_numbered(schema), schema.slots.keys() >= set(multiwoz_slots()))


def is_numbered(schema: Schema) -> bool:
    """Whether services are variants of one another (`Hotels_1`, `Hotels_4`), as in SGD.

    SGD's task tells trackers which of them a dialogue is about, and takes values as they were said.
    """
    return bool(schema.services) and all(_NUMBERED.fullmatch(service.name) for service in schema.services)


def profiles(schema: Schema) -> dict[str, Profile]:
    """Every slot that a user can fill, by its id. What only answers a question (a phone number) is left out."""
    by_id = {}
    for service in schema.services:
        inputs = {name for intent in service.intents for name in (*intent.required, *intent.optional)}
        for slot in service.slots:
            if not inputs or slot.name in inputs:
                by_id[slot_id(service.name, slot.name)] = _profile(service, slot, schema)
    return by_id


def _profile(service: Service, slot: Slot, schema: Schema) -> Profile:
    name = slot_id(service.name, slot.name)
    bare = bare_name(name)
    concept = next((concept for concept in concepts() if concept.slots.fullmatch(bare)), None)
    own = _own_words(name, service)
    if concept is None:
        concept = Concept(bare, re.compile(""), asked=own, cues=own)
    units = frozenset(map(key_of, counted(name)[0])) - word_set("no_units")
    return Profile(
        slot=name,
        service=service.name,
        kind=_kind(name, slot, concept, schema),
        concept=concept.name,
        role=concept.role,
        values=slot.values,
        asked=concept.asked,
        cues=concept.cues,
        denied=concept.denied,
        units=units,
        is_required=any(slot.name in intent.required for intent in service.intents),
    )


def _own_words(slot: str, service: Service) -> tuple[Phrase, ...]:
    """The words of a slot's name, together and one by one, without those that say nothing."""
    idle = word_set("idle") | set(keys_of(service.name))
    keys = [key_of(word) for word in name_words(slot)]
    telling = [key for key in keys if key not in idle]
    return tuple(dict.fromkeys(filter(None, [tuple(keys), tuple(telling), *((key,) for key in telling)])))


def _kind(name: str, slot: Slot, concept: Concept, schema: Schema) -> Kind:
    values = {value.lower() for value in slot.values}
    if values and values <= _YES | _NO:
        return "flag"
    if values:
        return "number" if all(number_of(value) is not None for value in values) else "listed"
    if concept.kind:
        return concept.kind  # type: ignore[return-value]  # the table holds kinds only
    return _kind_by_words(name, slot, schema)


def _kind_by_words(name: str, slot: Slot, schema: Schema) -> Kind:
    words, described = set(name_words(name)), slot.description.lower().split()
    if "number" in words or described[:2] == ["number", "of"] or counted(name)[1] not in ("", "clock", "ordinal"):
        return "number"
    if "date" in words or "date" in described[:2]:
        return "date"
    if "time" in words or "time" in described[:2]:
        return "time"
    return "name" if is_named_entity_slot(name, schema) else "open"
