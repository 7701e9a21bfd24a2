"""Dialogue files of the Schema-Guided Dialogue data set with predicted frames, as DSTC8's script reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import cast

import msgspec

from dstress.dialogue import Schema, Span, slot_id
from dstress.errors import UNREADABLE_JSON, PredictionError, place
from dstress.predictions import checks, sgd_layout
from dstress.predictions.base import Format, FramePrediction, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_FILE = msgspec.json.Decoder(list[sgd_layout.Dialogue])
_DIALOGUE = msgspec.json.Decoder(sgd_layout.Dialogue)
_BODY = msgspec.json.Decoder(sgd_layout.Body)
_NAME = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Sgd(Format):
    """A folder of dialogues_*.json: [{"dialogue_id", "turns": [{"speaker", "utterance", "frames": [...]}]}].

    An object of dialogues by their ids is read as well. System turns need no frames. Of a value list only the first
    counts, as in the script. An empty list, which crashes it, is an error here too.
    """

    name = "sgd"
    convention = "dstc8"
    by_file = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        shape = shape_of(source)
        dialogue = shape.item if "dialogue_id" in shape.item else next(iter(shape.members.values()), None)
        turns = dialogue.get("turns") if isinstance(dialogue, dict) else None
        if not isinstance(turns, list) or not all(isinstance(turn, dict) and "speaker" in turn for turn in turns):
            return False
        framed = ["frames" in turn for turn in turns]
        return (any(framed) or not turns) and all(
            framed[n] for n, turn in enumerate(turns) if turn["speaker"] == "USER"
        )

    def read(self, source: Source, schema: Schema | None = None) -> Iterator[Prediction]:
        names, dialogues = _Names(schema), checks.Turns()
        for file in data_files(source):
            for found in _dialogues(file):
                # Turns are counted, so only a whole dialogue can be there twice.
                dialogues.add(found.dialogue_id, 0, file.label)
                yield from _predictions(found, names, file.label)

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        target = path if path.suffix else path / "dialogues_001.json"
        encoder, first = msgspec.json.Encoder(), True
        with replacing(target) as out:
            for dialogue, turns in groupby(predictions, key=lambda prediction: prediction.dialogue):
                out.write(b"[" if first else b",\n")
                out.write(encoder.encode(sgd_layout.written(dialogue, list(turns), path)))
                first = False
            out.write(b"[]" if first else b"]\n")


def _dialogues(file: SourceFile) -> Iterable[sgd_layout.Dialogue]:
    """A file's dialogues, decoded in one go; only a file with something wrong is gone through again, to say where."""
    data = checks.content(file)
    if data.lstrip().startswith(b"{"):
        return _keyed(data, file)
    try:
        return _FILE.decode(data)
    except UNREADABLE_JSON:
        return _one_by_one(file)


def _keyed(data: bytes, file: SourceFile) -> Iterator[sgd_layout.Dialogue]:
    """The dialogues of an object, under their keys."""
    dialogues = checks.decode(data, _NAME, file.label)
    checks.unique_keys(data, b'"turns"', len(dialogues), file.label)
    for name, raw in dialogues.items():
        yield sgd_layout.Dialogue(name, checks.decode(raw, _BODY, place(file.label, name)).turns)


def _one_by_one(file: SourceFile) -> Iterator[sgd_layout.Dialogue]:
    for number, raw in enumerate(checks.items(file)):
        try:
            yield _DIALOGUE.decode(raw)
        except UNREADABLE_JSON as error:
            checks.refuse(error, bytes(raw), _whereabouts(raw, number, file.label))


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
        if "-" in slot and slot.startswith(f"{service}-"):
            return self.settle(service, slot).partition("-")[2]
        return slot


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
        if len(services) == 1:
            (state,) = services.values()
        else:
            state = {slot: value for part in services.values() for slot, value in part.items()}
        frames = tuple([_frame(frame, names) for frame in turn.frames])
        yield Prediction(dialogue, number, state, frames, utterance=turn.utterance)


def _values(frame: sgd_layout.Frame, names: _Names, at: tuple[str, str, int]) -> dict[str, str]:
    """A service's part of the state: of each list the first value."""
    slot_values = frame.state.slot_values if frame.state else {}
    ids = names.of(frame.service)
    try:
        values = {ids[slot]: forms[0] for slot, forms in slot_values.items()}
    except (KeyError, IndexError):
        values = {}
    # A slot that is seen for the first time, a number or an empty list: look at each.
    if len(values) < len(slot_values) or not _TEXT.issuperset(map(type, values.values())):
        return dict(_settled(frame.service, slot_values, names, at))
    return cast(dict[str, str], values)


_TEXT = frozenset((str,))


def _settled(
    service: str, slot_values: dict[str, list[object]], names: _Names, at: tuple[str, str, int]
) -> Iterator[tuple[str, str]]:
    for slot, forms in slot_values.items():
        settled = names.settle(service, slot)
        if not forms:
            raise PredictionError(
                f"the slot {settled!r} has an empty list of values",
                where=place(*at),
                fix='write ["value"], or leave the slot out; the official script stops here as well',
            )
        text = checks.text_of(forms[0], settled, place(*at))
        if text is not None:
            yield settled, text


def _frame(frame: sgd_layout.Frame, names: _Names) -> FramePrediction:
    service, state, spans = frame.service, frame.state, frame.slots
    requested = state.requested_slots if state else None
    bare = names.bare
    return FramePrediction(
        service,
        state.active_intent if state else None,
        tuple([bare(service, slot) for slot in requested]) if requested else None if requested is None else (),
        tuple([Span(bare(service, s.slot), s.start, s.exclusive_end) for s in spans if s.start >= 0])
        if spans
        else None
        if spans is None
        else (),
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
    except (*UNREADABLE_JSON, KeyError):
        return f"{file}, item {number}"
