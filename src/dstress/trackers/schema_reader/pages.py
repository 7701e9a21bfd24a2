"""What the schema's reader reads: pages, each a part of one service's schema after the latest words of the dialogue.

    [CLS] values of other services, earlier exchanges, system, user [SEP]
    service, intents, and slots: each with the value that it has, and with its possible values

One pass over a page answers for all its intents, slots and values, each of which has read the dialogue and the others.
SGP-DST passes over the dialogue once for each of them, which reads its words as many times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dstress.dialogue import Intent, Schema, Service, Slot, slot_id
from dstress.text.letters import name_words
from dstress.text.mentions import find_value
from dstress.trackers.base import Context
from dstress.trackers.encoders import Backbone, EncoderOptions, Passage

KINDS = 12
MARK, MEMORY, EARLIER, SYSTEM, USER, SERVICE, INTENT, SLOT, CURRENT, VALUE, SYSTEM_VALUE, USER_VALUE = range(KINDS)
"""What a token is of. The last two are possible values that the latest words of the system or the user say."""
_LONGEST_DESCRIPTION, _LONGEST_CURRENT, _LONGEST_VALUE = 32, 12, 8
"""Tokens of these that are read."""


class Options(EncoderOptions, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`."""

    exchanges: int = 3
    """Exchanges that are read, the latest."""
    longest: int = 192
    """Tokens of the dialogue on a page."""
    page: int = 320
    """Tokens of the schema on a page."""
    most_values: int = 24
    """A slot with more possible values than this is one whose values are found in the dialogue."""
    longest_value: int = 16
    """Tokens of a value that is found in the dialogue."""
    forget: float = 0.15
    """The share of values that training hides from the reader where it can find them again, as it may miss some."""
    rest: float = 0.3
    """The share of pages about services that a turn is not about that training reads."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        super().__post_init__()
        least = 2 * _LONGEST_DESCRIPTION + _LONGEST_CURRENT + self.most_values * _LONGEST_VALUE
        if self.page < least or min(self.exchanges, self.longest_value) < 1 or self.longest < 8:
            raise ValueError(f"with {self.most_values} values a page has {least} tokens or more, a dialogue 8")
        if not (0 <= self.forget < 1 and 0 <= self.rest <= 1):
            raise ValueError("forget and rest are shares from 0 to 1")


class Piece(NamedTuple):
    """A passage of the dialogue."""

    kind: int
    passage: Passage


class Page(NamedTuple):
    """Some intents and slots of a service, and the dialogue that they are read with, the latest words last."""

    pieces: list[Piece]
    service: Service
    intents: tuple[Intent, ...]
    slots: tuple[Slot, ...]
    previous: dict[str, str]
    """The values that the service's slots have had, by slot id."""
    said: dict[tuple[str, str], int]
    """By slot and value: which possible values the latest words say, as SYSTEM_VALUE or USER_VALUE."""


class Sheet(NamedTuple):
    """A page in tokens: what each is of, and of which element or which piece (-1: none)."""

    tokens: list[int]
    kinds: list[int]
    elements: list[int]
    pieces: list[int]
    firsts: list[int]
    """The first token of each piece."""
    roles: list[int]
    """What each element is: SERVICE, INTENT, SLOT or VALUE."""
    owners: list[int]
    """The slot's element that a value is of; -1 for others."""
    names: list[str]
    """What each element is called; the value itself."""


