"""TRADE's data, loss and decoding around its network.

The loss is the negative log-likelihood of the whole state: of every slot's gate, and of every word of its value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import torch
from torch.nn import functional

from dstress.dialogue import DONTCARE, Schema, first_forms
from dstress.errors import SpecError
from dstress.learning.base import Batch, Loss
from dstress.learning.batches import pad_rows
from dstress.learning.recipe import Count, ProperShare
from dstress.learning.vocabulary import UNKNOWN, Vocabulary, find_words, split_words
from dstress.resources import Material
from dstress.trackers.base import Answer, Context
from dstress.trackers.copy.network import DONTCARE_GATE, NONE, VALUE, Network, Pairs
from dstress.trackers.learned import Model, labelled_turns, require_all_slots, require_some_slots

_SYSTEM, _USER = range(2)
_PARTS = 4
"""A batch to track is cut into so many, by length, so that little is padded."""
_LEAST = 1e-9
"""Probabilities are not below this, so that their logarithms are numbers."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`."""

    width: Count = 400
    dropout: ProperShare = 0.4
    word_dropout: ProperShare = 0.15
    """The share of words that training hides from the encoder, as it must live with unknown ones."""
    least: Count = 2
    """How often the training data say a word that the encoder knows."""
    turns: Count = 16
    """Turns ago that are told apart."""
    longest: Count = 512
    """Words of a dialogue that are read, the latest."""
    longest_value: Count = 12
    """Words of a value that are written."""


class Reading(NamedTuple):
    """A dialogue so far, word by word: who said it, and how many turns ago."""

    words: list[str]
    speakers: list[int]
    turns: list[int]


class CopyExample(NamedTuple):
    """A turn to learn from: the gate of each slot, and the words of those that have a value."""

    name: str
    reading: Reading
    gates: list[int]
    values: dict[int, list[str]]

    @property
    def length(self) -> int:
        """Words that are read."""
        return len(self.reading.words)


class Knowledge(msgspec.Struct, frozen=True):
    """What a model knows beside its weights."""

    options: Options
    slots: list[str]
    words: list[str]
    value_words: int
    """The first words of the vocabulary, which values are made of."""
    spellings: dict[str, str]
    """The words of each value of the training data, and how the value is written."""


