"""How the field spells slots, and how a schema does: `hotel-book_people`, `hotel-people`, `hotel-bookpeople` ...

Every prediction format and corpus copy spells MultiWOZ's slots its own way. A `SlotNames` settles them against one
schema; without a schema the MultiWOZ names of the CoCo and GCA papers are the reference, and other services keep
their own spelling. What the values of a slot are (restaurants, towns, times) is read off its name too.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial

from dstress.dialogue import Schema, Slot, slot_id
from dstress.text.tables import read_table, word_sets
from dstress.text.tokens import ALPHANUMERIC

_SQUASHED = re.compile(r"[\s_\-]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[a-zA-Z])(?=\d)")


_table = cache(partial(read_table, __package__, "data/slot_names.toml"))
_kinds = cache(partial(read_table, __package__, "data/slot_kinds.toml"))
_entity_words = word_sets(__package__, "data/slot_names.toml")


@cache
def multiwoz_slots() -> tuple[str, ...]:
    """The thirty slot ids of MultiWOZ, in the order of the CoCo paper's tables."""
    return tuple(_table()["multiwoz"])


class SlotNames:
    """Settles a service and a slot, spelled anyhow, into a slot id."""

    def __init__(self, schema: Schema | None = None) -> None:
        slots = multiwoz_slots() if schema is None else (*schema.slots, *schema.requestable)
        self._exact = frozenset(slots)
        self._by_letters = {_squash(slot): slot for slot in slots}
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
        parts = text.split(maxsplit=1)
        settled = self(*parts) if len(parts) == 2 else text
        return settled if settled in self._exact else text

    def _settle(self, service: str, slot: str) -> str:
        if slot_id(service, slot) in self._exact:
            return slot_id(service, slot)
        bare = _squash(slot)
        # MultiWOZ 2.2 repeats the service in the slot's name: `hotel`, `hotel-bookday`.
        short = bare.removeprefix(_squash(service))
        for form in dict.fromkeys((bare, short)):
            for candidate in (form, "book" + form, _table()["aliases"].get(form, "")):
                if candidate and (settled := self._by_letters.get(_squash(service) + candidate)):
                    return settled
        return slot_id(service, slot)


def _squash(text: str) -> str:
    return _SQUASHED.sub("", text).casefold()


def is_named_entity_slot(slot: str, schema: Schema) -> bool:
    """Whether the values of a slot id are names that a tracker has to copy from the dialogue.

    MultiWOZ: the slots that CheckDST's class checks. Other schemas: slots that are not categorical and whose name and
    description speak of no time, date, number or kind. A slot that no schema knows is none.
    """
    if slot in _entity_words("entities.multiwoz"):
        return True
    entry = schema.slots.get(slot)
    return entry is not None and slot not in multiwoz_slots() and _is_name(entry)


@lru_cache(maxsize=16_384)
def _is_name(slot: Slot) -> bool:
    if slot.categorical:
        return False
    in_name = _verdict(_words(_CAMEL.sub(" ", slot.name)))
    if in_name is not None:
        return in_name
    # A description says what it is in the words before its first opener ("name of the restaurant": name).
    words = _words(slot.description)
    ends = (number for number, word in enumerate(words) if word in _entity_words("entities.openers"))
    return _verdict(words[: next(ends, len(words))]) is not False


def _words(text: str) -> list[str]:
    return ALPHANUMERIC.findall(text.casefold())


def _verdict(words: list[str]) -> bool | None:
    """What words say of a slot: a name, something else, or nothing. The last telling word is the noun's head."""
    kept, excluded = _entity_words("entities.kept"), _entity_words("entities.excluded")
    return next((word in kept for word in reversed(words) if word in kept or word in excluded), None)


@cache
def kind_of(slot: str) -> str:
    """The kind of a slot id's values, such as `hotel` or `time`; empty if nothing is known of it."""
    folded = slot.lower()
    return next((kind for kind, entry in _kinds().items() if re.search(entry["slots"], folded)), "")


def also(kind: str) -> tuple[str, ...]:
    """Other kinds whose values fit this one: a taxi goes to a hotel as well as to a museum."""
    return tuple(_kinds().get(kind, {}).get("any", ()))
