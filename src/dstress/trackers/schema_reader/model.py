"""The schema's reader: its data, loss and decoding around its network.

Nothing is known by the name of a service or a slot: all is read from the schema at hand. It says what a turn changes
about the previous state, which a page shows beside each slot. So a long dialogue costs no more than a short one, and a
value that was said long ago need not be found again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple, Self

import msgspec
import torch

from dstress.dialogue import DONTCARE, Intent, Service, Slot, State, Turn, first_forms, service_of, slot_id
from dstress.errors import SpecError
from dstress.learning.base import Batch, Loss
from dstress.learning.batches import IGNORED, pad_rows
from dstress.predictions.base import FramePrediction, Prediction
from dstress.resources import Material
from dstress.trackers.base import Answer, Context
from dstress.trackers.encoders import Backbone, best_spans, find_span, learn_spellings
from dstress.trackers.learned import LabelledTurn, PretrainedModel, batch_by_length, label_turns
from dstress.trackers.schema_reader.network import DROP, HAS_VALUE, KEEP, LEFT_OPEN, Logits, Network, sum_losses
from dstress.trackers.schema_reader.pages import (
    INTENT,
    SERVICE,
    SLOT,
    Options,
    Page,
    Pages,
    Part,
    Piece,
    Sheet,
    Window,
    remember,
    services_of,
)

_NO_INTENT = "NONE"
"""What SGD calls it."""
_TOKENS = 1 << 15
"""Tokens of pages that are read at once."""
_DIALOGUES = 256
"""Training dialogues whose texts are made into tokens together."""


Place = tuple[int, int, int]
"""A piece of the dialogue on a page, and its first and last token that say something."""


class Target(NamedTuple):
    """What is right about a slot: the accepted forms of its value; of a new one that no list has, where it is said."""

    forms: tuple[str, ...]
    is_new: bool
    span: Place | None = None


class PageExample(NamedTuple):
    """A page to learn from: its slots' values, what is requested, and the intent; None where the data do not say."""

    name: str
    page: Page
    targets: dict[str, Target]
    requested: frozenset[str] | None
    intent: str | None

    @property
    def length(self) -> int:
        """Tokens of the page."""
        return self.page.length


class Knowledge(msgspec.Struct, frozen=True):
    """What a model knows beside its weights and its encoder."""

    options: Options
    spellings: dict[str, str]
    """How the training data write values that the dialogue says otherwise."""
    has_frames: bool
    """Whether they say intents and requested slots."""


class PageAnswer(NamedTuple):
    """What the network says of a page. The intent comes with how sure it is of it against none at all."""

    changes: dict[str, str]
    """The new values of slots; empty: none any more."""
    requested: list[str]
    intent: tuple[float, str]


