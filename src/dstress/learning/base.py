"""The contract between the training loop and whatever learns: a tracker's family, a generator, a classifier.

The loop asks for examples at each epoch, puts those of about one length into batches, and lets the network lower its
loss. It knows nothing of dialogues. A `Task` adds what the loop needs besides: what to learn from, and how to tell how
good the network is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

Batch = dict[str, Any]
"""Tensors by name. `Learner.place` moves them to the device; what is no tensor stays as it is."""


class Example(Protocol):
    """One thing to learn from. A NamedTuple with these two and whatever its learner wants will do."""

    @property
    def name(self) -> str:
        """Where it comes from, for messages: `dialogue d1, turn 3`."""

    @property
    def length(self) -> int:
        """How many tokens it takes in a batch."""


class Loss(NamedTuple):
    """A tensor with the loss summed over a batch, and how many things (turns, tokens) it is a sum of.

    The loop divides the one by the other over a whole step, so that a step in pieces is the same step.
    """

    total: Any
    units: int


class Learner(ABC):
    """A torch module in `module`, and how it learns."""

    module: Any

    @abstractmethod
    def collate(self, examples: Sequence[Any], random: Random) -> Batch:
        """The examples as tensors on the CPU. All randomness of the data (dropped words ...) comes from `random`."""

    @abstractmethod
    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        """How wrong the network is about a batch; with `embeddings`, as if it had read these and not its own."""

    @abstractmethod
    def embed(self, batch: Batch) -> Any:
        """The embeddings of what the network reads, which adversarial training moves."""

    def place(self, batch: Batch) -> Batch:
        """A batch on the module's device."""
        device = next(self.module.parameters()).device
        return {
            name: part.to(device, non_blocking=True) if hasattr(part, "to") else part for name, part in batch.items()
        }

    def parameter_groups(self, rate: float) -> list[dict[str, Any]]:
        """What is trained, and how fast: torch's parameter groups."""
        return [{"params": [weights for weights in self.module.parameters() if weights.requires_grad], "lr": rate}]


class Task(NamedTuple):
    """A learner, and all that a training of it needs to know."""

    learner: Learner
    examples: Callable[[Random], Sequence[Any]]
    """The examples of an epoch."""
    evaluate: Callable[[], Mapping[str, float]]
    """Metrics on development data, of the weights that the module holds when it is called."""
    save: Callable[[Path], None]
    """Writes what a checkpoint needs beside the weights into its folder."""


class Session(NamedTuple):
    """What a training's result does not hang on: where it runs, for how long, and who watches."""

    device: str = ""
    """torch's name for it; empty: a GPU where there is one."""
    seconds: float = math.inf
    """Its time is over after so many, those of earlier sessions among them."""
    on_progress: Callable[[str, int, int | None], None] = lambda what, done, total: None
    say: Callable[[str], None] = lambda line: None
    """Takes a line for each evaluation, and for whatever a person should know."""
