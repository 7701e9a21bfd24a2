"""Solved examples for a prompt, drawn from training data: the same ones each time, whatever the order of the data."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from dstress.dialogue import Dialogue
from dstress.errors import DstressError

T = TypeVar("T")


class Ranked(NamedTuple, Generic[T]):
    """An example that may be drawn, and the service that it is about. The lowest ranks come first."""

    rank: str
    service: str
    example: T


def rank_of(seed: int, dialogue: Dialogue, turn: int) -> str:
    """A hash of the seed, the dialogue and the turn's number, so that each seed gives other examples."""
    return hashlib.sha256(f"{seed}\0{dialogue.id}\0{turn}".encode()).hexdigest()


def draw(
    train: Iterable[Dialogue], candidates: Callable[[Dialogue], Iterable[Ranked[T]]], count: int, name: str
) -> list[T]:
    """`count` examples of different dialogues, spread evenly over the services. `name` is the data's, for the error."""
    best: dict[str, list[Ranked[T]]] = {}
    for dialogue in train:
        first = min(candidates(dialogue), key=_rank, default=None)
        if first is not None:
            of_service = best.setdefault(first.service, [])
            of_service.append(first)
            if len(of_service) > 4 * count:  # no need to hold a whole corpus
                of_service[:] = heapq.nsmallest(count, of_service, key=_rank)
    rows = [heapq.nsmallest(count, of_service, key=_rank) for _, of_service in sorted(best.items())]
    chosen = [row[place].example for place in range(count) for row in rows if place < len(row)][:count]
    if len(chosen) < count:
        raise DstressError(
            f"{name} has only {len(chosen)} dialogues to draw {count} examples from", fix="give fewer shots="
        )
    return chosen


def _rank(ranked: Ranked[T]) -> str:
    return ranked.rank
