"""Dialogue files of the Schema-Guided Dialogue data set with predicted frames, as DSTC8's script reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from dstress.dialogue import Schema, Span, slot_id
from dstress.errors import UNREADABLE_JSON, PredictionError, place
from dstress.predictions import checks
from dstress.predictions.base import Format, FramePrediction, Prediction
from dstress.predictions.shape import data_files, shape_of
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames


class _Raw(msgspec.Struct, gc=False):
    """One piece of a dialogue file. The decoder skips whatever is not named here, at the speed of reading."""


class _RawSpan(_Raw):
    """Where a value is said. MultiWOZ 2.2 has entries without a place, copied from another slot."""

    slot: str
    start: int = -1
    exclusive_end: int = -1


class _RawState(_Raw):
    slot_values: dict[str, list[object]]
    active_intent: str | None = None
    requested_slots: tuple[str, ...] | None = None


class _RawFrame(_Raw, omit_defaults=True):
    service: str
    state: _RawState | None = None
    slots: list[_RawSpan] | None = None


class _RawTurn(_Raw):
    speaker: str
    utterance: str = ""
    frames: list[_RawFrame] = []


class _RawDialogue(_Raw):
    dialogue_id: str
    turns: list[_RawTurn]
    services: list[str] = []


class _RawBody(_Raw):
    """One dialogue in an object of dialogues, where the key is its id."""

    turns: list[_RawTurn]


_FILE = msgspec.json.Decoder(list[_RawDialogue])
_DIALOGUE = msgspec.json.Decoder(_RawDialogue)
_BODY = msgspec.json.Decoder(_RawBody)
_NAME = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = frozenset((str,))


class Sgd(Format):
    """A folder of dialogues_*.json: [{"dialogue_id", "turns": [{"speaker", "utterance", "frames": [...]}]}].

    An object of dialogues by their ids is read as well. System turns need no frames. Of a value list only the first
    counts, as in the script. An empty list, which crashes it, is an error here too.
    """

    name = "sgd"
    convention = "dstc8"

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
            for raw in _dialogues(file):
                # Turns are counted, so only a whole dialogue can be there twice.
                dialogues.add(raw.dialogue_id, 0, file.label)
                yield from _predictions(raw, names, file.label)

    def write(self, predictions: Iterable[Prediction], path: Path) -> None:
        target = path if path.suffix else path / "dialogues_001.json"
        encoder, first = msgspec.json.Encoder(), True
        with replacing(target) as out:
            for dialogue, turns in groupby(predictions, key=lambda prediction: prediction.dialogue):
                out.write(b"[" if first else b",\n")
                out.write(encoder.encode(_written(dialogue, list(turns), path)))
                first = False
            out.write(b"[]" if first else b"]\n")


def _dialogues(file: SourceFile) -> Iterator[_RawDialogue]:
    """A file's dialogues, decoded in one go; only a file with something wrong is gone through again, to say where."""
    data = checks.content(file)
    if data.lstrip().startswith(b"{"):
        dialogues = checks.decode(data, _NAME, file.label)
        checks.unique_keys(data, b'"turns"', len(dialogues), file.label)
        for name, raw in dialogues.items():
            yield _RawDialogue(name, checks.decode(raw, _BODY, place(file.label, name)).turns)
        return
    try:
        whole = _FILE.decode(data)
    except UNREADABLE_JSON:
        for where, raw in checks.items([file]):
            try:
                dialogue = _DIALOGUE.decode(raw)
            except UNREADABLE_JSON as error:
                # The dialogue's id says where, if it can still be read.
                with suppress(*UNREADABLE_JSON, KeyError):
                    where = place(file.label, msgspec.json.decode(_NAME.decode(raw)["dialogue_id"], type=str))
                checks.refuse(error, bytes(raw), where)
            yield dialogue
        return
    yield from whole


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
        settled = self._names(service, slot) if repeated else slot_id(service, slot)
        self.of(service)[slot] = settled
        return settled

    def bare(self, service: str, slot: str) -> str:
        """The slot's name inside a frame."""
        if "-" in slot and slot.startswith(f"{service}-"):
            return self.settle(service, slot).partition("-")[2]
        return slot


