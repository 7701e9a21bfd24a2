"""The network of the schema's reader: an encoder, and what is asked of each element of a page."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.nn import functional

from dstress.learning.base import Batch
from dstress.trackers.encoders import FORBIDDEN
from dstress.trackers.schema_reader.pages import INTENT, KINDS, SERVICE

STATUSES = ("keep", "value", "dontcare", "drop")
"""What becomes of a slot: its value or the lack of one stays, it gets one, the user leaves it open, it has none."""
KEEP, HAS_VALUE, LEFT_OPEN, DROP = range(len(STATUSES))


class Logits(NamedTuple):
    """For each page and element; only of slots most of it means anything."""

    statuses: Any
    requested: Any
    intents: Any
    """Of which intent is meant; the service's own element stands for none."""
    values: Any
    """Of each possible value, by its element."""
    starts: Any
    ends: Any
    """Of each token of the dialogue."""


class Network(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """An encoder of transformers, embeddings of what tokens are of, and the heads."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.kind_embedding = torch.nn.Embedding(KINDS, width)
        torch.nn.init.normal_(self.kind_embedding.weight, std=0.02)
        self.status = torch.nn.Linear(width, len(STATUSES))
        self.requested = torch.nn.Linear(width, 1)
        self.intent = torch.nn.Linear(width, 1)
        self.asks = torch.nn.Linear(width, 3 * width)
        self.answers = torch.nn.Linear(width, 2 * width)
        self.value = torch.nn.Linear(width, width)

    def embed(self, tokens: Any, kinds: Any) -> Any:
        """Tokens with what they are of."""
        return self.encoder.get_input_embeddings()(tokens) + self.kind_embedding(kinds)

    def forward(self, embeddings: Any, batch: Batch) -> Logits:
        """Read pages. An element is the mean of its tokens."""
        hidden = self.encoder(inputs_embeds=embeddings, attention_mask=batch["mask"]).last_hidden_state
        roles, owners = batch["roles"], batch["owners"]
        numbers = torch.arange(roles.shape[1], device=roles.device)
        members = (batch["elements"][:, None] == numbers[:, None]).to(hidden.dtype)
        elements = torch.bmm(members, hidden) / members.sum(-1, keepdim=True).clamp_min(1)
        start, end, value = self.asks(elements).chunk(3, dim=-1)
        scale = hidden.shape[-1] ** -0.5
        is_no_word = batch["pieces"][:, None] < 0
        starts, ends = (
            (torch.bmm(question, answer.transpose(1, 2)) * scale).masked_fill(is_no_word, FORBIDDEN)
            for question, answer in zip((start, end), self.answers(hidden).chunk(2, dim=-1), strict=True)
        )
        values = torch.bmm(value, self.value(elements).transpose(1, 2)) * scale
        intents = self.intent(elements)[..., 0]
        return Logits(
            self.status(elements),
            self.requested(elements)[..., 0],
            intents.masked_fill((roles != SERVICE) & (roles != INTENT), FORBIDDEN),
            values.masked_fill(owners[:, None] != numbers[:, None], FORBIDDEN),
            starts,
            ends,
        )


def sum_losses(logits: Logits, batch: Batch, ignored: int) -> Any:
    """The negative log-likelihood of all labels."""
    total = functional.binary_cross_entropy_with_logits(
        logits.requested.float(),
        batch["requested"].clamp_min(0).float(),
        weight=(batch["requested"] != ignored).float(),
        reduction="sum",
    )
    for part, labels in (
        (logits.statuses, batch["statuses"]),
        (logits.values, batch["values"]),
        (logits.starts, batch["starts"]),
        (logits.ends, batch["ends"]),
        (logits.intents, batch["intents"]),
    ):
        total = total + functional.cross_entropy(
            part.float().flatten(0, -2), labels.flatten(), reduction="sum", ignore_index=ignored
        )
    return total
