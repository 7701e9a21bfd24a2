"""A learner as small as they get: a line through points, with dropout, so that torch's randomness counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch

from dstress.learning.base import Batch, Learner, Loss, Task


class Point(NamedTuple):
    name: str
    length: int
    x: float
    y: float


POINTS = [Point(f"point {number}", number % 7 + 1, number / 50, 1 - number / 25) for number in range(50)]


class Line(Learner):
    def __init__(self, most: int = 1000, poisoned: str = "") -> None:
        self.module = torch.nn.Sequential(
            torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
        )
        self.most, self.poisoned, self.sizes = most, poisoned, list[int]()

    def collate(self, examples: Sequence[Point], random: Random) -> Batch:
        self.sizes.append(len(examples))
        noisy = [[point.x + 0.01 * random.random()] for point in examples]
        targets = [[float("nan") if point.name == self.poisoned else point.y] for point in examples]
        return {"x": torch.tensor(noisy), "y": torch.tensor(targets)}

    def embed(self, batch: Batch) -> Any:
        return batch["x"]

    def loss(self, batch: Batch, embeddings: Any = None) -> Loss:
        if len(batch["x"]) > self.most:
            raise torch.OutOfMemoryError("too much")
        read = self.embed(batch) if embeddings is None else embeddings
        return Loss(((self.module(read) - batch["y"]) ** 2).sum(), len(batch["x"]))

    def error(self) -> float:
        with torch.inference_mode():
            batch = self.collate(POINTS, Random(1))
            return float(((self.module(batch["x"]) - batch["y"]) ** 2).mean())


def toy_task(line: Line) -> Task:
    def save(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    return Task(line, lambda random: POINTS, lambda: {"loss": line.error()}, save)
