"""Belief states as running text, `hotel type guesthouse, hotel internet yes,`: CheckDST's JSON lines, ParlAI's logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from dstress.dialogue import Schema, State
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_DOMAINS = ("attraction", "hotel", "hospital", "restaurant", "police", "taxi", "train")
_BOOKED = ("day", "time", "people", "stay")
_USER = "<user>"


class _Line(msgspec.Struct, gc=False):
    dial_id: str
    pred: str | None
    gold: str | None = None
    context: str = ""
    aug_type: str | None = "orig"
    requires_coref: bool | None = None


class _Request(msgspec.Struct, gc=False):
    dial_id: str
    turn_num: int | str
    text: str = ""
    eval_labels: list[str] = []
    labels: list[str] = []


class _Reply(msgspec.Struct, gc=False):
    text: str


class _Log(msgspec.Struct, gc=False):
    dialog: list[tuple[_Request, _Reply]]


class CheckDst(Format):
    """JSON lines {"dial_id": "DIALOGUE-TURN", "context", "pred": "domain slot value, ...", "gold": ...}.

    A line whose `pred` is null is left out, as in CheckDST: the turn is missing.
    """

    name = "checkdst"
    convention = "checkdst"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        line = shape_of(source).members
        return {"dial_id", "pred"} <= line.keys() and not isinstance(line["pred"], dict | list)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        texts, turns, decoder = BeliefTexts(schema), checks.Turns(), msgspec.json.Decoder(_Line)
        for where, line in checks.lines(source):
            record = checks.decode(line, decoder, where)
            name, _, number = record.dial_id.rpartition("-")
            name = name.replace(".json", "")
            dialogue, turn, _ = turns.locate(name, number.removesuffix(".json"), where)
            if record.pred is not None:
                gold = None if record.gold is None else texts.gold(record.gold)
                yield Prediction(
                    dialogue,
                    turn,
                    texts.state(record.pred),
                    gold=gold,
                    utterance=_last_utterance(record.context),
                    context=_earlier_context(record.context),
                )

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        encoder = msgspec.json.Encoder()
        with replacing(path) as out:
            for prediction in predictions:
                here = place(path, prediction.dialogue, prediction.turn)
                gold = None
                if prediction.gold is not None:
                    gold = _text({slot: forms[0] for slot, forms in prediction.gold.items() if forms}, here)
                last = "" if prediction.utterance is None else f"{_USER} {prediction.utterance}"
                context = prediction.context or last
                line = _Line(f"{prediction.dialogue}-{prediction.turn}", _text(prediction.state, here), gold, context)
                out.write(encoder.encode(line) + b"\n")


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
        texts, turns, decoder = BeliefTexts(schema), checks.Turns(), msgspec.json.Decoder(_Log)
        for where, line in checks.lines(source):
            for request, reply in checks.decode(line, decoder, where).dialog:
                dialogue, turn, here = turns.locate(request.dial_id, request.turn_num, where)
                labels = request.eval_labels or request.labels
                if not labels:
                    raise PredictionError("no gold label", where=here)
                yield Prediction(
                    dialogue,
                    turn,
                    texts.state(reply.text),
                    gold=texts.gold(labels[0]),
                    utterance=_last_utterance(request.text),
                    context=_earlier_context(request.text),
                )


class BeliefTexts:
    """Reads `domain slot value, domain slot value,` the way CheckDST's `extract_slot_from_string` does.

    Generated text is never an error: a piece that is not a domain, a slot and a value is passed over, so a comma ends
    a value.
    """

    def __init__(self, schema: Schema | None) -> None:
        self._names = SlotNames(schema)
        self._domains = frozenset((*_DOMAINS, *(schema.by_name if schema is not None else ())))

    def state(self, text: str) -> dict[str, str]:
        """The state that a text describes."""
        words = text.split()
        if words and words[0] in ("<bs>", "</bs>"):
            words = words[1:]
        if "</bs>" in words:
            words = words[: words.index("</bs>")]
        pairs = []
        for piece in " ".join(words).split(","):
            domain, *rest = piece.split() or [""]
            if domain in self._domains and len(rest) > 1:
                size = 2 if rest[0] == "book" and rest[1] in _BOOKED else 1
                pairs.append((self._names(domain, " ".join(rest[:size])), " ".join(rest[size:])))
        return checks.together(pairs)

    def gold(self, text: str) -> State:
        """The same, with each value as the only accepted form."""
        return checks.accepted(self.state(text))


def _earlier_context(context: str) -> str | None:
    """The context, where it says more than the last utterance."""
    return context if context.count(_USER) > 1 or "<system>" in context else None


def _last_utterance(context: str) -> str | None:
    """What the user said last, in `<user> ... <system> ... <user> ...`."""
    return context.rpartition(_USER)[2].strip() if _USER in context else None


def _text(state: dict[str, str], where: str) -> str:
    for slot, value in state.items():
        if "," in value or not value.strip():
            raise PredictionError(
                f"the value {value!r} of the slot {slot!r} cannot be written: commas part beliefs here",
                where=where,
                fix="write dstress, which holds any value",
            )
    return "".join(f"{slot.replace('-', ' ', 1)} {value}, " for slot, value in state.items()).strip()
