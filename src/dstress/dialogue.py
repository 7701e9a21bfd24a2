"""The words of the house: what a schema, a dialogue, a turn, a frame and a state are.

Everything else speaks in these structs. They are frozen, serialise to JSON as they are (one dialogue per line is the
dstress corpus format).

A *slot id* is `service-slot`, such as `hotel-book day` or `Restaurants_1-city`; a service's name has no hyphen, so
the first one parts them. Inside a frame, where the service is known, slots go by their bare names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import msgspec

from dstress.display import Displayed

State = dict[str, tuple[str, ...]]
"""Gold: slot id -> every accepted form of the value, the preferred one first. An absent slot is inactive."""

DONTCARE = "dontcare"
"""The value of a slot that the user was asked about and leaves open. Never the same as an absent slot."""

ALL = " + "
"""Between the values of a slot that are all wanted, in order: `mushrooms + olives`."""

RECOVERABLE, LOST = "recoverable", "lost"
"""Tags of turns that were misheard: whether what the label takes from the words can still be told from them."""


class _Data(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Frozen, compact in JSON, and out of the garbage collector's sight: these trees never hold a cycle."""


class Slot(_Data, frozen=True):
    """One thing a service wants to know. `values` lists the possible ones; they are complete if `categorical`."""

    name: str
    description: str = ""
    categorical: bool = False
    values: tuple[str, ...] = ()


class Intent(_Data, frozen=True):
    """One thing a service can do. `optional` maps each optional slot to its default value."""

    name: str
    description: str = ""
    transactional: bool = False
    required: tuple[str, ...] = ()
    optional: dict[str, str] = {}
    result: tuple[str, ...] = ()


class Service(_Data, frozen=True):
    """One service (MultiWOZ calls it a domain): its slots and intents, in the order of its schema.

    `requestable` are names of slots that users only ask for, where the corpus tells them apart: no state holds them.
    """

    name: str
    description: str = ""
    slots: tuple[Slot, ...] = ()
    intents: tuple[Intent, ...] = ()
    requestable: tuple[str, ...] = ()


class Schema(Displayed, msgspec.Struct, frozen=True, dict=True):
    """All services that a split's dialogues may use."""

    services: tuple[Service, ...] = ()

    def __repr__(self) -> str:
        return f"Schema({len(self.services)} services, {len(self.slots)} slots)"

    @cached_property
    def by_name(self) -> dict[str, Service]:
        """Services by their names."""
        return {service.name: service for service in self.services}

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Every slot by its slot id, in schema order."""
        return {slot_id(service.name, slot.name): slot for service in self.services for slot in service.slots}

    @cached_property
    def requestable(self) -> frozenset[str]:
        """The slot ids that no state holds; a tracker that fills one is wrong."""
        return frozenset(slot_id(service.name, slot) for service in self.services for slot in service.requestable)


class Span(_Data, frozen=True):
    """Where an utterance says a slot's value: characters `start` to `end` (exclusive)."""

    slot: str
    start: int
    end: int


class Act(_Data, frozen=True):
    """One dialogue act of a frame's service: `INFORM date "the 8th"`. `canonical` holds the normalised values."""

    act: str
    slot: str = ""
    values: tuple[str, ...] = ()
    canonical: tuple[str, ...] = ()


class Frame(_Data, frozen=True):
    """What one utterance says about one service. Its part of the state is `Turn.state_of(service)`."""

    service: str
    intent: str = ""
    requested: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    acts: tuple[Act, ...] = ()