class SchemaReaderModel(PretrainedModel):
    """An encoder that reads pages, and how the training data write."""

    options_type = Options
    knowledge_type = Knowledge
    backbone_type = Backbone
    reads_schema = True

    knowledge: Knowledge

    def __init__(self, knowledge: Knowledge, backbone: Backbone) -> None:
        self.knowledge, self.options, self.backbone = knowledge, knowledge.options, backbone
        self.pages = Pages(backbone, knowledge.options)
        self.module = Network(backbone.module)

    @classmethod
    def create(cls, options: Options, train: Material) -> Self:
        """The encoder, and how the data write what is said."""
        backbone = Backbone.create(options, _texts(train), options.longest + options.page)
        has_frames = any(turn.frames for dialogue in train for turn in dialogue.turns)
        model = cls(Knowledge(options, {}, has_frames), backbone)
        spellings = learn_spellings(pair for turn in model._turns(train) for pair in model._new_values(turn))
        if not any(turn.state for dialogue in train for turn in dialogue.turns):
            raise SpecError("the training data have no values to learn", fix="train on a corpus with states")
        return cls(Knowledge(options, spellings, has_frames), backbone)

    def examples(self, train: Material, random: Random) -> list[PageExample]:
        """The pages of every turn; of services that a turn says nothing of, some."""
        return [example for turn in self._turns(train) for example in self._examples_of(turn, random)]

    def _turns(self, train: Material) -> Iterator[LabelledTurn]:
        """The turns of a corpus; the texts of many dialogues are made into tokens together."""
        dialogues = iter(train)
        while part := list(islice(dialogues, _DIALOGUES)):
            self.backbone.read_ahead(text for dialogue in part for turn in dialogue.turns for text in _shown(turn))
            yield from (turn for dialogue in part for turn in label_turns(dialogue, train.schema))

    def _new_values(self, turn: LabelledTurn) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The words that say values which are new and on no list, with the accepted forms of each."""
        state, previous = turn.context.gold.state, turn.context.previous or {}
        changed = {slot: forms for slot, forms in state.items() if previous.get(slot) not in forms}
        about = {service_of(slot) for slot in changed}
        services = [service for service in services_of(turn.context) if service.name in about]
        for window in self.pages.windows(turn.context, services):
            for part in self.pages.parts_of(window.service):
                for target in self._targets(window, part, changed).values():
                    if target.span:
                        piece, first, last = target.span
                        yield window.pieces[piece].passage.words(first, last), target.forms

    def _examples_of(self, turn: LabelledTurn, random: Random) -> Iterator[PageExample]:
        gold = turn.context.gold
        frames = {frame.service: frame for frame in gold.frames}
        for window in self.pages.windows(turn.context, services_of(turn.context)):
            frame = frames.get(window.service.name)
            for part in self.pages.parts_of(window.service):
                targets = self._targets(window, part, gold.state)
                is_about = frame is not None or any(target.is_new for target in targets.values())
                if is_about or random.random() < self.options.rest:
                    page = self.pages.make(window, part)
                    requested, intent = (frozenset(frame.requested), frame.intent) if frame else (None, None)
                    yield PageExample(turn.name, page, targets, requested, intent)

    def _targets(self, window: Window, part: Part, state: State) -> dict[str, Target]:
        targets = {}
        for slot, forms in state.items():
            if forms and slot in part.slots:
                is_new = window.previous.get(slot) not in forms
                is_copied = is_new and not self.pages.lists(part.slots[slot])
                targets[slot] = Target(forms, is_new, _find(window.pieces, slot, forms) if is_copied else None)
        return targets

    def collate(self, examples: Sequence[PageExample], random: Random) -> Batch:
        """Pages, with intents and slots in any order and some values forgotten, and what is right of them."""
        sheets, labels = [], []
        for example in examples:
            page, forgotten = example.page, {}
            for slot, target in example.targets.items():
                is_drawn = slot in page.previous and random.random() < self.options.forget
                if is_drawn and (span := target.span or _find(page.pieces, slot, target.forms)):
                    forgotten[slot] = target._replace(span=span)
            page = page._replace(
                intents=tuple(random.sample(page.intents, len(page.intents))),
                slots=tuple(random.sample(page.slots, len(page.slots))),
                previous={slot: value for slot, value in page.previous.items() if slot not in forgotten},
            )
            sheets.append(self.pages.lay_out(page))
            labels.append(_label(sheets[-1], page, example._replace(targets=example.targets | forgotten)))
        batch = self._collate_sheets(sheets)
        rows = zip(*labels, strict=True)
        names = ("statuses", "requested", "values", "starts", "ends", "intents")
        return batch | {name: pad_rows(row, IGNORED) for name, row in zip(names, rows, strict=True)}

    def _collate_sheets(self, sheets: Sequence[Sheet]) -> Batch:
        fillers = {"tokens": self.backbone.pad, "kinds": 0, "elements": -1, "pieces": -1, "roles": -1, "owners": -1}
        batch: Batch = {
            name: pad_rows([getattr(sheet, name) for sheet in sheets], filler) for name, filler in fillers.items()
        }
        lengths = torch.tensor([len(sheet.tokens) for sheet in sheets])
        return batch | {"mask": (torch.arange(batch["tokens"].shape[1]) < lengths[:, None]).long()}

    def embed(self, batch: Batch) -> Any:
        """Tokens with what they are of."""
        return self.module.embed(batch["tokens"], batch["kinds"])

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """The negative log-likelihood of all that is right, a sum over pages."""
        logits = self.module(self.embed(batch) if embeddings is None else embeddings, batch)
        return Loss(sum_losses(logits, batch, IGNORED), len(batch["tokens"]))

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        """What the pages of each context say, put onto the state before it; pages of one length are read together."""
        pages = [(number, page) for number, context in enumerate(contexts) for page in self.pages.of(context)]
        sheets = [self.pages.lay_out(page) for _, page in pages]
        answers: dict[int, PageAnswer] = {}
        for places in batch_by_length([len(sheet.tokens) for sheet in sheets], _TOKENS):
            read = self._answer([pages[place][1] for place in places], [sheets[place] for place in places])
            answers |= zip(places, read, strict=True)
        of_context: list[list[tuple[Page, PageAnswer]]] = [[] for _ in contexts]
        for place, (number, page) in enumerate(pages):
            of_context[number].append((page, answers[place]))
        return [self._combine(*pair) for pair in zip(contexts, of_context, strict=True)]

    def _answer(self, pages: Sequence[Page], sheets: Sequence[Sheet]) -> list[PageAnswer]:
        """What the network says of pages."""
        batch = self.place(self._collate_sheets(sheets))
        logits: Logits = self.module(self.embed(batch), batch)
        statuses, requested = logits.statuses.argmax(-1).tolist(), (logits.requested > 0).tolist()
        listed, intents = logits.values.argmax(-1).tolist(), logits.intents.tolist()
        answers, open_slots = [], []
        for row, (page, sheet) in enumerate(zip(pages, sheets, strict=True)):
            answer, intent = PageAnswer({}, [], (0.0, "")), (0.0, "")
            none = intents[row][sheet.roles.index(SERVICE)]
            for number, (role, name) in enumerate(zip(sheet.roles, sheet.names, strict=True)):
                if role == INTENT:
                    intent = max(intent, (intents[row][number] - none, name))
                if role != SLOT:
                    continue
                if requested[row][number]:
                    answer.requested.append(name)
                slot, status = slot_id(page.service.name, name), statuses[row][number]
                if status in (DROP, LEFT_OPEN):
                    answer.changes[slot] = DONTCARE if status == LEFT_OPEN else ""
                elif status == HAS_VALUE and number in sheet.owners:
                    answer.changes[slot] = sheet.names[listed[row][number]]
                elif status == HAS_VALUE and sheet.firsts:
                    open_slots.append((row, number, slot))
            answers.append(answer._replace(intent=intent if intent[0] > 0 else (0.0, _NO_INTENT)))
        if open_slots:
            rows, numbers = [row for row, *_ in open_slots], [number for _, number, _ in open_slots]
            starts, ends = logits.starts[rows, numbers], logits.ends[rows, numbers]
            spans = best_spans(starts, ends, batch["pieces"][rows], self.options.longest_value)
            for (row, _, slot), (first, last) in zip(open_slots, spans, strict=True):
                piece = sheets[row].pieces[first]
                at = sheets[row].firsts[piece]
                words = pages[row].pieces[piece].passage.words(first - at, last - at)
                answers[row].changes[slot] = self.knowledge.spellings.get(words, words)
        return answers

    def _combine(self, context: Context, answers: Sequence[tuple[Page, PageAnswer]]) -> Prediction:
        """The previous state with all that the pages change; of a service's pages the surest intent."""
        state = {slot: value for slot, value in (context.previous or {}).items() if slot in context.schema.slots}
        intents: dict[str, tuple[float, str]] = {}
        requested: dict[str, list[str]] = {}
        for page, answer in answers:
            service = page.service.name
            intents[service] = max(intents.get(service, answer.intent), answer.intent)
            requested.setdefault(service, []).extend(answer.requested)
            for slot, value in answer.changes.items():
                state.pop(slot, None)
                if value:
                    state[slot] = value
        if not self.knowledge.has_frames:
            return Prediction(context.dialogue, context.turn, state)
        frames = tuple(FramePrediction(name, intents[name][1], tuple(slots)) for name, slots in requested.items())
        surest = max(intents.values(), default=(0.0, _NO_INTENT))[1]
        return Prediction(context.dialogue, context.turn, state, frames, surest)


