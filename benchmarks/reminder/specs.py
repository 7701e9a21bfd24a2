"""The simulator's data files as typed structs: one TOML file per service, and the words that all services share.

Schema, phrasings and names are data, so that a new service is one more file and no code.
"""

from __future__ import annotations

from functools import cache, cached_property

import msgspec

from dstress.text.tables import read_table

SERVICES = ("reminders", "taxi", "tables", "rooms", "trips", "events")
Texts = tuple[str, ...]


class SlotSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A slot and every way to speak of it. `{v}` in a phrasing stands for the value, `{v.old}` for the one before.

    `role` says who brings the slot up: `search` and `book` slots are asked for, `extra` ones sometimes, `alternative`
    ones replace another slot, `name` is the entity itself, and `info` can only be requested.
    """

    name: str
    description: str
    kind: str
    role: str
    adjective: bool = False
    head: bool = False
    evening: bool = False
    pool: str = ""
    noun: Texts = ()
    values: Texts = ()
    surface_forms: dict[str, Texts] = {}
    post: Texts = ()
    post_no: Texts = ()
    barred: dict[str, Texts] = {}
    confirm: str = ""
    say: Texts = ()
    say_no: Texts = ()
    say_for: dict[str, Texts] = {}
    say_barred: Texts = ()
    answer: Texts = ()
    answer_for: dict[str, Texts] = {}
    special: dict[str, Texts] = {}
    ask: Texts = ()
    any: Texts = ()
    change: Texts = ()
    change_no: Texts = ()
    drop: Texts = ()
    denied: Texts = ()
    denied_no: Texts = ()
    refer: dict[str, Texts] = {}
    refer_post: Texts = ()
    request: Texts = ()
    inform: Texts = ()

    @property
    def categorical(self) -> bool:
        """Whether the schema lists all values; then the state holds the listed value only, never a surface form."""
        return self.kind in ("choice", "flag", "weekday")


class IntentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing a service can do."""

    name: str
    description: str
    transactional: bool = False


class ServiceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A service: its schema, and how its users and its desk speak."""

    name: str
    description: str
    label: str
    nouns: Texts
    booking: str
    open: Texts
    open_terse: Texts
    cancel: Texts
    amend: Texts
    amend_slot: str
    amend_what: str
    success: Texts
    together: Texts
    intents: tuple[IntentSpec, ...]
    slots: tuple[SlotSpec, ...]
    entities: str = ""
    limited: str = ""
    open_booking: Texts = ()
    offer: Texts = ()
    failure: Texts = ()

    def slot(self, name: str) -> SlotSpec:
        """The slot of that bare name."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, SlotSpec]:
        return {slot.name: slot for slot in self.slots}

    def having(self, *roles: str) -> tuple[SlotSpec, ...]:
        """The slots of these roles, in schema order."""
        return tuple(slot for slot in self.slots if slot.role in roles)


class KindSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Phrasings that fit every slot of one kind, such as all times."""

    answer: Texts = ()
    answer_no: Texts = ()
    change: Texts = ()
    any: Texts = ()


class GoalWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a goal is put to its user."""

    wants: Texts
    asks: str
    fails: str


class CommonPhrasings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said whatever the service."""

    kinds: dict[str, KindSpec]
    user: dict[str, Texts]
    system: dict[str, Texts]
    goal: GoalWords
    chat: dict[str, Texts]


class Pool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of one kind: those of all splits, and those that only the test split has."""

    seen: Texts
    unseen: Texts


@cache
def services() -> dict[str, ServiceSpec]:
    """All services by name, in schema order."""
    return {name: msgspec.convert(read_table(__package__, f"{name}.toml"), ServiceSpec) for name in SERVICES}


@cache
def words() -> CommonPhrasings:
    """The shared phrasings."""
    return msgspec.convert(read_table(__package__, "chat.toml"), CommonPhrasings)


@cache
def pools() -> dict[str, Pool]:
    """All names, as they are spoken (with their article)."""
    return msgspec.convert(read_table(__package__, "names.toml"), dict[str, Pool])


SEEN_IN_TEST = 10
"""How many seen names of each kind return in the test split, beside all the unseen ones."""


def bare_name(spoken: str) -> str:
    """A name without the article that is only spoken: `the Larkspur Inn` -> `Larkspur Inn`."""
    return spoken.removeprefix("the ")


@cache
def articles() -> dict[str, str]:
    """Which names are spoken with an article."""
    spoken = [name for pool in pools().values() for name in pool.seen + pool.unseen]
    return {bare_name(name): name[: len(name) - len(bare_name(name))] for name in spoken}


@cache
def names(pool: str, split: str) -> Texts:
    """The names of a kind that a split may use, without articles."""
    chosen = pools()[pool]
    spoken = chosen.unseen + chosen.seen[:SEEN_IN_TEST] if split == "test" else chosen.seen
    return tuple(bare_name(name) for name in spoken)