class Tool(_Data, frozen=True):
    """One tool that may be called. `parameters` is its JSON schema: `properties` by name, and which are `required`."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Call(_Data, frozen=True):
    """One tool, called with arguments: JSON values of any type, also nested."""

    tool: str
    arguments: dict[str, Any] = {}


class GoldCall(_Data, frozen=True):
    """A call that is expected: each argument's accepted values; an empty text among them says that it may be left out.

    Inside an object, every member again lists its accepted values. This is the form of the Berkeley leaderboard's
    answers. A call without a tool stands for any call.
    """

    tool: str
    arguments: dict[str, tuple[Any, ...]] = {}

    def plain(self) -> Call:
        """The call with the first accepted value of every argument that has one."""
        first = (
            (name, next((value for value in values if value != ""), "")) for name, values in self.arguments.items()
        )
        return Call(self.tool, {name: _first_values(value) for name, value in first if value != ""})


class Coreference(_Data, frozen=True):
    """A slot whose value the user only refers to: `expression` ("the same day") stands for a value of `turn`."""

    slot: str
    expression: str
    value: str = ""
    turn: int = -1


class Edit(_Data, frozen=True):
    """One change of a text: at character `start` of the original, `before` became `after`."""

    start: int
    before: str
    after: str


class Stress(_Data, frozen=True):
    """What stressors did to a turn: the turn as it was, and how its two utterances changed.

    `alone` says that the turn was changed by itself: later turns follow on the turn as it was (or on `base`, the turn
    as stressors of the whole dialogue left it). `tags` group results, such as the seen and the unseen values;
    `fallbacks` say why a stressor left the turn as it was. `tools` says that other tools may be called. `counts` are
    what a stressor counted on the way, such as the candidates that a filter rejected.
    """

    original: Turn
    edits: tuple[Edit, ...] = ()
    system_edits: tuple[Edit, ...] = ()
    alone: bool = False
    base: Turn | None = None
    tags: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    tools: bool = False


class Turn(_Data, frozen=True):
    """A system utterance (empty at the start) and the user utterance that follows it.

    `state` is cumulative: all that the user wants after this utterance, over all services. `frames` are the services
    that the user's utterance is about, `system_frames` those of the system's. `ood` marks an utterance out of domain.
    `booked` are the services for which the system holds a booking's reference as it answers. `calls` are those that
    the turn asks for: none at all where nothing may be called, None where the corpus does not say. `stress` is there
    where a stressor changed the turn, or tried to.
    """

    user: str
    system: str = ""
    state: State = {}
    frames: tuple[Frame, ...] = ()
    system_frames: tuple[Frame, ...] = ()
    coreferences: tuple[Coreference, ...] = ()
    ood: bool = False
    stress: Stress | None = None
    booked: tuple[str, ...] = ()
    calls: tuple[GoldCall, ...] | None = None

    @property
    def remembered(self) -> Turn:
        """The turn as the history of later turns shows it."""
        if self.stress is None or not self.stress.alone:
            return self
        return self.stress.base or self.stress.original

    @property
    def changed(self) -> bool:
        """Whether stressors changed its words, its label, or the tools that it may call."""
        stress = self.stress
        return stress is not None and bool(
            stress.edits
            or stress.system_edits
            or self.state != stress.original.state
            or self.ood != stress.original.ood
            or self.calls != stress.original.calls
            or stress.tools
        )

    @property
    def original(self) -> Turn:
        """The turn before any stressor."""
        return self if self.stress is None else self.stress.original

    def state_of(self, service: str) -> State:
        """The part of the state that belongs to `service`, by bare slot names."""
        prefix = f"{service}-"
        return {slot[len(prefix) :]: values for slot, values in self.state.items() if slot.startswith(prefix)}


class Goal(_Data, frozen=True):
    """What the user was asked to achieve, by slot ids: what shall be found and booked in the end, and questions.

    `fallback` has, of these, what is wanted at first and cannot be had (MultiWOZ's `fail_info`): `inform` is what the
    user then falls back to.
    """

    description: str = ""
    inform: State = {}
    fallback: State = {}
    request: tuple[str, ...] = ()


class Dialogue(Displayed, _Data, frozen=True):
    """One conversation, in order. `services` are those it is about; `closing` is what the system says last.

    `tools` are those that may be called in it.
    """

    id: str
    turns: tuple[Turn, ...]
    services: tuple[str, ...] = ()
    goal: Goal | None = None
    closing: str = ""
    closing_frames: tuple[Frame, ...] = ()
    tools: tuple[Tool, ...] = ()

    def __repr__(self) -> str:
        return f"Dialogue({self.id!r}, {len(self.turns)} turns, {', '.join(self.services) or 'no services named'})"

    @property
    def responses(self) -> list[str]:
        """What the system answers to each turn."""
        return [*(turn.system for turn in self.turns[1:]), self.closing]

    @property
    def response_frames(self) -> list[tuple[Frame, ...]]:
        """The frames of what the system answers to each turn."""
        return [*(turn.system_frames for turn in self.turns[1:]), self.closing_frames]

    def first(self, turns: int) -> Dialogue:
        """The dialogue as it is after so many turns: the system's next words close it."""
        if turns >= len(self.turns):
            return self
        after = self.turns[turns]
        return msgspec.structs.replace(
            self, turns=self.turns[:turns], closing=after.system, closing_frames=after.system_frames
        )

    def updates(self) -> Iterator[State]:
        """Per turn, what its utterance changed: new or changed slots, and `()` for slots that were dropped."""
        before: State = {}
        for turn in self.turns:
            yield update(before, turn.state)
            before = turn.remembered.state


def _first_values(value: Any) -> Any:
    """An accepted value with the first accepted member of every object in it."""
    if isinstance(value, list | tuple):
        return [_first_values(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {name: next((item for item in values if item != ""), "") for name, values in value.items()}
    return {name: _first_values(member) for name, member in members.items() if member != ""}


def accepted_form(value: Any) -> Any:
    """A plain JSON value in the form of gold arguments: every member of an object lists what is accepted."""
    if isinstance(value, list):
        return [accepted_form(item) for item in value]
    return {name: [accepted_form(member)] for name, member in value.items()} if isinstance(value, dict) else value


def slot_id(service: str, slot: str) -> str:
    """`hotel`, `book day` -> `hotel-book day`."""
    return f"{service}-{slot}"


def first_forms(state: State) -> dict[str, str]:
    """The preferred form of each value of a gold state."""
    return {slot: forms[0] for slot, forms in state.items() if forms}


def join_values(values: Iterable[str]) -> str:
    """Several values of one slot, all wanted, as one: in whatever order they come, it is the same."""
    return ALL.join(sorted(dict.fromkeys(values), key=lambda value: (value.casefold(), value)))


def split_values(value: str) -> list[str]:
    """The values that are all wanted; of any other value, itself."""
    return value.split(ALL)


def in_order(value: str) -> str:
    """The value in the order in which values are compared that are all wanted; any other as it is."""
    return join_values(split_values(value)) if ALL in value else value


def service_of(slot: str) -> str:
    """The service in a slot id; the whole text if there is no hyphen."""
    return slot.partition("-")[0]


def update(before: State, after: State) -> State:
    """What changed from one state to the next; a dropped slot has no value left."""
    changed = {slot: values for slot, values in after.items() if before.get(slot) != values}
    return changed | {slot: () for slot in before if slot not in after}
