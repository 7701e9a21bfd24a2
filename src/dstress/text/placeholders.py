"""Placeholders of delexicalised responses, such as `[hotel_name]`: their kinds and their services.

Different systems write different placeholders for one thing: `[hotel_name]`, `[restaurant_name]` and `[value_name]` are
all of the *kind* `NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from dstress.dialogue import Frame, Schema
from dstress.text.detokenised import join_contractions
from dstress.text.tables import read_table

NAME, TRAIN_ID, REFERENCE, PLACE = "NAME", "TRAINID", "REFERENCE", "PLACE"
_SCORED_REQUESTS = frozenset({"PHONE", "ADDRESS", "POST", REFERENCE, TRAIN_ID})
"""The kinds of MultiWOZ's requests whose answers mwzeval's script checks; it ignores all others."""
_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:-?e?s)?")
"""A placeholder with the plural ending that a template may add: `[hotel_name]s`."""


class Placeholders:
    """The placeholders that responses under a schema may have.

    MultiWOZ's are those of mwzeval's table. A custom service, any other, has one for each slot: `[slot]` or
    `[service_slot]`. A service with a name of MultiWOZ's is custom too if it has a slot that the table lacks.
    """

    def __init__(self, schema: Schema) -> None:
        self._kinds = dict(_multiwoz_kinds())
        self._services = {service.name.casefold(): service.name for service in schema.services}
        self.custom_services: set[str] = set()
        for service in schema.services:
            has_known_name = any(name.startswith(f"{service.name}_") for name in _multiwoz_kinds())
            if has_known_name and all(slot.name.replace(" ", "") in _multiwoz_kinds() for slot in service.slots):
                continue
            self.custom_services.add(service.name)
            for slot in (*(slot.name for slot in service.slots), *service.requestable):
                name = slot.casefold()
                kind = self._kinds.setdefault(name, name.upper().replace(" ", "_"))
                self._kinds[f"{service.name.casefold()}_{name}"] = kind

    def kind(self, name: str) -> str | None:
        """The kind of a placeholder, from its name without brackets; None if it is unknown."""
        return self._kinds.get(name.casefold())

    def name(self, service: str, slot: str) -> str:
        """The name of the placeholder for a service's slot: `hotel_name`, else `name`; empty if both are unknown."""
        return next(filter(self.kind, (f"{service}_{slot}", slot)), "")

    def requested_kind(self, slot: str) -> str | None:
        """The kind that a response must have to answer a request for a slot (an id); None if no answer is scored."""
        service, _, name = slot.partition("-")
        kind = self.kind(name)
        return kind if service in self.custom_services or kind in _SCORED_REQUESTS else None

    def names(self, response: str) -> list[str]:
        """The names of the placeholders in a response."""
        return _PLACEHOLDER.findall(response.lower()) if "[" in response else []

    def services(self, names: list[str]) -> set[str]:
        """The services that the names of placeholders begin with: `hotel` of `hotel_name`."""
        return {service for name in names if (service := self._services.get(name.partition("_")[0]))}

    def unify(self, response: str) -> str:
        """A response in lower case with each placeholder replaced by its kind, and unknown ones removed."""
        return _PLACEHOLDER.sub(lambda match: self.kind(match[1]) or "", response.lower())


def delexicalise_by_spans(text: str, frames: Sequence[Frame]) -> str:
    """A system's utterance with a placeholder `[slot]` in place of each value that its frames have a span of."""
    spans = sorted((span.start, span.end, span.slot) for frame in frames for span in frame.spans)
    pieces, done = [], 0
    for start, end, slot in spans:
        if start >= done:
            pieces += [text[done:start], f"[{slot.removeprefix('book ')}]"]
            done = end
    return join_contractions("".join([*pieces, text[done:]]))


@cache
def _multiwoz_kinds() -> dict[str, str]:
    """The kind of each placeholder's name in mwzeval's table."""
    kinds: dict[str, str] = {}
    for kind, names in read_table(__package__, "data/placeholders.toml").items():
        for name in names:
            services, underscore, slot = name.rpartition("_")
            kinds |= {f"{service}{underscore}{slot}": kind for service in services.split("|")}
    return kinds
