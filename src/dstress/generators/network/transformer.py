"""A transformer encoder-decoder over words, small enough to train from nothing in minutes (Vaswani et al. 2017).

One table of words serves the source, the target and the output. Layers normalise first, which needs no care in
training. Keys and values of earlier words are kept while decoding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

PLACES = 320
"""Words of the longest sequence."""

Tensor = Any


class Shape(NamedTuple):
    """How large a network is."""

    words: int
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.2


class Network(nn.Module):  # type: ignore[misc]
    """p(target | source), word by word."""

    def __init__(self, shape: Shape, pad: int) -> None:
        super().__init__()
        self.shape, self.pad = shape, pad
        self.words = nn.Embedding(shape.words, shape.width)
        self.places = nn.Embedding(PLACES, shape.width)
        self.encoder = nn.ModuleList(_Layer(shape, reads=False) for _ in range(shape.layers))
        self.decoder = nn.ModuleList(_Layer(shape, reads=True) for _ in range(shape.layers))
        self.read_well, self.said_well = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        nn.init.normal_(self.words.weight, std=shape.width**-0.5)
        nn.init.normal_(self.places.weight, std=0.02)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores of every next word; `target` starts with the word that starts."""
        states, mask = self.encode(source)
        said = self._embedded(target)
        for layer in self.decoder:
            said = layer(said, None, layer.reading.told(states), mask)
        return self.scores(said)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """What is read from the source, and a mask of its words."""
        mask = (source != self.pad)[:, None, None, :]
        states = self._embedded(source)
        for layer in self.encoder:
            states = layer(states, mask)
        return self.read_well(states), mask

    def scores(self, said: Tensor) -> Tensor:
        """Scores of all words after each state of the decoder."""
        return functional.linear(self.said_well(said), self.words.weight)

    def _embedded(self, words: Tensor, first: int = 0) -> Tensor:
        places = torch.arange(first, first + words.shape[1], device=words.device)
        return self.dropout(self.words(words) * math.sqrt(self.shape.width) + self.places(places))


class Decoding:
    """A decoder at work on `beams` hypotheses for each source, one word after the other."""

    def __init__(self, network: Network, source: Tensor, beams: int) -> None:
        self.network, self.beams, self.place = network, beams, 0
        states, self.mask = network.encode(source)
        self.read = [layer.reading.told(states) for layer in network.decoder]
        self.kept: list[tuple[Tensor, Tensor] | None] = [None] * len(self.read)

    def step(self, words: Tensor) -> Tensor:
        """Log-probabilities of the next words, after the last word of every hypothesis."""
        network, rows = self.network, words.shape[0]
        said = network._embedded(words[:, None], self.place)
        for number, layer in enumerate(network.decoder):
            said, self.kept[number] = layer.step(said, self.kept[number], self.read[number], self.mask, self.beams)
        self.place += 1
        return functional.log_softmax(network.scores(said).reshape(rows, -1), dim=-1)

    def go_on_from(self, rows: Tensor) -> None:
        """Each hypothesis goes on from the given row."""
        self.kept = [kept and (kept[0].index_select(0, rows), kept[1].index_select(0, rows)) for kept in self.kept]


class _Layer(nn.Module):  # type: ignore[misc]
    """Look at one's own words, then perhaps at what was read, then think."""

    def __init__(self, shape: Shape, *, reads: bool) -> None:
        super().__init__()
        self.own = _Attention(shape)
        self.own_norm, self.thought_norm = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        if reads:
            self.reading, self.reading_norm = _Attention(shape), nn.LayerNorm(shape.width)
        self.reads = reads
        self.wide, self.narrow = nn.Linear(shape.width, 4 * shape.width), nn.Linear(4 * shape.width, shape.width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, states: Tensor, own_mask: Tensor, read: Any = None, mask: Tensor = None) -> Tensor:
        seen = self.own_norm(states)
        states = states + self.dropout(self.own(seen, self.own.told(seen), own_mask, causal=self.reads))
        if self.reads:
            states = states + self.dropout(self.reading(self.reading_norm(states), read, mask))
        return self._thought(states)

    def step(self, states: Tensor, kept: Any, read: Any, mask: Tensor, beams: int) -> tuple[Tensor, Any]:
        """One word further: `states` has one for each hypothesis, of which `beams` share what was read."""
        seen = self.own_norm(states)
        keys, values = self.own.told(seen)
        if kept is not None:
            keys, values = torch.cat((kept[0], keys), dim=2), torch.cat((kept[1], values), dim=2)
        states = states + self.own(seen, (keys, values))
        asked = self.reading_norm(states).reshape(-1, beams, states.shape[-1])
        states = states + self.reading(asked, read, mask).reshape(states.shape)
        return self._thought(states), (keys, values)

    def _thought(self, states: Tensor) -> Tensor:
        wide = functional.gelu(self.wide(self.thought_norm(states)))
        return states + self.dropout(self.narrow(self.dropout(wide)))


class _Attention(nn.Module):  # type: ignore[misc]
    """Attention with several heads; keys and values can be made once and used many times."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.asks, self.tells = nn.Linear(shape.width, shape.width), nn.Linear(shape.width, 2 * shape.width)
        self.gives = nn.Linear(shape.width, shape.width)

    def told(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and the values of states."""
        keys, values = self.tells(states).chunk(2, dim=-1)
        return self._parted(keys), self._parted(values)

    def forward(self, states: Tensor, told: tuple[Tensor, Tensor], mask: Tensor = None, causal: bool = False) -> Tensor:
        seen = functional.scaled_dot_product_attention(
            self._parted(self.asks(states)), *told, attn_mask=mask, is_causal=causal
        )
        return self.gives(seen.transpose(1, 2).reshape(states.shape))

    def _parted(self, states: Tensor) -> Tensor:
        rows, length, width = states.shape
        return states.view(rows, length, self.heads, width // self.heads).transpose(1, 2)
