"""The network of TripPy's family: an encoder reads the dialogue, and every slot asks what the turn does to it.

In TripPy the gates hang on one vector for the whole dialogue. Here each slot is a query with the value that it has: it
looks at the other slots and at the words, then pointers into the words and references to slots are read off it. The
gate sees what the pointer looks at, which is learned much sooner than where to look by the gate alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn import functional

from dstress.learning.base import Batch
from dstress.trackers.encoders import FORBIDDEN

GATES = ("none", "dontcare", "span", "inform", "refer", "true", "false")
"""What a turn does to a slot: nothing, it leaves it open, or gives it a value: one that the user says, one that the
system said, the value of another slot, yes or no."""
NONE, LEFT_OPEN, SPAN, INFORM, REFER, TRUE, FALSE = range(len(GATES))


class Logits(NamedTuple):
    """For each dialogue and slot."""

    gates: Any
    starts: Any
    ends: Any
    """Of each token of an utterance."""
    refers: Any
    """Of each other slot that has a value."""


class Network(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """An encoder of transformers, embeddings of utterances and slots, and the heads."""

    def __init__(self, encoder: Any, slots: int, pieces: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.piece_embedding = torch.nn.Embedding(pieces + 1, width)
        self.slot_embedding = torch.nn.Embedding(slots, width)
        torch.nn.init.normal_(self.piece_embedding.weight, std=0.02)
        self.value = torch.nn.Linear(width, width, bias=False)
        self.reader = torch.nn.TransformerDecoderLayer(
            width, heads, 2 * width, dropout, batch_first=True, norm_first=True
        )
        self.gate = torch.nn.Sequential(
            torch.nn.Linear(2 * width, width), torch.nn.ReLU(), torch.nn.Dropout(dropout),
            torch.nn.Linear(width, len(GATES)),
        )  # fmt: skip
        self.queries = torch.nn.Linear(width, 3 * width)
        self.token_keys = torch.nn.Linear(width, 2 * width)
        self.slot_keys = torch.nn.Linear(width, width)

    @property
    def device(self) -> Any:
        """Where it runs."""
        return self.slot_embedding.weight.device

    def embed(self, tokens: Any, pieces: Any) -> Any:
        """Tokens with the utterance that they are of; -1: none."""
        return self.encoder.get_input_embeddings()(tokens) + self.piece_embedding(pieces + 1)

    def forward(self, embeddings: Any, batch: Batch) -> Logits:
        """Read dialogues, and answer for every slot of each."""
        rows, mask, has_value = len(embeddings), batch["mask"], batch["has_value"]
        hidden = self.encoder(inputs_embeds=embeddings, attention_mask=mask.long()).last_hidden_state
        known = functional.embedding_bag(
            batch["values"], self.encoder.get_input_embeddings().weight, batch["firsts"], mode="mean"
        )
        slots = self.slot_embedding.weight + self.value(known.to(hidden.dtype)).reshape(rows, -1, hidden.shape[-1])
        slots = self.reader(slots, hidden, memory_key_padding_mask=~mask)
        start, end, refer = self.queries(slots).chunk(3, dim=-1)
        scale = hidden.shape[-1] ** -0.5
        start, end = (
            torch.bmm(query, key.transpose(1, 2)) * scale
            for query, key in zip((start, end), self.token_keys(hidden).chunk(2, dim=-1), strict=True)
        )
        no_word = (batch["pieces"] < 0)[:, None]
        # The first token stands for no word at all, and there is always one to look at.
        elsewhere = no_word.index_fill(-1, no_word.new_zeros(1, dtype=torch.long), value=False)
        seen = torch.bmm(start.masked_fill(elsewhere, FORBIDDEN).softmax(-1).to(hidden.dtype), hidden)
        refers = refer @ self.slot_keys(self.slot_embedding.weight).T * scale
        itself = torch.eye(refers.shape[-1], dtype=torch.bool, device=refers.device)
        return Logits(
            self.gate(torch.cat((slots, seen), dim=-1)),
            start.masked_fill(no_word, FORBIDDEN),
            end.masked_fill(no_word, FORBIDDEN),
            refers.masked_fill(~has_value[:, None] | itself, FORBIDDEN),
        )
