"""Tiny trained trackers for commands that must work with any family; their answers are mostly wrong."""

from __future__ import annotations

from pathlib import Path

from tests.stressors.generators.training import training

TINY = {
    "copy": {"width": 8, "longest": 40},
    "causal": {
        "width": 16,
        "layers": 1,
        "heads": 2,
        "vocabulary": 300,
        "longest": 48,
        "longest_answer": 8,
        "previous": True,
        "writes": "change",
        "exchanges": 1,
    },
}


def train_tiny(family: str, folder: Path) -> str:
    """The spec of a tiny tracker of a family, trained on a few dialogues of reminder."""
    from dstress.learning.recipe import Recipe, TrainingOptions  # once torch is known to be there
    from dstress.pipeline.train import train

    options = TrainingOptions(epochs=2, batch=16, rate=0.01)
    few, fewer = training("reminder", None, 5), training("reminder", None, 2)
    train(Recipe(family, few, fewer, model=TINY[family], training=options), folder)
    return f"{family}(path={folder}, device=cpu)"
