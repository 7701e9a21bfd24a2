"""The solved examples of the `llm` tracker: turns of the training data that fill a slot."""

from __future__ import annotations

from collections.abc import Iterator

from dstress.dialogue import Dialogue, service_of
from dstress.llm import few_shot
from dstress.llm.few_shot import Ranked, rank_of
from dstress.resources import Material
from dstress.trackers.base import Context


def draw(train: Material, count: int, seed: int, name: str = "") -> list[Context]:
    """`count` turns of different dialogues that fill a slot, spread evenly over the services that they are about."""
    schema = train.schema

    def candidates(dialogue: Dialogue) -> Iterator[Ranked[Context]]:
        for number, (turn, update) in enumerate(zip(dialogue.turns, dialogue.updates(), strict=True)):
            filled = [slot for slot, forms in update.items() if forms]
            if filled and all(forms and slot in schema.slots for slot, forms in turn.state.items()):
                rank = rank_of(seed, dialogue, number)
                yield Ranked(rank, service_of(filled[0]), Context(dialogue, number, schema))

    return few_shot.draw(train, candidates, count, name or "the training data")
