"""ParlAI's world logs, from which CheckDST makes its own lines."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.checkdst import BeliefTexts, earlier_context, last_utterance
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source


class _Asked(msgspec.Struct, gc=False):
    dial_id: str
    turn_num: int | str
    text: str = ""
    eval_labels: list[str] = []
    labels: list[str] = []


class _Answered(msgspec.Struct, gc=False):
    text: str


class _Line(msgspec.Struct, gc=False):
    dialog: list[tuple[_Asked, _Answered]]


class Parlai(Format):
    """JSON lines {"dialog": [[{"dial_id", "turn_num", "text", "eval_labels": [gold]}, {"text": prediction}]]}."""

    name = "parlai"
    convention = "checkdst"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        dialog = shape_of(source).members.get("dialog")
        first = dialog[0] if isinstance(dialog, list) and dialog else None
        return isinstance(first, list) and bool(first) and isinstance(first[0], dict) and "dial_id" in first[0]

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        texts, turns, decoder = BeliefTexts(schema), checks.Turns(), msgspec.json.Decoder(_Line)
        for where, line in checks.lines(source):
            for request, reply in checks.decode(line, decoder, where).dialog:
                dialogue = checks.dialogue_id(request.dial_id, where)
                turn = checks.turn_number(request.turn_num, place(where, dialogue))
                turns.add(dialogue, turn, where)
                labels = request.eval_labels or request.labels
                if not labels:
                    raise PredictionError("no gold label", where=place(where, dialogue, turn))
                yield Prediction(
                    dialogue,
                    turn,
                    texts.state(reply.text),
                    gold=texts.gold(labels[0]),
                    utterance=last_utterance(request.text),
                    context=earlier_context(request.text),
                )
