"""SGD's layout: a folder per split with `schema.json` and `dialogues_*.json`. SGD and generated SGD-X have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from dstress.corpora.base import Corpus, Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode, write_json, write_list
from dstress.corpora.split_names import sort_splits, split_of_folder
from dstress.dialogue import Act, Dialogue, Frame, Intent, Schema, Service, Slot, Span, State, Turn, service_of, update
from dstress.errors import CorpusError, place
from dstress.storage.file_names import file_name
from dstress.storage.sources import Source, SourceFile

_FILE_SIZE = 1000
"""Dialogues in a file that is written."""


class _Raw(msgspec.Struct, gc=False):
    """Only the fields that are read: the rest of the file is skipped without building objects."""


class RawAction(_Raw):
    """An action as SGD writes it."""

    act: str
    slot: str = ""
    values: tuple[str, ...] = ()
    canonical_values: tuple[str, ...] = ()


class RawSpan(_Raw):
    """A span as SGD writes it. MultiWOZ 2.2 adds slots that were copied from elsewhere and have no place."""

    slot: str
    start: int = -1
    exclusive_end: int = -1


class RawState(_Raw):
    """A frame's state as SGD writes it."""

    active_intent: str = ""
    requested_slots: tuple[str, ...] = ()
    slot_values: dict[str, tuple[str, ...]] = {}


class RawFrame(_Raw):
    """A frame as SGD writes it; system frames have no state."""

    service: str
    slots: tuple[RawSpan, ...] = ()
    actions: tuple[RawAction, ...] = ()
    state: RawState | None = None


class RawTurn(_Raw):
    """One side's utterance."""

    speaker: str
    utterance: str
    frames: tuple[RawFrame, ...] = ()


class RawDialogue(_Raw):
    """A dialogue as SGD writes it."""

    dialogue_id: str
    turns: tuple[RawTurn, ...]
    services: tuple[str, ...] = ()


class _RawSlot(_Raw):
    name: str
    description: str = ""
    is_categorical: bool = False
    possible_values: tuple[str, ...] = ()


class _RawIntent(_Raw):
    name: str
    description: str = ""
    is_transactional: bool = False
    required_slots: tuple[str, ...] = ()
    optional_slots: dict[str, str] = {}
    result_slots: tuple[str, ...] = ()


class _RawService(_Raw):
    service_name: str
    description: str = ""
    slots: tuple[_RawSlot, ...] = ()
    intents: tuple[_RawIntent, ...] = ()


_DIALOGUES = msgspec.json.Decoder(list[RawDialogue])
_SERVICES = msgspec.json.Decoder(list[_RawService])


