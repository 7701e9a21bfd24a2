"""What a network must do to be trained and to generate: one contract for one from scratch and for pretrained ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

import msgspec
from torch.nn import functional

from dstress.generators.network.linear_form import Example
from dstress.learning.base import Batch, Learner, Loss
from dstress.learning.tensors import pad_rows

_IGNORED = -100


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe's `[model]`."""

    checkpoint: str = ""
    """A pretrained sequence-to-sequence model (then 5e-5 is a good rate); without one it is from scratch."""
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.2
    smoothing: float = 0.1
    joined: float = 0.15
    """The share of examples that another is joined to, for combinations of slots that nobody says."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if min(self.width, self.layers, self.heads) < 1 or self.width % self.heads:
            raise ValueError("width, layers and heads are above 0; heads part the width evenly")
        if not all(0 <= share < 1 for share in (self.dropout, self.smoothing, self.joined)):
            raise ValueError("dropout, smoothing and joined are shares from 0 to below 1")


class Lesson(NamedTuple):
    """The tokens of what is read, and of what is to be said."""

    name: str
    source: list[int]
    target: list[int]

    @property
    def length(self) -> int:
        """Both count: a batch pads both."""
        return len(self.source) + len(self.target)


class Generated(NamedTuple):
    """A text in which `<value_1>` stands for the value of the wish with the number `wishes[0]`, and so on."""

    text: str
    wishes: list[int]
    score: float


class Backbone(Learner):
    """p(user | system, goal): trained on examples, then it gives the likeliest words."""

    pad: int
    """The token that fills up a batch."""

    def __init__(self, options: Options, slots: Sequence[str], module: Any) -> None:
        self.options, self.slots, self.module = options, list(slots), module

    @classmethod
    @abstractmethod
    def create(cls, options: Options, examples: Sequence[Example]) -> Self:
        """A fresh one; torch is seeded."""

    def save(self, folder: Path) -> dict[str, Any]:
        """What makes it again, as plain data; files go into `folder`. Weights are kept for it."""
        return {"options": msgspec.to_builtins(self.options), "slots": self.slots}

    @classmethod
    @abstractmethod
    def restore(cls, saved: Mapping[str, Any], options: Options, folder: Path) -> Self:
        """Make it again from what `save` gave and wrote; the weights are put in afterwards."""

    @abstractmethod
    def encode(self, example: Example, random: Random | None = None) -> Lesson:
        """An example as tokens. With `random`, as in training; without it always the same."""

    @abstractmethod
    def generate(
        self, examples: Sequence[Example], beams: int, *, forces_values: bool = False
    ) -> list[list[Generated]]:
        """The best `beams` texts for each example. What comes back must not depend on the others.

        `forces_values`: rather say every value than say it well.
        """

    def collate(self, examples: Sequence[Lesson], random: Random) -> Batch:
        """What the encoder reads, and what the decoder is to write."""
        return {
            **self.pad_sources([example.source for example in examples]),
            "labels": pad_rows([example.target for example in examples], _IGNORED),
        }

    def pad_sources(self, sources: Sequence[list[int]]) -> Batch:
        """What the encoder reads."""
        return {
            "input_ids": pad_rows(sources, self.pad),
            "attention_mask": pad_rows([[1] * len(source) for source in sources], 0),
        }

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """The negative log-likelihood of the users' words; smoothed only where something is learned from it."""
        labels = batch["labels"]
        embeddings = self.embed(batch) if embeddings is None else embeddings
        output = self.module(inputs_embeds=embeddings, attention_mask=batch["attention_mask"], labels=labels)
        total = functional.cross_entropy(
            output.logits.flatten(0, 1).float(),
            labels.flatten(),
            reduction="sum",
            ignore_index=_IGNORED,
            label_smoothing=self.options.smoothing if self.module.training else 0.0,
        )
        return Loss(total, int((labels != _IGNORED).sum()))

    def embed(self, batch: Batch) -> Any:
        """The embeddings of the source."""
        return self.module.get_input_embeddings()(batch["input_ids"])

    def prepare_decoding(self) -> None:
        """Make ready to generate.

        In double precision: in single precision sums that a batch of another size takes in another order decide, every
        thousand turns or so, which of two hypotheses stays in the beam.
        """
        self.module.double().eval()


def slots_of(examples: Sequence[Example]) -> list[str]:
    """The slots that examples speak about, in words."""
    return sorted({wish.slot for example in examples for wish in example.wishes})
