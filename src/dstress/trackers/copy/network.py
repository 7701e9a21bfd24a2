"""The network of TRADE (Wu et al. 2019): a bi-GRU reads the dialogue, each slot has a gate and writes its value.

Three things differ from the paper, for speed and because overfitting is the limit. Words carry embeddings of who said
them and how many turns ago. The generator knows only words that values are made of; all others it can copy. And a
value is written only for the slots whose gate says that there is one.

Shapes: B dialogues, T words, S slots, P pairs (a dialogue and a slot that has a value), L words of a value, W width.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import torch
from torch.nn import functional

GATES = ("none", "dontcare", "value")
NONE, DONTCARE_GATE, VALUE = range(len(GATES))


class Pairs(NamedTuple):
    """The (dialogue, slot) pairs that have a value, and where each lies in a table of `columns` cells per dialogue.

    So all pairs of a dialogue attend to its words in one product, without a copy of the words for each. Sorted by row.
    """

    rows: Any
    slots: Any
    cells: Any
    columns: int

    @classmethod
    def of(cls, pairs: Any) -> Self:
        """From (P, 2): a row and a slot each, sorted by row."""
        rows, slots = pairs.unbind(1)
        counts = torch.bincount(rows)
        columns = int(counts.max()) if len(rows) else 0
        before = counts.cumsum(0) - counts
        return cls(rows, slots, rows * columns + torch.arange(len(rows), device=rows.device) - before[rows], columns)


class Network(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """Embeddings, encoder, gate and pointer-generator. The first `value_words` words can be written."""

    def __init__(self, words: int, value_words: int, slots: int, width: int, dropout: float, turns: int) -> None:
        super().__init__()
        self.value_words = value_words
        self.word_embedding = torch.nn.Embedding(words, width, padding_idx=0)
        self.speaker_embedding = torch.nn.Embedding(2, width)
        self.turn_embedding = torch.nn.Embedding(turns, width)
        self.slot_embedding = torch.nn.Embedding(slots, width)
        for embedding in (self.word_embedding, self.speaker_embedding, self.turn_embedding, self.slot_embedding):
            torch.nn.init.normal_(embedding.weight, std=0.1)
        self.onward_encoder = torch.nn.GRU(width, width, batch_first=True)
        self.backward_encoder = torch.nn.GRU(width, width, batch_first=True)
        self.summary = torch.nn.Linear(2 * width, width)
        self.decoder = torch.nn.GRU(width, width, batch_first=True)
        self.gate = torch.nn.Sequential(
            torch.nn.Linear(2 * width, width), torch.nn.ReLU(), torch.nn.Dropout(dropout),
            torch.nn.Linear(width, len(GATES)),
        )  # fmt: skip
        self.writes = torch.nn.Linear(3 * width, 1)
        self.dropout = torch.nn.Dropout(dropout)

    def embed(self, words: Any, speakers: Any, turns: Any) -> Any:
        """The sum of a word's embedding, its speaker's, and that of how many turns ago it was said."""
        return self.word_embedding(words) + self.speaker_embedding(speakers) + self.turn_embedding(turns)

    def encode(self, embeddings: Any, lengths: Any) -> tuple[Any, Any]:
        """Encode (B, T, W) and lengths (B) as a memory of each word, (B, T, W), and of the whole dialogue, (B, W).

        A packed bidirectional GRU computes the same, but its backward pass on a CPU is quadratic in the length.
        """
        at = torch.arange(embeddings.shape[1], device=embeddings.device)
        turned = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)[..., None].expand_as(embeddings)
        inputs = self.dropout(embeddings)
        onward, _ = self.onward_encoder(inputs)
        backward, _ = self.backward_encoder(inputs.gather(1, turned))
        last = (lengths - 1)[:, None, None].expand(-1, 1, embeddings.shape[2])
        whole = torch.cat((onward.gather(1, last), backward.gather(1, last)), dim=-1)[:, 0]
        return self.dropout(onward + backward.gather(1, turned)), self.summary(whole)

    def attend(self, queries: Any, memory: Any, mask: Any) -> tuple[Any, Any]:
        """For queries (B, Q, W): their weights on each word, (B, Q, T), and what they see, (B, Q, W).

        The mask, (B, T), is True where there is no word.
        """
        weights = torch.bmm(queries, memory.transpose(1, 2)).masked_fill(mask[:, None], -torch.inf).softmax(-1)
        return weights, torch.bmm(weights.to(memory.dtype), memory)

    def open(self, memory: Any, whole: Any, mask: Any) -> tuple[Any, Any]:
        """The decoder's first state for each slot of each dialogue, (B, S, W), and its gate's logits, (B, S, 3)."""
        rows, width = whole.shape
        slots = self.slot_embedding.weight
        first = self.dropout(slots).expand(rows, -1, -1).reshape(-1, 1, width)
        start = whole[:, None].expand(-1, len(slots), -1).reshape(1, -1, width).contiguous()
        hidden = self.decoder(first, start)[0].reshape(rows, len(slots), width)
        _, seen = self.attend(hidden, memory, mask)
        return hidden, self.gate(self.dropout(torch.cat((hidden, seen), dim=-1)))

    def write(self, inputs: Any, hidden: Any, pairs: Pairs, memory: Any, mask: Any) -> tuple[Any, Any, Any]:
        """For each pair and word of its value: how much is written and not copied, (P, L, 1), the probabilities of the
        words to write, (P, L, value_words), and of the places to copy from, (P, L, T)."""
        rows, length, width = len(memory), hidden.shape[1], hidden.shape[2]
        table = hidden.new_zeros(rows * pairs.columns, length, width).index_copy(0, pairs.cells, hidden)
        places, seen = (
            part.reshape(rows * pairs.columns, length, -1).index_select(0, pairs.cells)
            for part in self.attend(table.reshape(rows, -1, width), memory, mask)
        )
        share = torch.sigmoid(self.writes(torch.cat((hidden, seen, inputs), dim=-1))).to(places.dtype)
        logits = functional.linear(self.dropout(hidden), self.word_embedding.weight[: self.value_words])
        return share, logits.to(places.dtype).softmax(-1), places
