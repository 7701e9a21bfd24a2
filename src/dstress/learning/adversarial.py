"""Adversarial training: what a network reads is moved a little, to where it is most wrong, and it learns both.

As RADDLE 5.2 has it: a few projected gradient steps move the embeddings of a batch to raise its loss, and what is made
small is the loss of the batch as it is plus a share of that of the moved one. A token's embedding moves within a ball
around it, whose radius is a share of its length: families differ in how long their embeddings are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from msgspec import UnsetType
from torch.nn.functional import normalize

from dstress.learning.base import Batch, Learner, Loss
from dstress.learning.recipe import AdversarialOptions

_LEAST = 1e-12
"""So that nothing is divided by nothing."""
LossOf = Callable[..., Loss]
"""The learner's `loss`, in whatever precision."""


def hybrid_losses(
    learner: Learner, loss_of: LossOf, batch: Batch, options: AdversarialOptions | UnsetType
) -> Iterator[Loss]:
    """The loss of a batch, and then, where that counts, `weight` times that of its moved twin.

    Whoever asks for the second has gone backward through the first, whose gradients say where to move. So a first step
    costs nothing, and never are both in memory.
    """
    if not options or not options.weight:
        yield loss_of(batch)
        return
    embeddings = learner.embed(batch).requires_grad_()
    embeddings.retain_grad()
    yield loss_of(batch, embeddings)
    moved = perturb(loss_of, batch, embeddings, options)
    yield Loss(options.weight * loss_of(batch, learner.embed(batch) + moved).total, 0)


def perturb(loss_of: LossOf, batch: Batch, embeddings: Any, options: AdversarialOptions) -> Any:
    """How to move embeddings that have their gradients. What no loss hangs on, such as padding, stays where it is."""
    fixed, gradient = embeddings.detach(), embeddings.grad
    lengths = fixed.norm(dim=-1, keepdim=True)
    moved = torch.zeros_like(fixed)
    for number in range(options.steps):
        if number:
            moved.requires_grad_()
            (gradient,) = torch.autograd.grad(loss_of(batch, fixed + moved).total, moved)
        moved = moved.detach() + options.step * lengths * normalize(gradient, dim=-1)
        moved = moved * (options.epsilon * lengths / moved.norm(dim=-1, keepdim=True).clamp_min(_LEAST)).clamp_max(1)
    return moved
