"""The network of TRADE (Wu et al. 2019): a bi-GRU reads the dialogue, each slot has a gate and writes its value.

Three things differ from the paper, for speed and because overfitting is the limit. Words carry embeddings of who said
them and how many turns ago. The generator knows only words that values are made of; all others it can copy. And a
value is written only for the slots whose gate says that there is one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

GATES = ("none", "dontcare", "value")
NONE, DONTCARE_GATE, VALUE = range(len(GATES))


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
        self.encoder = torch.nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.summary = torch.nn.Linear(2 * width, width)
        self.decoder = torch.nn.GRU(width, width, batch_first=True)
        self.gate = torch.nn.Sequential(
            torch.nn.Linear(2 * width, width), torch.nn.ReLU(), torch.nn.Dropout(dropout),
            torch.nn.Linear(width, len(GATES)),
        )  # fmt: skip
        self.writes = torch.nn.Linear(3 * width, 1)
        self.dropout = torch.nn.Dropout(dropout)

    @property
    def device(self) -> Any:
        """Where it runs."""
        return self.word_embedding.weight.device

    def embed(self, words: Any, speakers: Any, turns: Any) -> Any:
        """The sum of a word's embedding, its speaker's, and that of how many turns ago it was said."""
        return self.word_embedding(words) + self.speaker_embedding(speakers) + self.turn_embedding(turns)

    def encode(self, embeddings: Any, lengths: Any) -> tuple[Any, Any]:
        """What is remembered of each word, and of the whole dialogue."""
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            self.dropout(embeddings), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        outputs, last = self.encoder(packed)
        memory, _ = torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        forward, backward = memory.chunk(2, dim=-1)
        return self.dropout(forward + backward), self.summary(torch.cat((last[0], last[1]), dim=-1))

    def attend(self, queries: Any, memory: Any, mask: Any) -> tuple[Any, Any]:
        """How much each query looks at each word, and what it sees."""
        weights = torch.bmm(queries, memory.transpose(1, 2)).masked_fill(mask[:, None], -torch.inf).softmax(-1)
        return weights, torch.bmm(weights.to(memory.dtype), memory)

    def open(self, memory: Any, whole: Any, mask: Any) -> tuple[Any, Any]:
        """The decoder's first state for every slot of every dialogue, and the logits of its gate."""
        rows, width = whole.shape
        slots = self.slot_embedding.weight
        first = self.dropout(slots).expand(rows, -1, -1).reshape(-1, 1, width)
        start = whole[:, None].expand(-1, len(slots), -1).reshape(1, -1, width).contiguous()
        hidden = self.decoder(first, start)[0].reshape(rows, len(slots), width)
        _, seen = self.attend(hidden, memory, mask)
        return hidden, self.gate(self.dropout(torch.cat((hidden, seen), dim=-1)))

    def write(self, inputs: Any, hidden: Any, memory: Any, mask: Any) -> tuple[Any, Any, Any]:
        """For decoder states: the share that is written, the probabilities of written words, those of places."""
        places, seen = self.attend(hidden, memory, mask)
        share = torch.sigmoid(self.writes(torch.cat((hidden, seen, inputs), dim=-1))).to(places.dtype)
        logits = functional.linear(self.dropout(hidden), self.word_embedding.weight[: self.value_words])
        return share, logits.to(places.dtype).softmax(-1), places
