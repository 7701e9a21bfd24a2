"""What a network must do to be trained and to generate: one contract for one from scratch and for pretrained ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from dstress.generators.network.linear_form import Example

CONFIG = "config.json"
"""In a trained folder: what was trained on what, the words it knows, and how each epoch went."""

FORMAT = 2
"""Of a trained folder. In format 1 the parts of a network from scratch had other names."""
READABLE = (1, FORMAT)


class Generated(NamedTuple):
    """A text in which `<value_1>` stands for the value of the wish with the number `wishes[0]`, and so on."""

    text: str
    wishes: list[int]
    score: float


class Backbone(ABC):
    """p(user | system, goal): trained on examples, then it gives the likeliest words."""

    name: str
    module: Any
    """The torch module."""

    @abstractmethod
    def loss(self, examples: Sequence[Example], random: Random | None, smoothing: float = 0.0) -> tuple[Any, int]:
        """The negative log-likelihood of the users' words, summed, and how many tokens that are.

        With `random`, as in training; without it always the same.
        """

    @abstractmethod
    def generate(
        self, examples: Sequence[Example], beams: int, *, forces_values: bool = False
    ) -> list[list[Generated]]:
        """The best `beams` texts for each example. What comes back must not depend on the others.

        `forces_values`: rather say every value than say it well.
        """

    @abstractmethod
    def save(self, folder: Path) -> dict[str, Any]:
        """Write the weights, and give back what the configuration must hold to load them again."""

    def to(self, device: str) -> None:
        """Move the network to a device."""
        self.module.to(device)

    def prepare_decoding(self) -> None:
        """Make ready to generate.

        In double precision: in single precision sums that a batch of another size takes in another order decide, every
        thousand turns or so, which of two hypotheses stays in the beam.
        """
        self.module.double().eval()
