"""Solved examples for a prompt, drawn from training data: the same ones each time, whatever the order of the data."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

from dstress.dialogue import Dialogue, State
from dstress.errors import DstressError
from dstress.resources import Material

T = TypeVar("T")


class Candidate(NamedTuple, Generic[T]):
    """An example that may be drawn, and the service that it is about; a poor one comes after all others."""

    service: str
    example: T
    is_poor: bool = False


def draw(
    train: Material, solve: Callable[[Dialogue, int, State], Candidate[T] | None], count: int, seed: int, name: str
) -> list[T]:
    """`count` examples of different dialogues, spread evenly over the services. `name` is the data's, for the error.

    `solve` makes one of a turn: of a dialogue, the turn's number, and how it changes the state.
    """
    best: dict[str, list[tuple[str, T]]] = {}
    for dialogue in train:
        ranked = []
        for number, update in enumerate(dialogue.updates()):
            if candidate := solve(dialogue, number, update):
                # Each seed gives other examples.
                drawn = hashlib.sha256(f"{seed}\0{dialogue.id}\0{number}".encode()).hexdigest()
                ranked.append((f"{candidate.is_poor:d}{drawn}", candidate))
        if ranked:
            rank, first = min(ranked, key=itemgetter(0))
            of_service = best.setdefault(first.service, [])
            of_service.append((rank, first.example))
            if len(of_service) > 4 * count:  # no need to hold a whole corpus
                of_service[:] = heapq.nsmallest(count, of_service, key=itemgetter(0))
    rows = [heapq.nsmallest(count, of_service, key=itemgetter(0)) for _, of_service in sorted(best.items())]
    chosen = [row[place][1] for place in range(count) for row in rows if place < len(row)][:count]
    if len(chosen) < count:
        raise DstressError(
            f"{name} has only {len(chosen)} dialogues to draw {count} examples from", fix="give fewer shots="
        )
    return chosen
