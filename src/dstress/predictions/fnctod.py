"""The output of FnCTOD: PPTOD's belief spans, in a list of turns a dialogue."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dstress.dialogue import Schema
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.pptod import BeliefTurn, span_predictions
from dstress.predictions.shape import shape_of
from dstress.storage.sources import Source


class FncTod(Format):
    """{dialogue: [{"bspn": "[domain] slot value ...", "bspn_gen": ..., "user": ...}, ...]}."""

    name = "fnctod"
    convention = "fnctod"
    carries_gold = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        first = next(iter(shape_of(source).listed or ()), None)
        return isinstance(first, dict) and "bspn_gen" in first

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        yield from span_predictions(checks.by_position(source, msgspec.json.Decoder(BeliefTurn), b'"bspn_gen"'), schema)
