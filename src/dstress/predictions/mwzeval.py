"""The input of the standalone MultiWOZ evaluation (`mwzeval`): responses, and states where the system has any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from dstress.dialogue import Schema
from dstress.errors import PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, Prediction
from dstress.predictions.shape import shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source
from dstress.text.slot_names import SlotNames


class _Turn(msgspec.Struct, gc=False, omit_defaults=True):
    response: Any = None
    state: dict[str, dict[str, object]] | None = None
    active_domains: list[str] | None = None


class Mwzeval(Format):
    """{dialogue: [{"response": ..., "state": {domain: {slot: value}}, "active_domains": [...]}, ...]}.

    A turn without "state" comes from a system that tracks none: its prediction is `stateless`. The script compares
    whatever text is there, so `none` and "" are values, and stay.
    """

    name = "mwzeval"
    convention = "mwzeval"

    @classmethod
    def matches(cls, source: Source) -> bool:
        first = next(iter(shape_of(source).listed or ()), None)
        return isinstance(first, dict) and "response" in first

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names = SlotNames(schema)
        for dialogue, turn, here, record in checks.records(source, _Turn, b'"response"', checks.BY_POSITION):
            if not isinstance(record.response, str):
                raise PredictionError(
                    "there is no response" if record.response is None else "the response is no text",
                    where=here,
                    fix='give every turn a text as "response", "" where the system says nothing',
                )
            yield Prediction(
                dialogue,
                turn,
                checks.flat(record.state or {}, names, here),
                response=record.response,
                stateless=record.state is None,
                domains=None if record.active_domains is None else tuple(record.active_domains),
                services=tuple(service for service, slots in (record.state or {}).items() if not slots),
            )

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        dialogues: defaultdict[str, dict[int, _Turn]] = defaultdict(dict)
        for prediction in predictions:
            # The script looks ids up in lower case.
            dialogues[prediction.dialogue.lower()][prediction.turn] = _turn(prediction)
        for dialogue, turns in dialogues.items():
            if sorted(turns) != list(range(len(turns))):
                missing = min(set(range(max(turns))) - turns.keys())
                raise PredictionError(
                    "mwzeval numbers turns by their order, and this one is missing",
                    where=place(path, dialogue, missing),
                    fix="predict every turn, or write dstress",
                )
        with replacing(path) as out:
            out.write(
                msgspec.json.encode({d: [turns[turn] for turn in sorted(turns)] for d, turns in dialogues.items()})
            )


def _turn(prediction: Prediction) -> _Turn:
    state: defaultdict[str, dict[str, object]] = defaultdict(dict, {service: {} for service in prediction.services})
    for slot, value in prediction.state.items():
        service, _, name = slot.partition("-")
        # `book day` is `day` to the script.
        state[service][name.removeprefix("book ")] = value
    return _Turn(
        prediction.response or "",
        None if prediction.stateless else dict(state),
        None if prediction.domains is None else list(prediction.domains),
    )
