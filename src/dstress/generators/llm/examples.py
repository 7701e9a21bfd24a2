"""The solved examples of the `llm` generator: turns of the training corpus whose users say just their goals."""

from __future__ import annotations

from collections.abc import Iterator

from dstress.dialogue import Dialogue, service_of
from dstress.generators.base import Request
from dstress.generators.goals import own_goal
from dstress.generators.llm.prompt import Solved
from dstress.generators.matching import find_oversaid, find_unsaid
from dstress.llm import few_shot as drawing_examples
from dstress.llm.few_shot import Ranked, rank_of
from dstress.resources import Material
from dstress.text.utterance import Utterance

_LEAST = 2
"""Slots of a goal that shows something, where there are such."""


def draw(train: Material, count: int, seed: int) -> list[Solved]:
    """`count` turns of different dialogues whose users say just their goals, spread over the services."""
    schema = train.schema

    def candidates(dialogue: Dialogue) -> Iterator[Ranked[Solved]]:
        for number, (turn, update) in enumerate(zip(dialogue.turns, dialogue.updates(), strict=True)):
            if not any(update.values()) or not all(update.values()):
                continue
            goal = own_goal(Utterance(dialogue, number, schema, ()))
            if goal.spoken and not find_unsaid(turn.user, goal) and not find_oversaid(turn.user, goal):
                # Goals of few slots come after all the others.
                rank = f"{len(goal.spoken) < _LEAST:d}{rank_of(seed, dialogue, number)}"
                yield Ranked(rank, service_of(next(iter(goal.spoken))), Solved(Request(turn.system, goal), turn.user))

    return drawing_examples.draw(train, candidates, count, "the training corpus")
