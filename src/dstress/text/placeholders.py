"""Placeholders of delexicalised responses, such as `[hotel_name]`: what they stand for, and whose they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from dstress.dialogue import Frame, Schema, Service
from dstress.text.detokenised import join_contractions
from dstress.text.tables import read_table

NAME, TRAIN_ID, REFERENCE, PLACE = "NAME", "TRAINID", "REFERENCE", "PLACE"
_LISTENED_FOR = frozenset({"PHONE", "ADDRESS", "POST", REFERENCE, TRAIN_ID})
"""What of MultiWOZ's requests mwzeval's script listens for."""
_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:-?e?s)?")
"""With the plural that a template may put behind it."""


class Placeholders:
    """Placeholders of a schema's responses, by *kind*: `[hotel_name]` and `[value_name]` are both `NAME`.

    MultiWOZ's go by mwzeval's table and no other; any other service's are its slots, `[slot]` or `[service_slot]`. A
    service of a corpus of one's own that is called like one of MultiWOZ's is known by slots that the table lacks.
    """

    def __init__(self, schema: Schema) -> None:
        self._kinds = dict(_multiwoz_kinds())
        self._services = {service.name.casefold(): service.name for service in schema.services}
        self.own = {service.name for service in schema.services if not _is_multiwoz(service)}
        for service in schema.services:
            if service.name in self.own:
                for slot in (*(slot.name for slot in service.slots), *service.requestable):
                    name = slot.casefold()
                    kind = self._kinds.setdefault(name, name.upper().replace(" ", "_"))
                    self._kinds[f"{service.name.casefold()}_{name}"] = kind

    def kind(self, name: str) -> str | None:
        """The kind of a placeholder by its name, None where nobody knows it."""
        return self._kinds.get(name.casefold())

    def name(self, service: str, slot: str) -> str:
        """The placeholder of a service's slot, `hotel_name` before `name`; empty where nobody knows one."""
        return next(filter(self.kind, (f"{service}_{slot}", slot)), "")

    def answering(self, slot: str) -> str | None:
        """The kind that answers a request for a slot, by its id; None where no answer is listened for."""
        service, _, name = slot.partition("-")
        kind = self.kind(name)
        return kind if service in self.own or kind in _LISTENED_FOR else None

    def names(self, response: str) -> list[str]:
        """The names of the placeholders in a response."""
        return _PLACEHOLDER.findall(response.lower()) if "[" in response else []

    def services(self, names: list[str]) -> set[str]:
        """The services that placeholders name: the hotel of `[hotel_name]`."""
        return {service for name in names if (service := self._services.get(name.partition("_")[0]))}

    def unify(self, response: str) -> str:
        """A response in lower case with every placeholder's kind in its place; one that nobody knows goes away."""
        return _PLACEHOLDER.sub(lambda found: self.kind(found[1]) or "", response.lower())


def delexicalise_by_spans(text: str, frames: Sequence[Frame]) -> str:
    """What a system says, with a placeholder for every value that its frames mark."""
    spans = sorted((span.start, span.end, span.slot) for frame in frames for span in frame.spans)
    pieces, done = [], 0
    for start, end, slot in spans:
        if start >= done:
            pieces += [text[done:start], f"[{slot.removeprefix('book ')}]"]
            done = end
    return join_contractions("".join([*pieces, text[done:]]))


@cache
def _multiwoz_kinds() -> dict[str, str]:
    kinds: dict[str, str] = {}
    for kind, names in read_table(__package__, "data/placeholders.toml").items():
        for name in names:
            services, underscore, slot = name.rpartition("_")
            kinds |= {f"{service}{underscore}{slot}": kind for service in services.split("|")}
    return kinds


def _is_multiwoz(service: Service) -> bool:
    known = _multiwoz_kinds()
    named = any(name.startswith(f"{service.name}_") for name in known)
    return named and all(slot.name.replace(" ", "") in known for slot in service.slots)
