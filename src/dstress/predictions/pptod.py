"""The output of PPTOD and FnCTOD: belief states as spans, `<sos_b> [hotel] area centre stars 4 [taxi] leave 17:15`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames

_DOMAINS = frozenset(("taxi", "police", "hospital", "hotel", "attraction", "train", "restaurant"))
_SLOTS = frozenset([
    "car", "address", "postcode", "phone", "internet", "parking", "type", "pricerange", "food", "stars", "area",
    "reference", "time", "leave", "price", "arrive", "id", "stay", "day", "people", "name", "destination", "departure",
    "department",
])  # fmt: skip
_MARKS = frozenset(("<sos_b>", "<eos_b>", "<sos_u>", "<eos_u>"))


class _Turn(msgspec.Struct, gc=False):
    bspn_gen: str
    bspn: str | None = None
    user: str | None = None


class Pptod(Format):
    """{dialogue: {turn: {"bspn": "<sos_b> [domain] slot value ... <eos_b>", "bspn_gen": ..., "user": ...}}}."""

    name = "pptod"
    carries_gold = True
    layout = checks.BY_TURN

    @classmethod
    def matches(cls, source: Source) -> bool:
        turn = shape_of(source).turn
        return isinstance(turn, dict) and "bspn_gen" in turn

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names = SlotNames(schema)
        for dialogue, turn, _, record in checks.records(source, _Turn, b'"bspn_gen"', self.layout):
            gold = None if record.bspn is None else checks.accepted(_state(record.bspn, names))
            utterance = None if record.user is None else " ".join(_words(record.user))
            yield Prediction(dialogue, turn, _state(record.bspn_gen, names), gold=gold, utterance=utterance)


class FncTod(Pptod):
    """{dialogue: [{"bspn": "[domain] slot value ...", "bspn_gen": ..., "user": ...}, ...]}."""

    name = "fnctod"
    convention = "fnctod"
    layout = checks.BY_POSITION

    @classmethod
    def matches(cls, source: Source) -> bool:
        first = next(iter(shape_of(source).listed or ()), None)
        return isinstance(first, dict) and "bspn_gen" in first


def _state(span: str, names: SlotNames) -> dict[str, str]:
    """Read a span as the scripts do: a value ends where a word is the name of a slot, or a domain in brackets."""
    domain, pairs = "", list[tuple[str, list[str]]]()
    for word in _words(span):
        if word[:1] == "[" and word[1:-1] in _DOMAINS and word[-1:] == "]":
            domain = word[1:-1]
            pairs.append(("", []))
        elif domain and word in _SLOTS:
            pairs.append((names(domain, word), []))
        elif pairs:
            pairs[-1][1].append(word)
    return checks.together((slot, " ".join(value)) for slot, value in pairs if slot)


def _words(text: str) -> list[str]:
    return [word for word in text.split() if word not in _MARKS]
