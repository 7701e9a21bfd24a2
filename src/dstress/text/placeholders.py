"""Placeholders of delexicalised responses, such as `[hotel_name]`: what they stand for, and whose they are."""

from __future__ import annotations

import re
from functools import cache

from dstress.dialogue import Schema
from dstress.text.tables import read_table

NAME, TRAIN_ID, REFERENCE, PLACE = "NAME", "TRAINID", "REFERENCE", "PLACE"
_LISTENED_FOR = frozenset({"PHONE", "ADDRESS", "POST", REFERENCE, TRAIN_ID})
"""What of MultiWOZ's requests mwzeval's script listens for."""
_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:-?e?s)?")
"""With the plural that a template may put behind it."""


class Placeholders:
    """Placeholders of a schema's responses, by *kind*: `[hotel_name]` and `[value_name]` are both `NAME`.

    MultiWOZ's go by mwzeval's table and no other; any other service's are its slots, `[slot]` or `[service_slot]`.
    """

    def __init__(self, schema: Schema) -> None:
        self._kinds = dict(_multiwoz_kinds())
        self._services = {service.name.casefold(): service.name for service in schema.services}
        for service in schema.services:
            if service.name not in _multiwoz_services():
                for slot in (*(slot.name for slot in service.slots), *service.requestable):
                    name = slot.casefold()
                    kind = self._kinds.setdefault(name, name.upper().replace(" ", "_"))
                    self._kinds[f"{service.name.casefold()}_{name}"] = kind

    def kind(self, name: str) -> str | None:
        """The kind of a placeholder by its name, None where nobody knows it."""
        return self._kinds.get(name.casefold())

    def answering(self, slot: str) -> str | None:
        """The kind that answers a request for a slot, by its id; None where no answer is listened for."""
        service, _, name = slot.partition("-")
        kind = self.kind(name)
        return kind if service not in _multiwoz_services() or kind in _LISTENED_FOR else None

    def names(self, response: str) -> list[str]:
        """The names of the placeholders in a response."""
        return _PLACEHOLDER.findall(response.lower()) if "[" in response else []

    def services(self, names: list[str]) -> set[str]:
        """The services that placeholders name: the hotel of `[hotel_name]`."""
        return {service for name in names if (service := self._services.get(name.partition("_")[0]))}

    def unify(self, response: str) -> str:
        """A response in lower case with every placeholder's kind in its place; one that nobody knows goes away."""
        return _PLACEHOLDER.sub(lambda found: self.kind(found[1]) or "", response.lower())


@cache
def _multiwoz_kinds() -> dict[str, str]:
    kinds: dict[str, str] = {}
    for kind, names in read_table(__package__, "data/placeholders.toml").items():
        for name in names:
            services, underscore, slot = name.rpartition("_")
            kinds |= {f"{service}{underscore}{slot}": kind for service in services.split("|")}
    return kinds


@cache
def _multiwoz_services() -> frozenset[str]:
    return frozenset(name.partition("_")[0] for name in _multiwoz_kinds() if "_" in name)