class Sgd(Importer):
    """Schema-Guided Dialogue: folders train, dev, test with schema.json and dialogues_*.json."""

    name: ClassVar[str] = "sgd"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(dialogue_files(source)) and bool(_schema_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        for folder, files in dialogue_files(source).items():
            schema = read_schema(schema_file(source, folder))
            yield Split(split_of_folder(folder, source), schema, partial(_read_dialogues, files))

    def write(self, corpus: Corpus, folder: Path) -> None:
        inside = folder / file_name(corpus.split)
        write_json(inside / "schema.json", [_written_service(one) for one in corpus.schema.services])
        dialogues = map(_written, corpus)
        for number in count(1):
            if not (some := list(islice(dialogues, _FILE_SIZE))):
                return
            write_list(inside / f"dialogues_{number:03}.json", some)


def _read_dialogues(files: list[SourceFile]) -> Iterator[LocatedDialogue]:
    for file in files:
        for raw in decode(_DIALOGUES, file):
            yield file.label, read_dialogue(raw, file.label)


def dialogue_files(source: Source) -> dict[str, list[SourceFile]]:
    """Dialogue files by their folder, folders in the order train, dev, test."""
    folders: dict[str, list[SourceFile]] = {}
    for file in source.ending(".json"):
        if file.stem.startswith("dialogues_"):
            folders.setdefault(file.folder, []).append(file)
    return {folder: folders[folder] for folder in sort_splits(folders)}


def schema_file(source: Source, folder: str) -> SourceFile:
    """The schema of a folder: its own, or the nearest one above (MultiWOZ 2.2 has one for all splits)."""
    schemas = {file.folder: file for file in _schema_files(source)}
    where = folder
    while where not in schemas:
        if not where:
            raise CorpusError("no schema.json", where=f"{source.address}:{folder}", fix="add the split's schema.json")
        where = where.rpartition("/")[0]
    return schemas[where]


def _schema_files(source: Source) -> list[SourceFile]:
    """`schema.json`, or `schema_test.json` where somebody keeps several in one folder."""
    return source.named("schema.json") or [file for file in source.ending(".json") if file.stem.startswith("schema_")]


def read_schema(file: SourceFile) -> Schema:
    """A `schema.json` in SGD's layout."""
    return Schema(tuple(_service(raw) for raw in decode(_SERVICES, file)))


def _service(raw: _RawService) -> Service:
    slots = tuple(Slot(slot.name, slot.description, slot.is_categorical, slot.possible_values) for slot in raw.slots)
    intents = tuple(
        Intent(i.name, i.description, i.is_transactional, i.required_slots, i.optional_slots, i.result_slots)
        for i in raw.intents
    )
    return Service(raw.service_name, raw.description, slots, intents)


def read_dialogue(raw: RawDialogue, label: str) -> Dialogue:
    """SGD's alternating utterances as turns: a system utterance and the user utterance that follows."""
    turns: list[Turn] = []
    state: State = {}
    system = ""
    system_frames: tuple[Frame, ...] = ()
    for position, side in enumerate(raw.turns):
        if side.speaker == "SYSTEM":
            system, system_frames = side.utterance, tuple(map(_frame, side.frames))
        elif side.speaker == "USER":
            state = _carry(state, side.frames)
            turns.append(Turn(side.utterance, system, state, tuple(map(_frame, side.frames)), system_frames))
            system, system_frames = "", ()
        else:
            where = place(label, raw.dialogue_id, position)
            raise CorpusError(f"the speaker is {side.speaker!r}, not USER or SYSTEM", where=where)
    return Dialogue(raw.dialogue_id, tuple(turns), raw.services)


def _carry(state: State, frames: tuple[RawFrame, ...]) -> State:
    """A frame holds its service's whole state; services without a frame in this turn keep theirs."""
    for frame in frames:
        if frame.state is not None:
            prefix = frame.service + "-"
            state = {slot: values for slot, values in state.items() if not slot.startswith(prefix)}
            for slot, values in frame.state.slot_values.items():
                state[prefix + slot] = values
    return state


def _frame(raw: RawFrame) -> Frame:
    spans = tuple([Span(span.slot, span.start, span.exclusive_end) for span in raw.slots if span.start >= 0])
    acts = tuple([Act(act.act, act.slot, act.values, act.canonical_values) for act in raw.actions])
    if raw.state is None:
        return Frame(raw.service, "", (), spans, acts)
    return Frame(raw.service, raw.state.active_intent, raw.state.requested_slots, spans, acts)


def _written_service(service: Service) -> dict[str, Any]:
    slots = [
        {"name": s.name, "description": s.description, "is_categorical": s.categorical, "possible_values": s.values}
        for s in service.slots
    ]
    intents = [
        {
            "name": intent.name,
            "description": intent.description,
            "is_transactional": intent.transactional,
            "required_slots": intent.required,
            "optional_slots": intent.optional,
            "result_slots": intent.result,
        }
        for intent in service.intents
    ]
    return {"service_name": service.name, "description": service.description, "slots": slots, "intents": intents}


def _written(dialogue: Dialogue) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    before: State = {}
    for turn in dialogue.turns:
        if turn.system:
            frames = [_written_frame(frame) for frame in turn.system_frames]
            turns.append({"speaker": "SYSTEM", "utterance": turn.system, "frames": frames})
        # A state travels in frames, so a service whose state changes has one.
        changed = dict.fromkeys(map(service_of, update(before, turn.state)))
        named = {frame.service for frame in turn.frames}
        user_frames = [*turn.frames, *(Frame(service) for service in changed if service not in named)]
        frames = [_written_frame(frame, turn.state_of(frame.service)) for frame in user_frames]
        turns.append({"speaker": "USER", "utterance": turn.user, "frames": frames})
        before = turn.state
    return {"dialogue_id": dialogue.id, "services": dialogue.services, "turns": turns}


def _written_frame(frame: Frame, state: State | None = None) -> dict[str, Any]:
    spans = [{"slot": span.slot, "start": span.start, "exclusive_end": span.end} for span in frame.spans]
    acts = [{"act": a.act, "slot": a.slot, "values": a.values, "canonical_values": a.canonical} for a in frame.acts]
    written: dict[str, Any] = {"service": frame.service, "slots": spans, "actions": acts}
    if state is not None:
        requested, intent = frame.requested, frame.intent or "NONE"
        written["state"] = {"active_intent": intent, "requested_slots": requested, "slot_values": state}
    return written
