"""Solved examples for a prompt, drawn from training data: the same ones each time, whatever the order of the data."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable

from dstress.dialogue import Dialogue, Schema, service_of
from dstress.errors import DstressError
from dstress.setting import Material
from dstress.trackers.base import Context

Ranked = tuple[str, Dialogue, int]


def draw(train: Material, count: int, seed: int, name: str = "") -> list[Context]:
    """`count` turns of different dialogues that fill a slot, spread evenly over the services that they are about.

    A turn's rank is a hash of the seed, its dialogue and its number, so that each seed gives other examples.
    """
    best: dict[str, list[Ranked]] = {}
    for dialogue in train:
        ranked = min(_candidates(dialogue, train.schema, seed), default=None)
        if ranked is not None:
            rank, turn, service = ranked
            found = best.setdefault(service, [])
            found.append((rank, dialogue, turn))
            if len(found) > 4 * count:  # no need to hold a whole corpus
                found[:] = _first(found, count)
    rows = [_first(found, count) for _, found in sorted(best.items())]
    chosen = [row[place] for place in range(count) for row in rows if place < len(row)][:count]
    if len(chosen) < count:
        raise DstressError(
            f"{name or 'the training data'} has only {len(chosen)} dialogues to draw {count} examples from",
            fix="give fewer shots=",
        )
    return [Context(dialogue, turn, train.schema) for _, dialogue, turn in chosen]


def _first(found: list[Ranked], count: int) -> list[Ranked]:
    return heapq.nsmallest(count, found, key=lambda one: one[0])


def _candidates(dialogue: Dialogue, schema: Schema, seed: int) -> Iterable[tuple[str, int, str]]:
    """The rank, the number and the service of each turn that fills a slot."""
    for number, (turn, update) in enumerate(zip(dialogue.turns, dialogue.updates(), strict=True)):
        filled = [slot for slot, forms in update.items() if forms]
        if filled and all(forms and slot in schema.slots for slot, forms in turn.state.items()):
            text = f"{seed}\0{dialogue.id}\0{number}"
            yield hashlib.sha256(text.encode()).hexdigest(), number, service_of(filled[0])
