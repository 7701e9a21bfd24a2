"""Adversarial training, of every family that learns."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.parts import need

need("torch", "models")

import torch
from torch.nn.functional import normalize

from dstress.corpora import load
from dstress.learning.adversarial import hybrid_losses, perturb
from dstress.learning.base import Batch
from dstress.learning.recipe import AdversarialOptions, Recipe, TrainingOptions, read_settings
from dstress.pipeline.train import train
from dstress.trackers import trackers
from dstress.trackers.learned import LearnedTracker, Model
from tests.stressors.generators.training import training

_WRITER = {"width": 16, "layers": 1, "heads": 2, "vocabulary": 320, "longest": 60, "longest_answer": 8}
FAMILIES: dict[str, dict[str, Any]] = {
    "copy": {"width": 8, "longest": 40},
    "causal": _WRITER,
    "seq2seq": _WRITER,
    "schema_reader": {"checkpoint": "", "width": 16, "layers": 1, "heads": 2, "longest": 40},
    "span": {"checkpoint": "", "width": 16, "layers": 1, "heads": 2, "longest": 40},
}
OPTIONS = AdversarialOptions(epsilon=0.3, step=0.2, steps=3)


def test_no_family_that_learns_is_left_out() -> None:
    assert {name for name in trackers.usable() if issubclass(trackers.get(name), LearnedTracker)} == set(FAMILIES)


@pytest.fixture(scope="module", params=FAMILIES)
def learning(request: pytest.FixtureRequest) -> tuple[Model, Batch]:
    """A fresh model without dropout, and a batch of its examples."""
    torch.manual_seed(1)
    kind, corpus = cast("type[LearnedTracker]", trackers.get(request.param)).model_class(), load(few(3))
    model = kind.create(read_settings(FAMILIES[request.param], kind.options_type, ""), corpus)
    model.module.eval()
    return model, model.collate(model.examples(corpus, Random(1))[:12], Random(1))


def moved_by(model: Model, batch: Batch) -> tuple[Any, Any]:
    """Embeddings, and how they move."""
    embeddings = model.embed(batch).detach().requires_grad_()
    model.loss(batch, embeddings).total.backward()
    return embeddings.detach(), perturb(model.loss, batch, embeddings, OPTIONS)


def few(dialogues: int) -> str:
    return training("reminder", None, dialogues)


def test_embeddings_move_to_where_the_loss_is_higher_and_stay_within_the_ball(learning: tuple[Any, Batch]) -> None:
    model, batch = learning
    embeddings, moved = moved_by(model, batch)
    radii, distances = OPTIONS.epsilon * embeddings.norm(dim=-1), moved.norm(dim=-1)
    assert (distances <= 1.0001 * radii).all()
    assert (distances[radii > 0] > 0.999 * radii[radii > 0]).any()
    elsewhere = normalize(torch.randn_like(moved), dim=-1) * moved.norm(dim=-1, keepdim=True)
    hybrid = []
    for loss in hybrid_losses(model, model.loss, batch, replace(OPTIONS, weight=0.5)):
        loss.total.backward()
        hybrid.append((loss.total.item(), loss.units))
    with torch.inference_mode():
        plain = model.loss(batch)
        hard, random = (float(model.loss(batch, embeddings + there).total) for there in (moved, elsewhere))
    assert hard > max(float(plain.total), random)
    assert hybrid == [(pytest.approx(float(plain.total)), plain.units), (pytest.approx(hard / 2), 0)]


def test_what_is_not_read_does_not_move(learning: tuple[Any, Batch]) -> None:
    model, batch = learning
    words = batch["words"] != model.vocabulary.pad if "words" in batch else batch["tokens"] != model.backbone.pad
    assert not words.all()
    assert not moved_by(model, batch)[1][~words].any()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_weight_of_nothing_is_the_plain_training_bit_for_bit(family: str, tmp_path: Path) -> None:
    def weights(name: str, **changes: Any) -> bytes:
        options = TrainingOptions(epochs=1, batch=8, rate=0.01, metric="slot-f1", evaluate_on=1, **changes)
        train(Recipe(family, few(2), few(1), model=FAMILIES[family], training=options), tmp_path / name)
        return (tmp_path / name / "best/weights.safetensors").read_bytes()

    plain = weights("plain")
    assert weights("weightless", adversarial=replace(OPTIONS, weight=0.0)) == plain
    assert weights("adversarial", adversarial=OPTIONS) != plain
