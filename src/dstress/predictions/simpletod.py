"""The output of SimpleTOD: lists of `domain slot value`, a list a turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

T = TypeVar("T")
_END = "<|endoftext|>"


class _Dialogue(msgspec.Struct, gc=False):
    generated_turn_belief: list[list[str]]
    target_turn_belief: list[list[str]] | None = None
    generated_response: list[str] | None = None
    target_user: list[str] | None = None


_FILE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DIALOGUE = msgspec.json.Decoder(_Dialogue)


class SimpleTod(Format):
    """{dialogue: {"generated_turn_belief": [["domain slot value", ...], ...], "target_turn_belief", ...}}.

    SimpleTOD compares sets of texts, so a text without a slot or a value is wrong there rather than absent. It stays,
    with an empty value, and so does `none`.
    """

    name = "simpletod"
    convention = "simpletod"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        first = next(iter(shape_of(source).members.values()), None)
        return isinstance(first, dict) and "generated_turn_belief" in first

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns = SlotNames(schema), checks.Turns()
        for file in data_files(source):
            data = checks.content(file)
            dialogues = checks.decode(data, _FILE, file.label)
            checks.unique_keys(data, b'"generated_turn_belief"', len(dialogues), file.label)
            for name, raw in dialogues.items():
                dialogue = checks.dialogue_id(name, file.label)
                here = place(file.label, dialogue)
                record = checks.decode(raw, _DIALOGUE, here)
                for turn, beliefs in enumerate(record.generated_turn_belief):
                    turns.add(dialogue, turn, file.label)
                    gold = _of_turn(record.target_turn_belief, turn, "target_turn_belief", here)
                    yield Prediction(
                        dialogue,
                        turn,
                        _state(beliefs, names),
                        gold=None if gold is None else checks.accepted(_state(gold, names)),
                        utterance=_of_turn(record.target_user, turn, "target_user", here),
                        response=_of_turn(record.generated_response, turn, "generated_response", here),
                    )


def _of_turn(values: list[T] | None, turn: int, key: str, where: str) -> T | None:
    if values is None:
        return None
    if turn >= len(values):
        raise PredictionError(f"{key!r} has {len(values)} turns only", where=where, fix="give every list every turn")
    return values[turn]


def _state(beliefs: Iterable[str], names: SlotNames) -> dict[str, str]:
    pairs = []
    for belief in beliefs:
        domain, *rest = belief.replace(_END, "").split() or [""]
        if domain:
            size = 2 if rest[:1] == ["book"] else 1
            pairs.append((names(domain, " ".join(rest[:size])), " ".join(rest[size:])))
    return checks.together(pairs)
