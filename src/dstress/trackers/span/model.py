"""TripPy's data, loss and decoding around its network.

A turn is read as what it does to the state before it: most slots stay as they are, each other one is told where its
value comes from. TripPy is given what the system informed of by the corpus; a tracker here sees words alone, so a value
that the system offered is pointed at in the system's words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Annotated, Any, NamedTuple, Self

import msgspec
import numpy as np
import torch
from torch.nn import functional

from dstress.dialogue import DONTCARE, Schema
from dstress.errors import SpecError
from dstress.learning.base import Batch, Loss
from dstress.learning.batches import IGNORED, pad_rows
from dstress.learning.recipe import Count, ProperShare
from dstress.resources import Material
from dstress.text.yes_no import read_flag
from dstress.trackers import encoders, learned
from dstress.trackers.base import Answer, Context
from dstress.trackers.encoders import FORBIDDEN, Backbone, EncoderOptions, Passage
from dstress.trackers.span.network import FALSE, INFORM, LEFT_OPEN, REFER, SPAN, TRUE, Logits, Network

_TOKENS = 1 << 16
"""Tokens that are read at once to track."""
_LONGEST_KNOWN = 8
"""Tokens of a value that a slot has which it reads."""


class Options(EncoderOptions, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`."""

    exchanges: Count = 4
    """Exchanges that are read, the latest."""
    longest: Annotated[int, msgspec.Meta(ge=8)] = 256
    """Tokens that are read, the latest."""
    longest_value: Count = 16
    """Tokens of a value."""
    forget: ProperShare = 0.1
    """The share of values that training hides from the state before, of those that can be found again."""
    value_dropout: ProperShare = 0.1
    """The share of values that training hides in the words: what stands around them must tell, too."""


class Reading(NamedTuple):
    """The latest exchanges in tokens, the newest first. Piece 0 is the user's words, 1 the system's before them, and so
    on: even pieces are the user's."""

    tokens: list[int]
    pieces: list[int]
    """Of which piece a token is; -1: of none."""
    passages: dict[int, Passage]
    firsts: dict[int, int]
    """The first token of each piece."""

    def words(self, first: int, last: int) -> str:
        """The words from one token to another of a piece, as they are written there."""
        at = self.firsts[self.pieces[first]]
        return self.passages[self.pieces[first]].words(first - at, last - at)


class Source(NamedTuple):
    """Where the value of a slot comes from: a gate, with the tokens that say it or the slots that have it."""

    gate: int
    first: int = 0
    last: int = 0
    slots: tuple[int, ...] = ()


class SpanExample(NamedTuple):
    """A turn to learn from."""

    name: str
    reading: Reading
    before: dict[int, str]
    """The values of the state before, by the slot's number."""
    changes: dict[int, Source | None]
    """The slots to which the turn gives a value; None where nobody can tell from where."""
    again: dict[int, Source]
    """The others with a value that can be found in the words."""

    @property
    def length(self) -> int:
        """Tokens that are read."""
        return len(self.reading.tokens)


class Knowledge(msgspec.Struct, frozen=True):
    """What a model knows beside its weights and its encoder."""

    options: Options
    slots: list[str]
    flags: dict[str, dict[str, str]]
    """How the training data write a yes (`true`) and a no (`false`) of a slot."""
    spellings: dict[str, str]
    """How they write values that dialogues say otherwise."""


