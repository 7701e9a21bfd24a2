"""One user utterance with all that there is to know about it: its turn, its history, and where it says which values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from random import Random
from typing import TypeVar

from dstress.dialogue import Dialogue, Schema, State, Turn
from dstress.text import mentions
from dstress.text.mentions import Mention

T = TypeVar("T")

Ranges = Sequence[tuple[int, int]]
"""Stretches of an utterance, from a character to another (exclusive), in order and apart."""


def free_matches(matches: Iterable[re.Match[str]], protected: Ranges) -> Iterator[re.Match[str]]:
    """Matches, in their order, that touch no protected range. Both are sorted, so one walk does."""
    ranges = iter(protected)
    start, end = next(ranges, (-1, -1))
    for match in matches:
        while end >= 0 and end <= match.start():
            start, end = next(ranges, (-1, -1))
        if end < 0 or match.end() <= start:
            yield match


def content_key(*parts: object) -> bytes:
    """The name of a piece of work: a hash of all that its result depends on, the same in every process."""
    return blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def random_for(*key: object) -> Random:
    """The random numbers of one place; the same on every machine, in every process."""
    return Random(content_key(*key))


def draw(items: Sequence[T], random: Random) -> T:
    """One of some things by chance. Not `Random.choice`: it takes longer, and may draw others in another Python."""
    return items[int(random.random() * len(items))]


def draw_some(items: Sequence[T], count: int, random: Random) -> list[T]:
    """Different ones by chance, in the order drawn. `Random.sample` does the same in five times the time."""
    left = list(items)
    return [left.pop(int(random.random() * len(left))) for _ in range(min(count, len(left)))]


class Utterance:
    """One user utterance to rewrite, with all that a stressor may look at. What is costly is found when asked for."""

    def __init__(self, dialogue: Dialogue, index: int, schema: Schema, key: tuple[object, ...]) -> None:
        self.turn: Turn = dialogue.turns[index]
        self.text = self.turn.user
        self.dialogue, self.index, self.schema = dialogue.id, index, schema
        self.services = dialogue.services
        self._turns, self._key = dialogue.turns, key

    @property
    def before(self) -> State:
        """The state before the utterance."""
        return self._turns[self.index - 1].remembered.state if self.index else {}

    @property
    def history(self) -> Sequence[Turn]:
        """The turns before this one, as this one follows on them."""
        return [turn.remembered for turn in self._turns[: self.index]]

    @cached_property
    def mentions(self) -> list[Mention]:
        """Where the utterance says the values that it adds to the state."""
        return mentions.find_mentions(self.turn, self.before)

    @cached_property
    def protected(self) -> list[tuple[int, int]]:
        """Stretches that no noise may touch: every value of the state that is said here."""
        return mentions.protected_spans(self.turn, self.before)

    @cached_property
    def random(self) -> Random:
        """The random numbers of this turn."""
        return self.random_of()

    def random_of(self, *part: object) -> Random:
        """Random numbers of one part of the work on this turn, which no other part's draws move."""
        return random_for(*self._key, self.dialogue, self.index, *part)
