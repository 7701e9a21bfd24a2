"""The same few utterances of a corpus for every order in which it is read."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from dstress.dialogue import Dialogue
from dstress.stressors.speech.audio_cache import content_key


class SampledUtterance(NamedTuple):
    """One user utterance and its place."""

    dialogue: Dialogue
    place: int

    @property
    def text(self) -> str:
        """What the user says."""
        return self.dialogue.turns[self.place].user


def draw_sample(dialogues: Iterable[Dialogue], most: int) -> list[SampledUtterance]:
    """At most so many utterances, those with the smallest hashes of their places; the first ones are a sample too."""
    utterances = (SampledUtterance(dialogue, place) for dialogue in dialogues for place in range(len(dialogue.turns)))
    return heapq.nsmallest(most, utterances, key=_hash_of_place)


def _hash_of_place(utterance: SampledUtterance) -> tuple[bytes, str, int]:
    name, place = utterance.dialogue.id, utterance.place
    return content_key("drawn", name, place), name, place
