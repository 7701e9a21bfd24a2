"""Dialogue files of the Schema-Guided Dialogue data set with predicted frames, as DSTC8's script reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import msgspec

from dstress.dialogue import Schema, Span, slot_id
from dstress.errors import PredictionError, place
from dstress.naming import SlotNames
from dstress.predictions import checks, sgd_layout
from dstress.predictions.base import Format, FramePrediction, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.sources import Source
from dstress.writing import replacing

_DIALOGUE = msgspec.json.Decoder(sgd_layout.Dialogue)
_NAME = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Sgd(Format):
    """A folder of dialogues_*.json: [{"dialogue_id", "turns": [{"speaker", "utterance", "frames": [...]}]}].

    Of a value list only the first counts, as in the script. An empty list, which crashes it, is an error here too.
    """

    name = "sgd"
    convention = "dstc8"

    @classmethod
    def matches(cls, source: Source) -> bool:
        item = shape_of(source).item
        turns = item.get("turns")
        if "dialogue_id" not in item or not isinstance(turns, list):
            return False
        return all(isinstance(turn, dict) and {"speaker", "frames"} <= turn.keys() for turn in turns)

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, turns = _Names(schema), checks.Turns()
        for file in data_files(source):
            for number, raw in enumerate(checks.items(file)):
                try:
                    found = _DIALOGUE.decode(raw)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    checks.refuse(error, bytes(raw), _whereabouts(raw, number, file.label))
                for prediction in _predictions(found, names, file.label):
                    turns.add(prediction.dialogue, prediction.turn, file.label)
                    yield prediction

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        target = path if path.suffix else path / "dialogues_001.json"
        encoder, first = msgspec.json.Encoder(), True
        with replacing(target) as out:
            for dialogue, turns in groupby(predictions, key=lambda prediction: prediction.dialogue):
                out.write(b"[" if first else b",\n")
                out.write(encoder.encode(sgd_layout.written(dialogue, list(turns), path)))
                first = False
            out.write(b"[]" if first else b"]\n")


class _Names:
    """SGD's slots go by their exact names; MultiWOZ 2.2, in the same layout, writes `hotel-bookday` for `book day`."""

    def __init__(self, schema: Schema | None) -> None:
        self._names = SlotNames(schema)
        self._ids: dict[str, dict[str, str]] = {}

    def of(self, service: str) -> dict[str, str]:
        """The slot ids of a service seen so far, to look up without a call."""
        return self._ids.setdefault(service, {})

    def settle(self, service: str, slot: str) -> str:
        repeated = slot.startswith(f"{service}-")
        found = self._names(service, slot) if repeated else slot_id(service, slot)
        self.of(service)[slot] = found
        return found

    def bare(self, service: str, slot: str) -> str:
        """The slot's name inside a frame."""
        return self.settle(service, slot).partition("-")[2] if slot.startswith(f"{service}-") else slot


def _predictions(found: sgd_layout.Dialogue, names: _Names, file: str) -> Iterator[Prediction]:
    dialogue = checks.dialogue_id(found.dialogue_id, file)
    services: dict[str, dict[str, str]] = {}
    number = -1
    for turn in found.turns:
        if turn.speaker != "USER":
            if turn.speaker != "SYSTEM":
                raise PredictionError(
                    f"the speaker {turn.speaker!r} is neither USER nor SYSTEM", where=place(file, dialogue, number + 1)
                )
            continue
        number += 1
        for frame in turn.frames:
            if frame.state is not None:
                services[frame.service] = _values(frame, names, (file, dialogue, number))
        if len(turn.frames) > 1:
            _check_frames(turn.frames, place(file, dialogue, number))
        state = {slot: value for part in services.values() for slot, value in part.items()}
        frames = tuple([_frame(frame, names) for frame in turn.frames])
        yield Prediction(dialogue, number, state, frames, utterance=turn.utterance)


def _values(frame: sgd_layout.Frame, names: _Names, at: tuple[str, str, int]) -> dict[str, str]:
    """A service's part of the state; the place is put into words only when something is wrong."""
    ids = names.of(frame.service)
    values: dict[str, str] = {}
    for slot, forms in frame.state.slot_values.items() if frame.state else ():
        settled = ids.get(slot) or names.settle(frame.service, slot)
        if type(forms) is list and forms:
            first = forms[0]
            text = first if type(first) is str else checks.text_of(first, settled, place(*at))
            if text is not None:
                values[settled] = text
            continue
        problem = "an empty list of values" if forms == [] else "no list of values"
        raise PredictionError(
            f"the slot {settled!r} has {problem}",
            where=place(*at),
            fix='write ["value"], or leave the slot out; the official script stops here as well',
        )
    return values


def _frame(frame: sgd_layout.Frame, names: _Names) -> FramePrediction:
    service, state, spans = frame.service, frame.state, frame.slots
    requested = state.requested_slots if state else None
    return FramePrediction(
        service,
        state.active_intent if state else None,
        None if requested is None else tuple([names.bare(service, slot) for slot in requested]),
        None
        if spans is None
        else tuple([Span(names.bare(service, s.slot), s.start, s.exclusive_end) for s in spans if s.start >= 0]),
    )


def _check_frames(frames: list[sgd_layout.Frame], where: str) -> None:
    services = [frame.service for frame in frames]
    if len(set(services)) < len(services):
        doubled = next(service for service in services if services.count(service) > 1)
        raise PredictionError(f"two frames for the service {doubled!r}", where=where, fix="give one per service")


def _whereabouts(raw: msgspec.Raw, number: int, file: str) -> str:
    """The dialogue's id if it can still be read, else its position in the file."""
    try:
        return place(file, msgspec.json.decode(_NAME.decode(raw)["dialogue_id"], type=str))
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, RecursionError):
        return f"{file}, item {number}"