def _label(sheet: Sheet, page: Page, example: PageExample) -> tuple[list[int], ...]:
    """Status, request, value, first and last token of each element; and the intent, by its element."""
    statuses, requested, values, starts, ends = ([IGNORED] * len(sheet.roles) for _ in range(5))
    intent = IGNORED
    for number, (role, name) in enumerate(zip(sheet.roles, sheet.names, strict=True)):
        if example.intent is not None and (role == SERVICE or (role == INTENT and name == example.intent)):
            intent = number
        if role != SLOT:
            continue
        if example.requested is not None:
            requested[number] = int(name in example.requested)
        slot = slot_id(page.service.name, name)
        target = example.targets.get(slot)
        if target is None:
            statuses[number] = DROP if slot in page.previous else KEEP
        elif not target.is_new and slot in page.previous:
            statuses[number] = KEEP
        elif target.forms[0] == DONTCARE:
            statuses[number] = LEFT_OPEN
        elif number in sheet.owners:
            places = {sheet.names[place]: place for place, owner in enumerate(sheet.owners) if owner == number}
            if listed := [places[form] for form in target.forms if form in places]:
                statuses[number], values[number] = HAS_VALUE, listed[0]
        elif target.span:
            piece, first, last = target.span
            starts[number], ends[number] = sheet.firsts[piece] + first, sheet.firsts[piece] + last
            statuses[number] = HAS_VALUE
    return statuses, requested, values, starts, ends, [intent]


def _find(pieces: Sequence[Piece], slot: str, forms: tuple[str, ...]) -> Place | None:
    """Where the dialogue says a value, latest."""
    place = find_span([piece.passage for piece in reversed(pieces)], slot, forms) if forms[0] != DONTCARE else None
    return (len(pieces) - 1 - place[0], *place[1:]) if place else None


def _shown(turn: Turn) -> Iterator[str]:
    """All that pages may show of a turn and its state."""
    yield from (turn.system, turn.user)
    for slot, value in first_forms(turn.state).items():
        yield from (value, remember(slot, value))


def _texts(train: Material) -> Iterator[str]:
    """All that a page may show of a corpus, for a tokenizer to learn from."""
    for service in train.schema.services:
        things: list[Service | Intent | Slot] = [service, *service.intents, *service.slots]
        for thing in things:
            yield f"{thing.name}: {thing.description}"
        yield from (value for slot in service.slots for value in slot.values)
    for dialogue in train:
        for turn in dialogue.turns:
            yield from (turn.system, turn.user)
