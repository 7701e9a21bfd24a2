"""Stressed dialogues for trackers that know no stressors: each turn follows on the words that it was stressed after.

A turn that was changed by itself follows on the turns as they were, which one dialogue cannot show for several such
turns. So each becomes the end of a dialogue of its own: `SNG0073`'s turn 3 is the last turn of `SNG0073.turn3`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from dstress.dialogue import Dialogue, Schema, Turn

_replace = msgspec.structs.replace


def unfold(dialogue: Dialogue, whole: bool) -> Iterator[Dialogue]:
    """A dialogue for each turn that was changed by itself, before them all turns as they are remembered.

    Without `whole` the latter are left out: then they are those of the original, which is a corpus of its own.
    """
    remembered = tuple(_without_record(turn.remembered) for turn in dialogue.turns)
    if whole:
        yield _replace(dialogue, turns=remembered)
    for number, turn in enumerate(dialogue.turns):
        if turn.remembered is not turn:
            turns = (*remembered[:number], _without_record(turn))
            yield _replace(dialogue.first(number + 1), id=unfolded_id(dialogue.id, number), turns=turns)


def unfolded_id(dialogue: str, turn: int) -> str:
    """The id of the dialogue that ends with a turn. No hyphen or underscore: scripts part their ids there."""
    return f"{dialogue}.turn{turn}"


def fingerprint(dialogue: Dialogue, schema: Schema) -> str:
    """What a tracker reads of a dialogue, hashed: every utterance as it is and as it is remembered, and slot ids.

    It binds answers to the text that they answer.
    """
    texts = [(text.system, text.user) for turn in dialogue.turns for text in (turn, turn.remembered)]
    return hashlib.sha256(msgspec.json.encode((texts, sorted(schema.slots)))).hexdigest()[:8]


def mark(dialogue: Dialogue, schema: Schema) -> Dialogue:
    """The dialogue with its fingerprint at the end of its id, which comes back with a tracker's answers."""
    return _replace(dialogue, id=f"{dialogue.id}.{fingerprint(dialogue, schema)}")


def _without_record(turn: Turn) -> Turn:
    return _replace(turn, stress=None)
