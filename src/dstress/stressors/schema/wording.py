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

_replace = msgspec.structs.replace
_Part = TypeVar("_Part", Slot, Intent, Service)
_NOT_A_LETTER = re.compile(r"[\W_]+")
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W0-9_A-Za-z]+")


Kind = Literal["service", "slot", "intent"]


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

    def reworded(parts: Sequence[_Part], kind: Kind, service: str = "") -> list[_Part]:
        old = [Element(kind, service or part.name, part.name, part.description) for part in parts]
        offers = [[name.strip() for name in names(element)] for element in old]
        if kind == "service":  # a slot id is parted at its first hyphen, so no service gets one
            offers = [[name.replace("-", "_") for name in offered] for offered in offers]
        return [
            _replace(part, name=new, description=description(element))
            for part, element, new in zip(parts, old, _choose(old, offers), strict=True)
        ]

    services = []
    for old, service in zip(schema.services, reworded(schema.services, "service"), strict=True):
        slots = reworded(old.slots, "slot", old.name)
        renamed = {before.name: after.name for before, after in zip(old.slots, slots, strict=True)}
        intents = [
            _replace(
                intent,
                required=tuple(renamed.get(slot, slot) for slot in intent.required),
                optional={renamed.get(slot, slot): default for slot, default in intent.optional.items()},
                result=tuple(renamed.get(slot, slot) for slot in intent.result),
            )
            for intent in reworded(old.intents, "intent", old.name)
        ]
        services.append(Service(service.name, service.description, tuple(slots), tuple(intents)))
    return Schema(tuple(services))


def _choose(elements: Sequence[Element], offers: Sequence[Sequence[str]]) -> list[str]:
    """A name for each, all different; one that is offered no other name keeps its own, and the others give way.

    Case and underscores do not tell two names apart: prediction formats fold them.
    """
    taken = {fold_name(element.name) for element, offered in zip(elements, offers, strict=True) if not offered}
    chosen = []
    for element, offered in zip(elements, offers, strict=True):
        candidates = chain(offered, [element.name], (f"{element.name}_{number}" for number in count(2)))
        free = (name for name in candidates if (folded := fold_name(name)) and folded not in taken)
        chosen.append(next(free) if offered else element.name)
        taken.add(fold_name(chosen[-1]))
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
