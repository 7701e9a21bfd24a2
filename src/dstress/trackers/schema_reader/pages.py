"""What the schema's reader reads: pages, each a part of one service's schema after the latest words of the dialogue.

    [CLS] values of other services, earlier exchanges, system, user [SEP]
    service, intents, and slots: each with the value that it has, and with its possible values

One pass over a page answers for all its intents, slots and values, each of which has read the dialogue and the others.
SGP-DST passes over the dialogue once for each of them, which reads its words as many times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dstress.dialogue import Intent, Schema, Service, Slot, slot_id
from dstress.learning.recipe import Count, ProperShare, Share
from dstress.text.letters import letter_text, name_words
from dstress.text.mentions import find_value
from dstress.text.value_forms import prepare_value
from dstress.trackers.base import Context
from dstress.trackers.encoders import Backbone, EncoderOptions, Passage

KINDS = 12
MARK, MEMORY, EARLIER, SYSTEM, USER, SERVICE, INTENT, SLOT, CURRENT, VALUE, SYSTEM_VALUE, USER_VALUE = range(KINDS)
"""What a token is of. The last two are possible values that the latest words of the system or the user say."""
_LONGEST_DESCRIPTION, _LONGEST_CURRENT, _LONGEST_VALUE = 32, 12, 8
"""Tokens of these that are read."""
Integers = NDArray[np.int64]


class Options(EncoderOptions, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`."""

    exchanges: Count = 3
    """Exchanges that are read, the latest."""
    longest: Annotated[int, msgspec.Meta(ge=8)] = 192
    """Tokens of the dialogue on a page."""
    page: int = 320
    """Tokens of the schema on a page."""
    most_values: int = 24
    """A slot with more possible values than this is one whose values are found in the dialogue."""
    longest_value: Count = 16
    """Tokens of a value that is found in the dialogue."""
    forget: ProperShare = 0.15
    """The share of values that training hides from the reader where it can find them again, as it may miss some."""
    rest: Share = 0.3
    """The share of pages about services that a turn is not about that training reads."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        super().__post_init__()
        least = 2 * _LONGEST_DESCRIPTION + _LONGEST_CURRENT + self.most_values * _LONGEST_VALUE
        if self.page < least:
            raise ValueError(f"with {self.most_values} values a page has {least} tokens or more")


class Piece(NamedTuple):
    """A passage of the dialogue."""

    kind: int
    passage: Passage


class Window(NamedTuple):
    """What a service's pages show of the dialogue, the latest words last."""

    context: Context
    service: Service
    pieces: list[Piece]
    previous: dict[str, str]
    """The values that the service's slots have had, by slot id."""


class Page(NamedTuple):
    """Some intents and slots of a service, and the dialogue that they are read with, the latest words last."""

    pieces: list[Piece]
    service: Service
    intents: tuple[Intent, ...]
    slots: tuple[Slot, ...]
    previous: dict[str, str]
    """The values that the service's slots have had, by slot id."""
    spoken: dict[tuple[str, str], int]
    """By slot and value: which possible values the latest words say, as SYSTEM_VALUE or USER_VALUE."""
    length: int
    """Tokens of it."""


class Sheet(NamedTuple):
    """A page in tokens: what each is of, and of which element or which piece (-1: none)."""

    tokens: Integers
    kinds: Integers
    elements: Integers
    pieces: Integers
    firsts: list[int]
    """The first token of each piece."""
    roles: list[int]
    """What each element is: SERVICE, INTENT, SLOT or VALUE."""
    owners: list[int]
    """The slot's element that a value is of; -1 for others."""
    names: list[str]
    """What each element is called; the value itself."""


class Entry(NamedTuple):
    """What a page shows of a service, an intent or a slot, in tokens."""

    thing: Service | Intent | Slot
    role: int
    tokens: list[int]
    values: list[tuple[str, list[int]]]
    """The possible values that are on the page, with their tokens."""

    @property
    def size(self) -> int:
        """Tokens of it and its values."""
        return len(self.tokens) + sum(len(tokens) for _, tokens in self.values)


class Part(NamedTuple):
    """A page's share of a service: as much of its schema as a page holds."""

    intents: tuple[Intent, ...]
    slots: dict[str, Slot]
    """By slot id."""
    size: int
    """Tokens of its entries, the service's own among them."""
    values: list[tuple[str, str, str]]
    """The possible values on it: the slot's name, the value, and the slot's id."""
    hints: list[tuple[str, int]]
    """Letters of which a text that says one of these values has some, each with the value's number."""


