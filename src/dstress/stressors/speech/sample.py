"""The same few utterances of a corpus for every order in which it is read."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dstress.dialogue import Dialogue
from dstress.stressors.speech.audio_cache import content_key


class Drawn(NamedTuple):
    """One user utterance and its place."""

    dialogue: Dialogue
    place: int

    @property
    def text(self) -> str:
        """What the user says."""
        return self.dialogue.turns[self.place].user


def drawn(dialogues: Iterable[Dialogue], most: int) -> list[Drawn]:
    """At most so many utterances, those with the smallest hashes of their places; the first ones are a sample too."""
    return [found for _, _, _, found in heapq.nsmallest(most, _hashed(dialogues), key=lambda each: each[:3])]


def _hashed(dialogues: Iterable[Dialogue]) -> Iterator[tuple[bytes, str, int, Drawn]]:
    for dialogue in dialogues:
        for index in range(len(dialogue.turns)):
            yield content_key("drawn", dialogue.id, index), dialogue.id, index, Drawn(dialogue, index)
