"""How the field spells slots, and how a schema does: `hotel-book_people`, `hotel-people`, `hotel-bookpeople` ...

Every prediction format and corpus copy spells MultiWOZ's slots its own way. A `SlotNames` settles them against one
schema; without a schema the MultiWOZ names of the CoCo and GCA papers are the reference, and other services keep
their own spelling.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from dstress.dialogue import Schema, slot_id

_SQUASHED = re.compile(r"[\s_\-]+")


@cache
def _aliases() -> dict[str, str]:
    text = files("dstress").joinpath("naming.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)["aliases"])


@cache
def multiwoz_slots() -> tuple[str, ...]:
    """The thirty slot ids of MultiWOZ, in the order of the CoCo paper's tables."""
    text = files("dstress").joinpath("naming.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["multiwoz"])


class SlotNames:
    """Settles a service and a slot, spelled anyhow, into a slot id."""

    def __init__(self, schema: Schema | None = None) -> None:
        known = schema.slots if schema is not None else multiwoz_slots()
        self._exact = frozenset(known)
        self._known = {_squash(slot): slot for slot in known}
        self._settled: dict[tuple[str, str], str] = {}

    def __call__(self, service: str, slot: str) -> str:
        """The schema's slot id, or `service-slot` as it was spelled when the schema has none like it."""
        key = (service, slot)
        if key not in self._settled:
            self._settled[key] = self._settle(service, slot)
        return self._settled[key]

    def split(self, text: str) -> str:
        """Settle a slot id that is one text, such as `hotel-book_people`; CheckDST parts with a blank: `hotel people`.

        A text that has no hyphen and is no known slot stays as it is.
        """
        service, hyphen, slot = text.partition("-")
        if hyphen:
            return self(service, slot)
        found = self(*text.split(maxsplit=1)) if len(text.split(maxsplit=1)) == 2 else text
        return found if found in self._exact else text

    def _settle(self, service: str, slot: str) -> str:
        if slot_id(service, slot) in self._exact:
            return slot_id(service, slot)
        bare = _squash(slot)
        # MultiWOZ 2.2 repeats the service in the slot's name: `hotel`, `hotel-bookday`.
        short = bare.removeprefix(_squash(service))
        for form in dict.fromkeys((bare, short)):
            for candidate in (form, "book" + form, _aliases().get(form, "")):
                found = self._known.get(_squash(service) + candidate) if candidate else None
                if found:
                    return found
        return slot_id(service, slot)


def _squash(text: str) -> str:
    return _SQUASHED.sub("", text).casefold()
