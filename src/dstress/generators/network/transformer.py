"""A transformer encoder-decoder over words, small enough to train from nothing in minutes (Vaswani et al. 2017).

One table of words serves the source, the target and the output. Layers normalise first, which needs no care in
training. Keys and values of earlier words are kept while decoding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

POSITIONS = 320
"""Words of the longest sequence."""

Tensor = Any
KeysValues = tuple[Tensor, Tensor]

_NAMES_OF_FORMAT_1 = {
    "words": "token_embedding",
    "places": "position_embedding",
    "read_well": "encoder_norm",
    "said_well": "decoder_norm",
    "own": "self_attention",
    "own_norm": "self_attention_norm",
    "reading": "cross_attention",
    "reading_norm": "cross_attention_norm",
    "thought_norm": "feed_forward_norm",
    "wide": "expand",
    "narrow": "contract",
    "asks": "query",
    "tells": "key_value",
    "gives": "output",
}


class Shape(NamedTuple):
    """How large a network is."""

    words: int
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.2


class Network(nn.Module):  # type: ignore[misc]
    """p(target | source), word by word.

    Names of attributes are keys of saved weights: with other names `backbone.FORMAT` goes up, and older weights are
    read through a map such as `weights_of_format_1`. The order of the parts decides what a seed makes of them.
    """

    def __init__(self, shape: Shape, pad: int) -> None:
        super().__init__()
        self.shape, self.pad = shape, pad
        self.token_embedding = nn.Embedding(shape.words, shape.width)
        self.position_embedding = nn.Embedding(POSITIONS, shape.width)
        self.encoder = nn.ModuleList(_Layer(shape, is_decoder=False) for _ in range(shape.layers))
        self.decoder = nn.ModuleList(_Layer(shape, is_decoder=True) for _ in range(shape.layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        nn.init.normal_(self.token_embedding.weight, std=shape.width**-0.5)
        nn.init.normal_(self.position_embedding.weight, std=0.02)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of every next word; `target` starts with the word that starts."""
        memory, mask = self.encode(source)
        hidden = self.embed(target)
        for layer in self.decoder:
            hidden = layer(hidden, None, layer.cross_attention.keys_values(memory), mask)
        return self.logits(hidden)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's states of the source, and a mask of its words."""
        mask = (source != self.pad)[:, None, None, :]
        hidden = self.embed(source)
        for layer in self.encoder:
            hidden = layer(hidden, mask)
        return self.encoder_norm(hidden), mask

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of all words after each state of the decoder."""
        return functional.linear(self.decoder_norm(hidden), self.token_embedding.weight)

    def embed(self, words: Tensor, first: int = 0) -> Tensor:
        """Words as vectors; `first` is the position of the first."""
        positions = torch.arange(first, first + words.shape[1], device=words.device)
        scaled = self.token_embedding(words) * math.sqrt(self.shape.width)
        return self.dropout(scaled + self.position_embedding(positions))


def weights_of_format_1(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights that were saved under the older names of a network's parts, under those of today."""
    return {
        ".".join(_NAMES_OF_FORMAT_1.get(part, part) for part in name.split(".")): weight
        for name, weight in weights.items()
    }


class Decoding:
    """A decoder at work on `beams` hypotheses for each source, one word after the other."""

    def __init__(self, network: Network, source: Tensor, beams: int) -> None:
        self.network, self.beams, self.position = network, beams, 0
        memory, self.mask = network.encode(source)
        self.memory = [layer.cross_attention.keys_values(memory) for layer in network.decoder]
        self.cache: list[KeysValues | None] = [None] * len(self.memory)

    def step(self, words: Tensor) -> Tensor:
        """Log-probabilities of the next words, after the last word of every hypothesis."""
        network, rows = self.network, words.shape[0]
        hidden = network.embed(words[:, None], self.position)
        for number, layer in enumerate(network.decoder):
            hidden, self.cache[number] = layer.step(
                hidden, self.cache[number], self.memory[number], self.mask, self.beams
            )
        self.position += 1
        return functional.log_softmax(network.logits(hidden).reshape(rows, -1), dim=-1)

    def select(self, rows: Tensor) -> None:
        """Each hypothesis goes on from the given row."""
        self.cache = [
            cached and (cached[0].index_select(0, rows), cached[1].index_select(0, rows)) for cached in self.cache
        ]


class _Layer(nn.Module):  # type: ignore[misc]
    """Self-attention; in the decoder attention to the encoder's states (`memory`); a feed-forward network."""

    def __init__(self, shape: Shape, *, is_decoder: bool) -> None:
        super().__init__()
        self.self_attention = _Attention(shape)
        self.self_attention_norm, self.feed_forward_norm = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        if is_decoder:
            self.cross_attention, self.cross_attention_norm = _Attention(shape), nn.LayerNorm(shape.width)
        self.is_decoder = is_decoder
        self.expand, self.contract = nn.Linear(shape.width, 4 * shape.width), nn.Linear(4 * shape.width, shape.width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(
        self, hidden: Tensor, own_mask: Tensor, memory: KeysValues | None = None, memory_mask: Tensor = None
    ) -> Tensor:
        normed = self.self_attention_norm(hidden)
        keys_values = self.self_attention.keys_values(normed)
        hidden = hidden + self.dropout(self.self_attention(normed, keys_values, own_mask, causal=self.is_decoder))
        if self.is_decoder:
            query = self.cross_attention_norm(hidden)
            hidden = hidden + self.dropout(self.cross_attention(query, memory, memory_mask))
        return self._feed_forward(hidden)

    def step(
        self, hidden: Tensor, cached: KeysValues | None, memory: KeysValues, memory_mask: Tensor, beams: int
    ) -> tuple[Tensor, KeysValues]:
        """One word further: `hidden` has one for each hypothesis, of which `beams` share a source's memory."""
        normed = self.self_attention_norm(hidden)
        keys, values = self.self_attention.keys_values(normed)
        if cached is not None:
            keys, values = torch.cat((cached[0], keys), dim=2), torch.cat((cached[1], values), dim=2)
        hidden = hidden + self.self_attention(normed, (keys, values))
        query = self.cross_attention_norm(hidden).reshape(-1, beams, hidden.shape[-1])
        hidden = hidden + self.cross_attention(query, memory, memory_mask).reshape(hidden.shape)
        return self._feed_forward(hidden), (keys, values)

    def _feed_forward(self, hidden: Tensor) -> Tensor:
        expanded = functional.gelu(self.expand(self.feed_forward_norm(hidden)))
        return hidden + self.dropout(self.contract(self.dropout(expanded)))


class _Attention(nn.Module):  # type: ignore[misc]
    """Attention with several heads; keys and values can be made once and used many times."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query, self.key_value = nn.Linear(shape.width, shape.width), nn.Linear(shape.width, 2 * shape.width)
        self.output = nn.Linear(shape.width, shape.width)

    def keys_values(self, hidden: Tensor) -> KeysValues:
        """The keys and the values of states."""
        keys, values = self.key_value(hidden).chunk(2, dim=-1)
        return self._split_heads(keys), self._split_heads(values)

    def forward(self, hidden: Tensor, keys_values: KeysValues, mask: Tensor = None, causal: bool = False) -> Tensor:
        queries = self._split_heads(self.query(hidden))
        attended = functional.scaled_dot_product_attention(queries, *keys_values, attn_mask=mask, is_causal=causal)
        return self.output(attended.transpose(1, 2).reshape(hidden.shape))

    def _split_heads(self, hidden: Tensor) -> Tensor:
        rows, length, width = hidden.shape
        return hidden.view(rows, length, self.heads, width // self.heads).transpose(1, 2)