class Pages:
    """Makes pages of contexts, and sheets of pages. What only the schema says is worked out once."""

    def __init__(self, backbone: Backbone, options: Options) -> None:
        self.backbone, self.options = backbone, options
        self._entries: dict[int, Entry] = {}
        self._parts: dict[int, tuple[Service, list[Part]]] = {}

    def of(self, context: Context) -> Iterator[Page]:
        """The pages of every service that the dialogue is about."""
        for window in self.windows(context, services_of(context)):
            yield from (self.make(window, part) for part in self.parts_of(window.service))

    def windows(self, context: Context, services: Sequence[Service]) -> Iterator[Window]:
        """What the pages of each of these services show of the dialogue."""
        exchanges = context.history[::-1][: self.options.exchanges - 1]
        words = [(USER, context.user), (SYSTEM, context.system)]
        words += [(EARLIER, text) for system, user in exchanges for text in (user, system)]
        longest = self.options.longest - 2
        latest = _cut([Piece(kind, self.backbone.tokenize(text)) for kind, text in words], longest)
        left = longest - sum(len(piece.passage.tokens) for piece in latest)
        previous = {slot: value for slot, value in (context.previous or {}).items() if slot in context.schema.slots}
        for service in services:
            own, others = {}, []
            for slot, value in previous.items():
                if slot.startswith(slot_id(service.name, "")):
                    own[slot] = value
                else:
                    others.append(Piece(MEMORY, self.backbone.tokenize(remember(slot, value))))
            yield Window(context, service, [*_cut(others[::-1], left)[::-1], *latest[::-1]], own)

    def make(self, window: Window, part: Part) -> Page:
        """A window with a part of its service's schema."""
        context, service, pieces, previous = window
        spoken: dict[tuple[str, str], int] = {}
        for kind, text in ((SYSTEM_VALUE, context.system), (USER_VALUE, context.user)):
            letters = letter_text(text).letters  # which tell most values away at once
            for number in {number for hint, number in part.hints if hint in letters}:
                slot, value, id = part.values[number]
                if find_value(text, id, (value,)):
                    spoken[slot, value] = kind
        length = 2 + part.size + sum(len(piece.passage.tokens) for piece in pieces)
        length += sum(
            len(self._tokens(value, _LONGEST_CURRENT)) for slot, value in previous.items() if slot in part.slots
        )
        return Page(pieces, service, part.intents, tuple(part.slots.values()), previous, spoken, length)

    def lists(self, slot: Slot) -> bool:
        """Whether its values are on the page."""
        return slot.categorical and 0 < len(slot.values) <= self.options.most_values

    def parts_of(self, service: Service) -> list[Part]:
        """The service's intents and slots, as many together as a page holds."""
        if id(service) not in self._parts:
            shares: list[list[Entry]] = []
            left = 0
            things: list[Intent | Slot] = [*service.intents, *service.slots]
            for entry in map(self._entry, things):
                size = entry.size + _LONGEST_CURRENT * (entry.role == SLOT)
                if size > left:
                    shares.append([])
                    left = self.options.page - self._entry(service).size
                left -= size
                shares[-1].append(entry)
            self._parts[id(service)] = service, [self._part(service, share) for share in shares]
        return self._parts[id(service)][1]

    def _part(self, service: Service, entries: Sequence[Entry]) -> Part:
        things = [entry.thing for entry in entries]
        slots = {slot_id(service.name, thing.name): thing for thing in things if isinstance(thing, Slot)}
        values = [(slot.name, value, id) for id, slot in slots.items() if self.lists(slot) for value in slot.values]
        hints = [
            (hint, number) for number, (_, value, id) in enumerate(values) for hint in prepare_value(id, (value,)).hints
        ]
        intents = tuple(thing for thing in things if isinstance(thing, Intent))
        size = self._entry(service).size + sum(entry.size for entry in entries)
        return Part(intents, slots, size, values, hints)

    def _entry(self, thing: Service | Intent | Slot) -> Entry:
        if id(thing) not in self._entries:
            role = SLOT if isinstance(thing, Slot) else INTENT if isinstance(thing, Intent) else SERVICE
            listed = thing.values if isinstance(thing, Slot) and self.lists(thing) else ()
            values = [(value, self._tokens(value, _LONGEST_VALUE) or [self.backbone.part]) for value in listed]
            described = self._tokens(f"{_words(thing.name)}: {thing.description}", _LONGEST_DESCRIPTION)
            self._entries[id(thing)] = Entry(thing, role, described, values)
        return self._entries[id(thing)]

    def _tokens(self, text: str, longest: int) -> list[int]:
        return self.backbone.tokenize(text).tokens[:longest]

    def lay_out(self, page: Page) -> Sheet:
        """The page in tokens."""
        texts = [[self.backbone.start], *(piece.passage.tokens for piece in page.pieces), [self.backbone.part]]
        firsts = list(accumulate(map(len, texts[:-2]), initial=0))[1:]
        marks = [
            (MARK, -1, -1),
            *((piece.kind, -1, number) for number, piece in enumerate(page.pieces)),
            (MARK, -1, -1),
        ]
        elements: list[tuple[int, int, str]] = []  # role, owner and name
        things: list[Service | Intent | Slot] = [page.service, *page.intents, *page.slots]
        for thing in things:
            _, role, described, values = self._entry(thing)
            owner = len(elements)
            elements.append((role, -1, thing.name))
            texts.append(described)
            marks.append((role, owner, -1))
            if role == SLOT and (current := page.previous.get(slot_id(page.service.name, thing.name))):
                texts.append(self._tokens(current, _LONGEST_CURRENT))
                marks.append((CURRENT, owner, -1))
            for value, tokens in values:
                texts.append(tokens)
                marks.append((page.spoken.get((thing.name, value), VALUE), len(elements), -1))
                elements.append((VALUE, owner, value))
        kinds, places, pieces = np.repeat(np.array(marks), list(map(len, texts)), axis=0).T
        row = np.fromiter(chain.from_iterable(texts), np.int64, len(kinds))
        roles, owners, names = map(list, zip(*elements, strict=True))
        return Sheet(row, kinds, places, pieces, firsts, roles, owners, names)


def services_of(context: Context) -> list[Service]:
    """The services that the dialogue is about; all, where the corpus does not say."""
    schema: Schema = context.schema
    return [schema.by_name[name] for name in context.services if name in schema.by_name] or list(schema.services)


def remember(slot: str, value: str) -> str:
    """How a page shows the value of another service."""
    return f"{_words(slot)}: {value}"


def _cut(newest: Sequence[Piece], left: int) -> list[Piece]:
    """As many as so many tokens allow."""
    pieces = []
    for kind, passage in newest:
        if passage.tokens and left > 0:
            pieces.append(Piece(kind, passage.cut(left)))
            left -= len(passage.tokens)
    return pieces


def _words(name: str) -> str:
    return " ".join(name_words(name))