class Pages:
    """Makes pages of contexts, and sheets of pages."""

    def __init__(self, backbone: Backbone, options: Options) -> None:
        self.backbone, self.options = backbone, options
        self._parts: dict[int, tuple[Service, list[tuple[tuple[Intent, ...], tuple[Slot, ...]]]]] = {}

    def of(self, context: Context) -> Iterator[Page]:
        """The pages of every service that the dialogue is about."""
        previous = context.previous or {}
        for service in services_of(context):
            own = {id: previous[id] for slot in service.slots if (id := slot_id(service.name, slot.name)) in previous}
            others = {id: value for id, value in previous.items() if id not in own and id in context.schema.slots}
            pieces = self._window(context, others)
            for intents, slots in self._part(service):
                yield Page(pieces, service, intents, slots, own, self._said(context, service, slots))

    def _said(self, context: Context, service: Service, slots: Sequence[Slot]) -> dict[tuple[str, str], int]:
        texts = ((SYSTEM_VALUE, context.system), (USER_VALUE, context.user))
        return {
            (slot.name, value): kind
            for slot in slots
            if self.lists(slot)
            for value in slot.values
            for kind, text in texts
            if find_value(text, slot_id(service.name, slot.name), (value,))
        }

    def lists(self, slot: Slot) -> bool:
        """Whether its values are on the page."""
        return slot.categorical and 0 < len(slot.values) <= self.options.most_values

    def _window(self, context: Context, others: Mapping[str, str]) -> list[Piece]:
        read = self.backbone.tokenize
        newest = [Piece(USER, read(context.user)), Piece(SYSTEM, read(context.system))]
        for system, user in context.history[::-1][: self.options.exchanges - 1]:
            newest += [Piece(EARLIER, read(user)), Piece(EARLIER, read(system))]
        newest += [Piece(MEMORY, read(f"{_words(slot)}: {value}")) for slot, value in reversed(list(others.items()))]
        left, pieces = self.options.longest - 2, []
        for kind, passage in newest:
            if passage.tokens and left:
                pieces.append(Piece(kind, passage.cut(left)))
                left -= len(pieces[-1].passage.tokens)
        return pieces[::-1]

    def _part(self, service: Service) -> list[tuple[tuple[Intent, ...], tuple[Slot, ...]]]:
        """The service's intents and slots, as many together as a page holds."""
        if id(service) not in self._parts:
            parts: list[tuple[list[Intent], list[Slot]]] = []
            left = 0
            things: list[Intent | Slot] = [*service.intents, *service.slots]
            for thing in things:
                size = len(self._described(thing).tokens)
                if isinstance(thing, Slot):
                    values = thing.values if self.lists(thing) else ()
                    size += _LONGEST_CURRENT + sum(len(self._value(value).tokens) for value in values)
                if size > left:
                    parts.append(([], []))
                    left = self.options.page - len(self._described(service).tokens)
                left -= size
                if isinstance(thing, Slot):
                    parts[-1][1].append(thing)
                else:
                    parts[-1][0].append(thing)
            self._parts[id(service)] = service, [(tuple(intents), tuple(slots)) for intents, slots in parts]
        return self._parts[id(service)][1]

    def _described(self, thing: Service | Intent | Slot) -> Passage:
        return self.backbone.tokenize(f"{_words(thing.name)}: {thing.description}").cut(_LONGEST_DESCRIPTION)

    def _value(self, value: str) -> Passage:
        return self.backbone.tokenize(value).cut(_LONGEST_VALUE)

    def lay_out(self, page: Page) -> Sheet:
        """The page in tokens."""
        sheet = Sheet([self.backbone.start], [MARK], [-1], [-1], [], [], [], [])
        for number, (kind, passage) in enumerate(page.pieces):
            sheet.firsts.append(len(sheet.tokens))
            _write(sheet, passage.tokens, kind, piece=number)
        _write(sheet, [self.backbone.part], MARK)
        self._add(sheet, SERVICE, page.service.name, self._described(page.service).tokens)
        for intent in page.intents:
            self._add(sheet, INTENT, intent.name, self._described(intent).tokens)
        for slot in page.slots:
            owner = len(sheet.roles)
            self._add(sheet, SLOT, slot.name, self._described(slot).tokens)
            if current := page.previous.get(slot_id(page.service.name, slot.name)):
                _write(sheet, self.backbone.tokenize(current).cut(_LONGEST_CURRENT).tokens, CURRENT, element=owner)
            for value in slot.values if self.lists(slot) else ():
                kind = page.said.get((slot.name, value), VALUE)
                self._add(sheet, VALUE, value, self._value(value).tokens, owner, kind)
        return sheet

    def _add(self, sheet: Sheet, role: int, name: str, tokens: Sequence[int], owner: int = -1, kind: int = 0) -> None:
        _write(sheet, tokens or [self.backbone.part], kind or role, element=len(sheet.roles))
        sheet.roles.append(role)
        sheet.owners.append(owner)
        sheet.names.append(name)


def services_of(context: Context) -> list[Service]:
    """The services that the dialogue is about; all, where the corpus does not say."""
    schema: Schema = context.schema
    return [schema.by_name[name] for name in context.services if name in schema.by_name] or list(schema.services)


def _write(sheet: Sheet, tokens: Sequence[int], kind: int, element: int = -1, piece: int = -1) -> None:
    sheet.tokens.extend(tokens)
    sheet.kinds.extend([kind] * len(tokens))
    sheet.elements.extend([element] * len(tokens))
    sheet.pieces.extend([piece] * len(tokens))


def _words(name: str) -> str:
    return " ".join(name_words(name))
