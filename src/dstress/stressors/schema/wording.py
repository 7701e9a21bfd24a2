"""A schema in other words: new names and descriptions for its services, slots and intents, in their places.

Whatever makes the words, the result is a schema that dialogues can follow: names are there and differ within their
service, a service's name has no hyphen (a slot id is parted at the first), and intents speak of slots by the new names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from typing import Literal, NamedTuple, TypeVar

import msgspec

from dstress.dialogue import Intent, Schema, Service, Slot

Kind = Literal["service", "slot", "intent"]
_Part = TypeVar("_Part", Slot, Intent)
_NOT_A_LETTER = re.compile(r"[\W_]+")
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W0-9_A-Za-z]+")


class Element(NamedTuple):
    """One service, slot or intent, as the original schema writes it."""

    kind: Kind
    service: str
    name: str
    description: str

    @property
    def key(self) -> str:
        """What its randomness hangs on: the same service of another split is changed in the same way."""
        return f"{self.kind} {self.service}-{self.name}"


Names = Callable[[Element], Iterable[str]]
"""New names for an element, the best first; the first that is still free in its place is taken."""

Description = Callable[[Element], str]


def reword(schema: Schema, names: Names, description: Description) -> Schema:
    """The schema with each name and description replaced; the number and order of its parts stay."""
    elements = [Element("service", service.name, service.name, service.description) for service in schema.services]
    # A slot id is parted at its first hyphen, so no service gets one.
    chosen = _choose(elements, lambda element: (name.replace("-", "_") for name in names(element)))
    services = []
    for service, element, name in zip(schema.services, elements, chosen, strict=True):
        text = description(element)
        slots = _reword_parts(service.slots, "slot", service.name, names, description)
        slot_names = {old.name: new.name for old, new in zip(service.slots, slots, strict=True)}
        intents = _reword_parts(service.intents, "intent", service.name, names, description)
        renamed = tuple(_rename_slots(intent, slot_names) for intent in intents)
        services.append(Service(name, text, tuple(slots), renamed))
    return Schema(tuple(services))


def _reword_parts(
    parts: Sequence[_Part], kind: Kind, service: str, names: Names, description: Description
) -> list[_Part]:
    """The slots or the intents of a service."""
    elements = [Element(kind, service, part.name, part.description) for part in parts]
    return [
        msgspec.structs.replace(part, name=name, description=description(element))
        for part, element, name in zip(parts, elements, _choose(elements, names), strict=True)
    ]


def _rename_slots(intent: Intent, names: dict[str, str]) -> Intent:
    return msgspec.structs.replace(
        intent,
        required=tuple(names.get(slot, slot) for slot in intent.required),
        optional={names.get(slot, slot): default for slot, default in intent.optional.items()},
        result=tuple(names.get(slot, slot) for slot in intent.result),
    )


def _choose(elements: Sequence[Element], names: Names) -> list[str]:
    """A name for each, all different; one that is offered no other name keeps its own, and the others give way.

    Case and underscores do not tell two names apart: prediction formats fold them.
    """
    offers = [[name.strip() for name in names(element)] for element in elements]
    taken = {fold_name(element.name) for element, offered in zip(elements, offers, strict=True) if not offered}
    chosen = []
    for element, offered in zip(elements, offers, strict=True):
        name = element.name
        if offered:
            numbered = (f"{element.name}_{number}" for number in count(2))
            candidates = chain(offered, [element.name], numbered)
            name = next(name for name in candidates if (folded := fold_name(name)) and folded not in taken)
        taken.add(fold_name(name))
        chosen.append(name)
    return chosen


def fold_name(name: str) -> str:
    """The letters and digits of a name, in one case: what tells two names apart."""
    return _NOT_A_LETTER.sub("", name).casefold()


def split_name(name: str) -> list[str]:
    """The words of a name: those of `alarm_time`, "alarm time" and `AlarmTime` are two."""
    return _NAME_WORD.findall(name)


def join_name(words: Sequence[str], like: str) -> str:
    """Words, in small letters, written as another name is: snake_case, with blanks, or CamelCase."""
    if "_" in like or like.islower():
        return (" " if " " in like else "_").join(words)
    return "".join(word.capitalize() for word in words)
