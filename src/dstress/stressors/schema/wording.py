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
_Described = TypeVar("_Described", Slot, Intent)
_NOT_A_LETTER = re.compile(r"[\W_]+")


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


def reworded(schema: Schema, names: Names, description: Description) -> Schema:
    """The schema with each name and description replaced; the number and order of its parts stay."""
    found = [Element("service", service.name, service.name, service.description) for service in schema.services]
    chosen = _chosen(found, lambda element: map(_no_hyphen, names(element)))
    services = [
        _service(service, names, description, name, description(element))
        for service, element, name in zip(schema.services, found, chosen, strict=True)
    ]
    return Schema(tuple(services))


def _service(service: Service, names: Names, description: Description, name: str, told: str) -> Service:
    found = [Element("slot", service.name, slot.name, slot.description) for slot in service.slots]
    chosen = _chosen(found, names)
    slots = [
        _described(slot, new, description(element))
        for slot, element, new in zip(service.slots, found, chosen, strict=True)
    ]
    renamed = {slot.name: new for slot, new in zip(service.slots, chosen, strict=True)}
    found = [Element("intent", service.name, intent.name, intent.description) for intent in service.intents]
    intents = [
        _of_slots(_described(intent, new, description(element)), renamed)
        for intent, element, new in zip(service.intents, found, _chosen(found, names), strict=True)
    ]
    return Service(name, told, tuple(slots), tuple(intents))


def _described(element: _Described, name: str, description: str) -> _Described:
    return msgspec.structs.replace(element, name=name, description=description)


def _of_slots(intent: Intent, names: dict[str, str]) -> Intent:
    return msgspec.structs.replace(
        intent,
        required=tuple(names.get(slot, slot) for slot in intent.required),
        optional={names.get(slot, slot): default for slot, default in intent.optional.items()},
        result=tuple(names.get(slot, slot) for slot in intent.result),
    )


def _chosen(elements: Sequence[Element], names: Names) -> list[str]:
    """A name for each, all different; one that is offered no other name keeps its own, and the others give way.

    Case and underscores do not tell two names apart: prediction formats fold them.
    """
    offered = [[name.strip() for name in names(element)] for element in elements]
    taken = {_folded(element.name) for element, found in zip(elements, offered, strict=True) if not found}
    chosen = []
    for element, found in zip(elements, offered, strict=True):
        name = _free([*found, element.name], element.name, taken) if found else element.name
        taken.add(_folded(name))
        chosen.append(name)
    return chosen


def _free(names: Iterable[str], original: str, taken: set[str]) -> str:
    numbered = (f"{original}_{number}" for number in count(2))
    return next(name for name in chain(names, numbered) if (folded := _folded(name)) and folded not in taken)


def _folded(name: str) -> str:
    return _NOT_A_LETTER.sub("", name).casefold()


def _no_hyphen(name: str) -> str:
    return name.replace("-", "_")
