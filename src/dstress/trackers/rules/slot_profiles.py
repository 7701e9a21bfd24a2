"""What a schema tells of its slots: what kind of value each holds, and by which words people speak of it.

A slot's *concept* (`concepts.toml`) is what its name stands for in any schema: `leaveat`, `leave_at` and `leaving_time`
are all when a journey starts. A slot of no known concept goes by the words of its own name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from dstress.dialogue import Schema, Slot, slot_id
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

    `role` tells where a journey starts from where it ends; `units` are the nouns it counts; `is_required` says that a
    transaction cannot do without it.
    """

    slot: str
    service: str
    kind: Kind
    concept: str
    role: str
    values: tuple[str, ...]
    phrases: Concept
    units: frozenset[str]
    is_required: bool

    @property
    def is_name(self) -> bool:
        """Whether it names a place or a thing, not an end of a journey."""
        return self.kind == "name" and not self.role

    def flag(self, is_yes: bool) -> str:
        """The slot's own word for yes or no."""
        words = _YES if is_yes else _NO
        return next((value for value in self.values if value.lower() in words), "yes" if is_yes else "no")


@cache
def concepts() -> tuple[Concept, ...]:
    """The shipped concepts, in the order in which they are tried."""
    shipped = []
    for name, entry in read_table(__package__, "concepts.toml").items():
        phrases = {part: map(keys_of, entry.get(part, ())) for part in ("asked", "cues", "denied")}
        unique = {part: tuple(dict.fromkeys(filter(None, keys))) for part, keys in phrases.items()}
        shipped.append(
            Concept(name, re.compile(entry["slots"]), entry.get("kind", ""), entry.get("role", ""), **unique)
        )
    return tuple(shipped)


class ValueStyle(NamedTuple):
    """How a corpus writes values: original (SGD), or in lower case (MultiWOZ); else names keep their case."""

    as_said: bool = False
    lower: bool = False

    @classmethod
    def of(cls, schema: Schema) -> ValueStyle:
        """The style of the corpus that a schema belongs to."""
        # Services that are variants of one another (`Hotels_1`, `Hotels_4`) are SGD's.
        names = [service.name for service in schema.services]
        return cls(bool(names) and all(map(_NUMBERED.fullmatch, names)), schema.slots.keys() >= set(multiwoz_slots()))


def profiles(schema: Schema) -> dict[str, Profile]:
    """Every slot that a user can fill, by its id. What only answers a question (a phone number) is left out."""
    by_id = {}
    for service in schema.services:
        inputs = {name for intent in service.intents for name in (*intent.required, *intent.optional)}
        required = {name for intent in service.intents for name in intent.required}
        for slot in service.slots:
            if inputs and slot.name not in inputs:
                continue
            id = slot_id(service.name, slot.name)
            concept = next((each for each in concepts() if each.slots.fullmatch(bare_name(id))), None)
            if concept is None:
                # The words of its name, together and one by one, without those that say nothing.
                keys = [key_of(word) for word in name_words(id)]
                telling = [key for key in keys if key not in word_set("idle") and key not in keys_of(service.name)]
                phrases = [tuple(keys), tuple(telling), *((key,) for key in telling)]
                own = tuple(dict.fromkeys(filter(None, phrases)))
                concept = Concept(bare_name(id), re.compile(""), asked=own, cues=own)
            by_id[id] = Profile(
                slot=id,
                service=service.name,
                kind=_kind(id, slot, concept, schema),
                concept=concept.name,
                role=concept.role,
                values=slot.values,
                phrases=concept,
                units=frozenset(map(key_of, counted(id)[0])) - word_set("no_units"),
                is_required=slot.name in required,
            )
    return by_id


def _kind(id: str, slot: Slot, concept: Concept, schema: Schema) -> Kind:
    """By its values, if the schema lists them; else by its concept; else by the words for it."""
    if values := {value.lower() for value in slot.values}:
        if values <= _YES | _NO:
            return "flag"
        return "number" if all(number_of(value) is not None for value in values) else "listed"
    if concept.kind:
        return concept.kind  # type: ignore[return-value]  # the table holds kinds only
    words, described = set(name_words(id)), slot.description.lower().split()
    if "number" in words or described[:2] == ["number", "of"] or counted(id)[1] not in ("", "clock", "ordinal"):
        return "number"
    if "date" in words or "date" in described[:2]:
        return "date"
    if "time" in words or "time" in described[:2]:
        return "time"
    return "name" if is_named_entity_slot(id, schema) else "open"
