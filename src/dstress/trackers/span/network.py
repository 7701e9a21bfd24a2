"""The network of TripPy's family: an encoder reads the dialogue, and a gate for each slot says what a turn does to it.

In TripPy the gates depend on one vector for the whole dialogue. Here each slot is a query, made of its embedding and
its previous value. It attends to the other slots and to the tokens. From the result come pointers to the value's first
and last token, and a reference to another slot. The gate also sees the tokens that the pointer attends to: the network
learns this much sooner than with a gate that must find them by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn import functional

from dstress.learning.base import Batch
from dstress.trackers.encoders import FORBIDDEN

GATES = ("none", "dontcare", "span", "inform", "refer", "true", "false")
"""What a turn does to a slot: nothing; it leaves the slot open; or it gives a value: one that the user says, one that
the system said, the value of another slot, yes or no."""
NONE, LEFT_OPEN, SPAN, INFORM, REFER, TRUE, FALSE = range(len(GATES))


class Logits(NamedTuple):
    """The network's outputs for each dialogue and slot."""

    gates: Any
    """Dialogues x slots x `GATES`."""
    starts: Any
    ends: Any
    """Dialogues x slots x tokens; `FORBIDDEN` where a token is in no utterance."""
    refers: Any
    """Dialogues x slots x slots; `FORBIDDEN` for the slot itself and slots without a value."""


class Network(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """An encoder of the library transformers, embeddings of utterances and slots, and the output layers.

    `pieces` are the utterances of a dialogue, numbered from the latest; even ones are the user's.
    """

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

    def embed(self, tokens: Any, pieces: Any) -> Any:
        """Embed tokens, each with the number of its utterance in `pieces`; -1 for a token that is in none."""
        return self.encoder.get_input_embeddings()(tokens) + self.piece_embedding(pieces + 1)

    def forward(self, embeddings: Any, batch: Batch) -> Logits:
        """Read dialogues, and give the logits of every slot of each."""
        rows, mask, has_value = len(embeddings), batch["mask"], batch["has_value"]
        hidden = self.encoder(inputs_embeds=embeddings, attention_mask=mask.long()).last_hidden_state
        # A slot's previous value is the mean of its tokens' embeddings.
        values = functional.embedding_bag(
            batch["values"], self.encoder.get_input_embeddings().weight, batch["firsts"], mode="mean"
        )
        slots = self.slot_embedding.weight + self.value(values.to(hidden.dtype)).reshape(rows, -1, hidden.shape[-1])
        slots = self.reader(slots, hidden, memory_key_padding_mask=~mask)
        start, end, refer = self.queries(slots).chunk(3, dim=-1)
        scale = hidden.shape[-1] ** -0.5
        start, end = (
            torch.bmm(query, key.transpose(1, 2)) * scale
            for query, key in zip((start, end), self.token_keys(hidden).chunk(2, dim=-1), strict=True)
        )
        outside = (batch["pieces"] < 0)[:, None]
        # The first token, which is in no utterance, may be attended to as well: so there always is one.
        unattended = outside.index_fill(-1, outside.new_zeros(1, dtype=torch.long), value=False)
        attended = torch.bmm(start.masked_fill(unattended, FORBIDDEN).softmax(-1).to(hidden.dtype), hidden)
        refers = refer @ self.slot_keys(self.slot_embedding.weight).T * scale
        itself = torch.eye(refers.shape[-1], dtype=torch.bool, device=refers.device)
        return Logits(
            self.gate(torch.cat((slots, attended), dim=-1)),
            start.masked_fill(outside, FORBIDDEN),
            end.masked_fill(outside, FORBIDDEN),
            refers.masked_fill(~has_value[:, None] | itself, FORBIDDEN),
        )