class CopyModel(Model):
    """Slots, words and spellings of a training corpus, and the network over them."""

    options_type = Options
    knowledge_type = Knowledge

    knowledge: Knowledge

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge, self.options, options = knowledge, knowledge.options, knowledge.options
        self.vocabulary = Vocabulary(knowledge.words)
        self.module = Network(
            len(self.vocabulary),
            knowledge.value_words,
            len(knowledge.slots),
            options.width,
            options.dropout,
            options.turns,
        )
        # Bounded: a run over many variants would keep every utterance for good.
        self._words = lru_cache(maxsize=1 << 18)(split_words)

    @classmethod
    def create(cls, options: Options, train: Material) -> Self:
        """Learn the words and the values of a corpus."""
        texts: list[list[str]] = []
        values: Counter[str] = Counter()
        for dialogue in train:
            for turn in dialogue.turns:
                texts += [split_words(turn.system), split_words(turn.user)]
                values.update(value for value in first_forms(turn.state).values() if value != DONTCARE)
        if not values:
            raise SpecError("the training data have no values to learn", fix="train on a corpus with states")
        # The most frequent spelling comes last, and stays.
        spellings = {" ".join(split_words(value)): value for value, _ in reversed(values.most_common())}
        value_words = sorted({word for words in spellings for word in words.split()})
        vocabulary = Vocabulary.learn(texts, value_words, options.least)
        leading = len(Vocabulary.learn((), value_words))
        return cls(Knowledge(options, list(train.schema.slots), vocabulary.words, leading, spellings))

    def check(self, schema: Schema) -> None:
        """The corpus must have some of its slots."""
        require_some_slots(self.knowledge.slots, schema)

    def examples(self, train: Material, random: Random) -> list[CopyExample]:
        """One for every turn."""
        places = {slot: place for place, slot in enumerate(self.knowledge.slots)}
        require_all_slots(places, train.schema)
        examples = []
        for turn in labelled_turns(train):
            gates = [NONE] * len(places)
            values = {}
            for slot, value in turn.state.items():
                if value == DONTCARE:
                    gates[places[slot]] = DONTCARE_GATE
                elif words := self._words(value)[: self.options.longest_value]:
                    gates[places[slot]] = VALUE
                    values[places[slot]] = words
            examples.append(CopyExample(turn.name, self.read(turn.context), gates, values))
        return examples

    def read(self, context: Context) -> Reading:
        """The dialogue so far as the network reads it."""
        words: list[str] = []
        speakers: list[int] = []
        turns: list[int] = []
        exchanges = context.exchanges
        for number, exchange in enumerate(exchanges):
            ago = min(len(exchanges) - 1 - number, self.options.turns - 1)
            for speaker, text in zip((_SYSTEM, _USER), exchange, strict=True):
                spoken = self._words(text)
                words += spoken
                speakers += [speaker] * len(spoken)
                turns += [ago] * len(spoken)
        longest = self.options.longest
        return Reading(words[-longest:] or [UNKNOWN], speakers[-longest:] or [_USER], turns[-longest:] or [0])

    def collate(self, examples: Sequence[CopyExample], random: Random) -> Batch:
        """What is read, and what is right; pairs are the slots that have a value."""
        batch, numbers = self._collate_readings([example.reading for example in examples])
        hidden = np.random.default_rng(random.getrandbits(64)).random(batch["read"].shape) < self.options.word_dropout
        batch["read"] = batch["read"].masked_fill(
            torch.from_numpy(hidden) & (batch["read"] != self.vocabulary.pad), self.vocabulary.unknown
        )
        pairs = [(row, slot) for row, example in enumerate(examples) for slot in example.values]
        unknown, end = self.vocabulary.unknown, self.vocabulary.end
        values = [[*(numbers.get(word, unknown) for word in examples[row].values[slot]), end] for row, slot in pairs]
        return batch | {
            "gates": torch.tensor([example.gates for example in examples]),
            **Pairs.of(torch.tensor(pairs, dtype=torch.long).reshape(-1, 2))._asdict(),
            "values": pad_rows(values, self.vocabulary.pad),
        }

    def _collate_readings(self, readings: Sequence[Reading]) -> tuple[Batch, dict[str, int]]:
        """Tensors of what is read, and the numbers of all words that can be written or copied.

        `words` has a number for every word, also where the vocabulary has none; `read` has what the encoder knows.
        """
        numbers = self.vocabulary.numbers
        strange = {word for reading in readings for word in reading.words if word not in numbers}
        if strange:
            numbers = numbers | {word: len(numbers) + place for place, word in enumerate(sorted(strange))}
        words = pad_rows([[numbers[word] for word in reading.words] for reading in readings], self.vocabulary.pad)
        batch = {
            "words": words,
            "read": words.masked_fill(words >= len(self.vocabulary), self.vocabulary.unknown),
            "speakers": pad_rows([reading.speakers for reading in readings], 0),
            "turns": pad_rows([reading.turns for reading in readings], 0),
            "lengths": torch.tensor([len(reading.words) for reading in readings]),
        }
        return batch, numbers

    def embed(self, batch: Batch) -> Any:
        """Words with their speakers and turns."""
        return self.module.embed(batch["read"], batch["speakers"], batch["turns"])

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """The negative log-likelihood of the states, a sum over turns."""
        network, pad = self.module, self.vocabulary.pad
        embeddings = self.embed(batch) if embeddings is None else embeddings
        memory, whole = network.encode(embeddings, batch["lengths"])
        mask = batch["words"] == pad
        opened, gates = network.open(memory, whole, mask)
        total = functional.cross_entropy(gates.float().flatten(0, 1), batch["gates"].flatten(), reduction="sum")
        pairs, targets = Pairs(*(batch[name] for name in Pairs._fields)), batch["values"]
        if len(pairs.rows):
            before = targets[:, :-1].masked_fill(targets[:, :-1] >= len(self.vocabulary), self.vocabulary.unknown)
            first = network.slot_embedding(pairs.slots)[:, None]
            start = opened.flatten(0, 1).index_select(0, pairs.rows * opened.shape[1] + pairs.slots)
            inputs = network.dropout(network.word_embedding(before))
            hidden = torch.cat((start[:, None], network.decoder(inputs, start[None])[0]), dim=1)
            inputs = torch.cat((first, inputs), dim=1)
            share, written, places = network.write(inputs, hidden, pairs, memory, mask)
            can_write = targets < network.value_words
            by_writing = written.gather(-1, targets.masked_fill(~can_write, 0)[..., None])[..., 0] * can_write
            by_copying = (places * (batch["words"][pairs.rows][:, None] == targets[..., None])).sum(-1)
            right = share[..., 0] * by_writing + (1 - share[..., 0]) * by_copying
            total = total - (right.clamp_min(_LEAST).log() * (targets != pad)).sum()
        return Loss(total, len(batch["words"]))

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        """The likeliest gate of each slot, and word by word the likeliest value; dialogues of one length together."""
        readings = [self.read(context) for context in contexts]
        order = sorted(range(len(contexts)), key=lambda place: len(readings[place].words))
        states: list[dict[str, str]] = [{} for _ in contexts]
        size = max(1, math.ceil(len(order) / _PARTS))
        for at in range(0, len(order), size):
            places = order[at : at + size]
            batch, numbers = self._collate_readings([readings[place] for place in places])
            for row, slot, words in self._decode(self.place(batch), list(numbers)):
                context, name = contexts[places[row]], self.knowledge.slots[slot]
                if name in context.schema.slots:
                    states[places[row]][name] = DONTCARE if words is None else self._spell(words, context)
        return [{slot: value for slot, value in state.items() if value} for state in states]

    def _decode(self, batch: Batch, words: Sequence[str]) -> Iterator[tuple[int, int, list[str] | None]]:
        """Row, slot and words of each value; None for a slot that the user leaves open."""
        network, vocabulary = self.module, self.vocabulary
        memory, whole = network.encode(self.embed(batch), batch["lengths"])
        mask = batch["words"] == vocabulary.pad
        opened, gates = network.open(memory, whole, mask)
        chosen = gates.argmax(-1)
        for row, slot in (chosen == DONTCARE_GATE).nonzero().tolist():
            yield row, slot, None
        with_value = (chosen == VALUE).nonzero()
        if not len(with_value):
            return
        pairs = Pairs.of(with_value)
        source = batch["words"][pairs.rows]
        hidden, inputs = opened[pairs.rows, pairs.slots][:, None], network.slot_embedding(pairs.slots)[:, None]
        is_done = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        written_words = []
        for _ in range(self.options.longest_value):
            share, written, places = (part[:, 0] for part in network.write(inputs, hidden, pairs, memory, mask))
            likely = torch.zeros(len(source), len(words), dtype=written.dtype, device=source.device)
            likely[:, : network.value_words] = share * written
            likely.scatter_add_(1, source, (1 - share) * places)
            likely[:, [vocabulary.pad, vocabulary.unknown]] = -1
            best = likely.argmax(-1)
            is_done |= best == vocabulary.end
            written_words.append(best.masked_fill(is_done, vocabulary.pad))
            if bool(is_done.all()):
                break
            read = best.masked_fill(best >= len(vocabulary), vocabulary.unknown)
            inputs = network.word_embedding(read)[:, None]
            hidden = network.decoder(inputs, hidden.transpose(0, 1).contiguous())[0]
        table = torch.stack(written_words, dim=1).tolist()
        for (row, slot), numbers in zip(with_value.tolist(), table, strict=True):
            yield row, slot, [words[number] for number in numbers if number != vocabulary.pad]

    def _spell(self, words: Sequence[str], context: Context) -> str:
        """A value as the training data write it; else as the dialogue does; else its words."""
        joined = " ".join(words)
        if joined in self.knowledge.spellings or not words:
            return self.knowledge.spellings.get(joined, "")
        texts = (text for exchange in reversed(context.exchanges) for text in reversed(exchange))
        return next(filter(None, (find_words(text, words) for text in texts)), joined)