class SpanModel(learned.PretrainedModel):
    """The slots of a training corpus, how it writes values, and the network over them."""

    options_type = Options
    knowledge_type = Knowledge
    backbone_type = Backbone

    knowledge: Knowledge

    def __init__(self, knowledge: Knowledge, backbone: Backbone) -> None:
        self.knowledge, self.backbone = knowledge, backbone
        self.options = options = knowledge.options
        self.numbers = {slot: number for number, slot in enumerate(knowledge.slots)}
        heads = backbone.module.config.num_attention_heads
        self.module = Network(backbone.module, len(knowledge.slots), 2 * options.exchanges, heads, options.dropout)

    @classmethod
    def create(cls, options: Options, train: Material) -> Self:
        """The encoder, and how the data write what is said."""
        texts = (text for dialogue in train for turn in dialogue.turns for text in (turn.system, turn.user))
        backbone = Backbone.create(options, texts, options.longest)
        slots, flags = list(train.schema.slots), dict[str, dict[str, Counter[str]]]()
        model = cls(Knowledge(options, slots, {}, {}), backbone)
        spoken: list[tuple[str, Sequence[str]]] = []
        for turn in learned.labelled_turns(train):
            state, example = turn.context.gold.state, model._example(turn.name, turn.context)
            for number, source in example.changes.items():
                forms = state[slots[number]]
                if source and source.gate in (SPAN, INFORM):
                    spoken.append((example.reading.words(source.first, source.last), forms))
                elif source and source.gate in (TRUE, FALSE):
                    name = "true" if source.gate == TRUE else "false"
                    flags.setdefault(slots[number], {}).setdefault(name, Counter())[forms[0]] += 1
        if not spoken and not flags:
            raise SpecError("the training data have no values to learn", fix="train on a corpus with states")
        written = {
            slot: {name: counts.most_common(1)[0][0] for name, counts in forms.items()} for slot, forms in flags.items()
        }
        return cls(Knowledge(options, slots, written, encoders.learn_spellings(spoken)), backbone)

    def check(self, schema: Schema) -> None:
        """The corpus must have some of its slots."""
        learned.require_some_slots(self.knowledge.slots, schema)

    def examples(self, train: Material, random: Random) -> list[SpanExample]:
        """Every turn."""
        learned.require_all_slots(self.numbers, train.schema)
        return [self._example(turn.name, turn.context) for turn in learned.labelled_turns(train)]

    def _read(self, context: Context) -> Reading:
        newest = context.exchanges[::-1][: self.options.exchanges]
        reading = Reading([self.backbone.start], [-1], {}, {})
        for piece, text in enumerate(text for system, user in newest for text in (user, system)):
            left = self.options.longest - len(reading.tokens) - 1
            passage = self.backbone.tokenize(text).cut(max(left, 0))
            if passage.tokens:
                reading.passages[piece], reading.firsts[piece] = passage, len(reading.tokens)
                reading.tokens.extend((*passage.tokens, self.backbone.part))
                reading.pieces.extend((*[piece] * len(passage.tokens), -1))
        return reading

    def _before(self, context: Context) -> dict[int, str]:
        return {self.numbers[slot]: value for slot, value in (context.previous or {}).items() if slot in self.numbers}

    def _example(self, name: str, context: Context) -> SpanExample:
        reading, before, state = self._read(context), self._before(context), context.gold.state
        example = SpanExample(name, reading, before, {}, {})
        for slot, forms in state.items():
            number = self.numbers.get(slot)
            if number is None or not forms:
                continue
            if before.get(number) not in forms:
                example.changes[number] = self._source(reading, before, slot, forms)
            elif source := self._said(reading, slot, forms):
                example.again[number] = source
        return example

    def _source(self, reading: Reading, before: Mapping[int, str], slot: str, forms: Sequence[str]) -> Source | None:
        """Where a new value comes from: the latest words if they say it; else another slot, then older words."""
        if forms[0] == DONTCARE:
            return Source(LEFT_OPEN)
        if (flag := read_flag(slot, forms[0])) is not None:
            return Source(TRUE if flag else FALSE)
        source = self._said(reading, slot, forms)
        if source is not None and reading.pieces[source.first] <= 1:
            return source
        own = self.numbers[slot]
        others = tuple(number for number, value in before.items() if value in forms and number != own)
        return Source(REFER, slots=others) if others else source

    def _said(self, reading: Reading, slot: str, forms: Sequence[str]) -> Source | None:
        if forms[0] == DONTCARE or read_flag(slot, forms[0]) is not None:
            return None
        if not (place := encoders.find_span(list(reading.passages.values()), slot, forms)):
            return None
        number, first, last = place
        piece = list(reading.passages)[number]
        at = reading.firsts[piece]
        return Source(INFORM if piece % 2 else SPAN, at + first, at + last)

    def collate(self, examples: Sequence[SpanExample], random: Random) -> Batch:
        """What is read, with some values hidden in the state before or in the words, and where values come from."""
        options = self.options
        gates = np.zeros((len(examples), len(self.numbers)), np.int64)
        readings, before = list[Reading](), list[dict[int, str]]()
        spans, refers = list[tuple[int, ...]](), list[tuple[int, ...]]()
        for row, example in enumerate(examples):
            forgotten = {number for number in example.again if random.random() < options.forget}
            sources = example.changes | {number: example.again[number] for number in forgotten}
            tokens = list(example.reading.tokens)
            for number, source in sources.items():
                slots = [slot for slot in source.slots if slot not in forgotten] if source else []
                if source is None or (source.gate == REFER and not slots):
                    gates[row, number] = IGNORED
                    continue
                gates[row, number] = source.gate
                if source.gate == REFER:
                    refers.extend((row, number, slot) for slot in slots)
                elif source.gate in (SPAN, INFORM):
                    spans.append((row, number, source.first, source.last))
                    if random.random() < options.value_dropout:
                        tokens[source.first : source.last + 1] = [self.backbone.unknown] * (
                            source.last + 1 - source.first
                        )
            readings.append(example.reading._replace(tokens=tokens))
            before.append({number: value for number, value in example.before.items() if number not in forgotten})
        return self._collate(readings, before) | {
            "gates": torch.from_numpy(gates),
            "spans": torch.tensor(spans, dtype=torch.long).reshape(-1, 4),
            "refers": torch.tensor(refers, dtype=torch.long).reshape(-1, 3),
        }

    def _collate(self, readings: Sequence[Reading], before: Sequence[Mapping[int, str]]) -> Batch:
        tokens = pad_rows([reading.tokens for reading in readings], self.backbone.pad)
        lengths = torch.tensor([len(reading.tokens) for reading in readings])
        slots = len(self.numbers)
        sizes, values = np.zeros(len(before) * slots, np.int64), list[int]()
        for row, state in enumerate(before):
            for number in sorted(state):
                value = self.backbone.tokenize(state[number]).tokens[:_LONGEST_KNOWN]
                sizes[row * slots + number] = len(value)
                values += value
        return {
            "tokens": tokens,
            "mask": torch.arange(tokens.shape[1]) < lengths[:, None],
            "pieces": pad_rows([reading.pieces for reading in readings], -1),
            "values": torch.tensor(values, dtype=torch.long),
            "firsts": torch.from_numpy(np.cumsum(sizes) - sizes),
            "has_value": torch.from_numpy(sizes.reshape(-1, slots) > 0),
        }

    def embed(self, batch: Batch) -> Any:
        """Tokens with the utterance that they are of."""
        return self.module.embed(batch["tokens"], batch["pieces"])

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """The negative log-likelihood of all that is known of where values come from, a sum over turns."""
        logits: Logits = self.module(self.embed(batch) if embeddings is None else embeddings, batch)
        total = functional.cross_entropy(
            logits.gates.float().flatten(0, 1), batch["gates"].flatten(), reduction="sum", ignore_index=IGNORED
        )
        rows, slots, firsts, lasts = batch["spans"].unbind(1)
        gates = batch["gates"][rows, slots]
        for part, labels in ((logits.starts, firsts), (logits.ends, lasts)):
            allowed = part[rows, slots].float().masked_fill(self._forbidden(batch, rows, gates), FORBIDDEN)
            total = total + functional.cross_entropy(allowed, labels, reduction="sum")
        rows, slots, others = batch["refers"].unbind(1)
        right = torch.zeros_like(logits.refers, dtype=torch.bool).index_put(
            (rows, slots, others), torch.ones((), dtype=torch.bool, device=rows.device)
        )
        likely = logits.refers.float().log_softmax(-1).masked_fill(~right, FORBIDDEN).logsumexp(-1)
        return Loss(total - likely.where(right.any(-1), 0).sum(), len(batch["tokens"]))

    def _forbidden(self, batch: Batch, rows: Any, gates: Any) -> Any:
        """Of rows with a gate: the tokens that are not of who says the value."""
        pieces = batch["pieces"][rows]
        return (pieces < 0) | (pieces % 2 != (gates == INFORM)[:, None])

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        """What each turn does to the state before it; dialogues of one length are read together."""
        readings = [self._read(context) for context in contexts]
        states: list[dict[str, str]] = [dict(context.previous or {}) for context in contexts]
        for places in learned.batch_by_length([len(reading.tokens) for reading in readings], _TOKENS):
            before = [self._before(contexts[place]) for place in places]
            for row, slot, value in self._decode([readings[place] for place in places], before):
                if value:
                    states[places[row]][self.knowledge.slots[slot]] = value
        return [
            {slot: value for slot, value in state.items() if slot in context.schema.slots}
            for context, state in zip(contexts, states, strict=True)
        ]

    def _decode(
        self, readings: Sequence[Reading], before: Sequence[Mapping[int, str]]
    ) -> Iterator[tuple[int, int, str]]:
        """Row, slot and value of all that changes."""
        batch = self.place(self._collate(readings, before))
        logits: Logits = self.module(self.embed(batch), batch)
        gates = logits.gates.argmax(-1)
        for row, slot in (gates == LEFT_OPEN).nonzero().tolist():
            yield row, slot, DONTCARE
        for gate, name in ((TRUE, "true"), (FALSE, "false")):
            for row, slot in (gates == gate).nonzero().tolist():
                yield row, slot, self.knowledge.flags.get(self.knowledge.slots[slot], {}).get(name, "")
        others = logits.refers.argmax(-1)
        for row, slot in (gates == REFER).nonzero().tolist():
            yield row, slot, before[row].get(int(others[row, slot]), "")
        pointed = ((gates == SPAN) | (gates == INFORM)).nonzero()
        rows, slots = pointed.unbind(1)
        passages = batch["pieces"][rows].masked_fill(self._forbidden(batch, rows, gates[rows, slots]), -1)
        spans = encoders.best_spans(
            logits.starts[rows, slots], logits.ends[rows, slots], passages, self.options.longest_value
        )
        for (row, slot), (first, last) in zip(pointed.tolist(), spans, strict=True):
            if readings[row].pieces[first] >= 0:
                words = readings[row].words(first, last)
                yield row, slot, self.knowledge.spellings.get(words, words)