def _predictions(raw: _RawDialogue, names: _Names, file: str) -> Iterator[Prediction]:
    dialogue = checks.dialogue_id(raw.dialogue_id, file)
    services: dict[str, dict[str, str]] = {}
    number = -1
    for turn in raw.turns:
        if turn.speaker == "SYSTEM":
            continue
        number += 1
        if turn.speaker != "USER":
            where = place(file, dialogue, number)
            raise PredictionError(f"the speaker {turn.speaker!r} is neither USER nor SYSTEM", where=where)
        for frame in turn.frames:
            if frame.state is not None:
                services[frame.service] = _values(frame.service, frame.state, names, (file, dialogue, number))
        if len(turn.frames) > 1:
            framed = [frame.service for frame in turn.frames]
            if len(set(framed)) < len(framed):
                doubled = next(service for service in framed if framed.count(service) > 1)
                where = place(file, dialogue, number)
                raise PredictionError(
                    f"two frames for the service {doubled!r}", where=where, fix="give one per service"
                )
        if len(services) == 1:
            (state,) = services.values()
        else:
            state = {slot: value for part in services.values() for slot, value in part.items()}
        frames = tuple([_frame(frame, names) for frame in turn.frames])
        yield Prediction(dialogue, number, state, frames, utterance=turn.utterance)


def _values(service: str, state: _RawState, names: _Names, at: tuple[str, str, int]) -> dict[str, str]:
    """A service's part of the state: of each list the first value."""
    ids = names.of(service)
    values: dict[str, Any]
    try:
        values = {ids[slot]: forms[0] for slot, forms in state.slot_values.items()}
    except (KeyError, IndexError):
        values = {}
    if len(values) == len(state.slot_values) and _TEXT.issuperset(map(type, values.values())):
        return values
    # A slot that is seen for the first time, a number or an empty list: look at each.
    texts: dict[str, str] = {}
    for slot, forms in state.slot_values.items():
        settled = names.settle(service, slot)
        if not forms:
            raise PredictionError(
                f"the slot {settled!r} has an empty list of values",
                where=place(*at),
                fix='write ["value"], or leave the slot out; the official script stops here as well',
            )
        text = checks.text_of(forms[0], settled, place(*at))
        if text is not None:
            texts[settled] = text
    return texts


def _frame(frame: _RawFrame, names: _Names) -> FramePrediction:
    # Most frames request nothing and have no span.
    service, state, bare = frame.service, frame.state, names.bare
    requested = state.requested_slots if state else None
    if requested:
        requested = tuple([bare(service, slot) for slot in requested])
    spans: tuple[Span, ...] | None = None if frame.slots is None else ()
    if frame.slots:
        spans = tuple([Span(bare(service, s.slot), s.start, s.exclusive_end) for s in frame.slots if s.start >= 0])
    return FramePrediction(service, state.active_intent if state else None, requested, spans)


def _written(name: str, predictions: list[Prediction], path: Path) -> _RawDialogue:
    """A whole dialogue. A turn has frames for the services it speaks of, and for those whose state it changes."""
    if [prediction.turn for prediction in predictions] != list(range(len(predictions))):
        raise PredictionError(
            "SGD files number turns by their order, and these are not in order from 0",
            where=place(path, name),
            fix="predict every turn of a dialogue in order, or write dstress",
        )
    turns: list[_RawTurn] = []
    before: dict[str, dict[str, list[object]]] = {}
    for prediction in predictions:
        states: dict[str, dict[str, list[object]]] = {service: {} for service in before}
        for slot, value in prediction.state.items():
            service, _, bare = slot.partition("-")
            states.setdefault(service, {})[bare] = [value]
        framed = {frame.service: frame for frame in prediction.frames}
        changed = [service for service, part in states.items() if service not in framed and before.get(service) != part]
        frames = [_written_frame(frame, states.get(frame.service, {})) for frame in prediction.frames]
        frames += [_written_frame(FramePrediction(service), states[service]) for service in changed]
        turns.append(_RawTurn("USER", prediction.utterance or "", frames))
        turns.append(_RawTurn("SYSTEM", prediction.response or ""))
        before = states
    return _RawDialogue(name, turns, list(before))


def _written_frame(frame: FramePrediction, values: dict[str, list[object]]) -> _RawFrame:
    spans = None if frame.spans is None else [_RawSpan(span.slot, span.start, span.end) for span in frame.spans]
    return _RawFrame(frame.service, _RawState(values, frame.intent or "NONE", frame.requested or ()), spans)
