"""SGD's layout: a folder per split with `schema.json` and `dialogues_*.json`. SGD and generated SGD-X have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

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
    """A piece of a file as SGD writes it. Only fields that are read: the rest is skipped without building objects.

    Slots and intents, spans and acts have the fields of `dstress.dialogue`'s in the same order, under other names.
    """


class RawAction(_Raw):
    """An act."""

    act: str
    slot: str = ""
    values: tuple[str, ...] = ()
    canonical_values: tuple[str, ...] = ()


class RawSpan(_Raw):
    """A span. MultiWOZ 2.2 adds slots that were copied from elsewhere and have no place."""

    slot: str
    start: int = -1
    exclusive_end: int = -1


class RawState(_Raw):
    """A frame's state."""

    active_intent: str = ""
    requested_slots: tuple[str, ...] = ()
    slot_values: dict[str, tuple[str, ...]] = {}


class RawFrame(_Raw):
    """A frame; system frames have no state."""

    service: str
    slots: tuple[RawSpan, ...] = ()
    actions: tuple[RawAction, ...] = ()
    state: RawState | UnsetType | None = UNSET


class RawTurn(_Raw):
    """One side's utterance."""

    speaker: str
    utterance: str
    frames: tuple[RawFrame, ...] = ()


class RawDialogue(_Raw, kw_only=True):
    """A dialogue."""

    dialogue_id: str
    services: tuple[str, ...] = ()
    turns: tuple[RawTurn, ...]


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

    name = "sgd"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(dialogue_files(source)) and bool(_schema_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        for folder, files in dialogue_files(source).items():
            schema = read_schema(schema_file(source, folder))
            yield Split(split_of_folder(folder, source), schema, partial(_read, files))

    def write(self, corpus: Corpus, folder: Path) -> None:
        inside = folder / file_name(corpus.split)
        services = [
            _RawService(
                service.name,
                service.description,
                tuple(_RawSlot(*astuple(slot)) for slot in service.slots),
                tuple(_RawIntent(*astuple(intent)) for intent in service.intents),
            )
            for service in corpus.schema.services
        ]
        write_json(inside / "schema.json", services)
        dialogues = map(_written, corpus)
        for number in count(1):
            if not (some := list(islice(dialogues, _FILE_SIZE))):
                return
            write_list(inside / f"dialogues_{number:03}.json", some)


def _read(files: list[SourceFile]) -> Iterator[LocatedDialogue]:
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
    services = [
        Service(
            raw.service_name,
            raw.description,
            tuple(Slot(*astuple(slot)) for slot in raw.slots),
            tuple(Intent(*astuple(intent)) for intent in raw.intents),
        )
        for raw in decode(_SERVICES, file)
    ]
    return Schema(tuple(services))


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
            # A frame holds its service's whole state; services without a frame in this turn keep theirs.
            for frame in side.frames:
                if frame.state:
                    prefix = frame.service + "-"
                    state = {slot: values for slot, values in state.items() if not slot.startswith(prefix)}
                    for slot, values in frame.state.slot_values.items():
                        state[prefix + slot] = values
            turns.append(Turn(side.utterance, system, state, tuple(map(_frame, side.frames)), system_frames))
            system, system_frames = "", ()
        else:
            where = place(label, raw.dialogue_id, position)
            raise CorpusError(f"the speaker is {side.speaker!r}, not USER or SYSTEM", where=where)
    return Dialogue(raw.dialogue_id, tuple(turns), raw.services)


def _frame(raw: RawFrame) -> Frame:
    # Not `astuple`: this runs for every frame of the largest corpora.
    spans = tuple([Span(span.slot, span.start, span.exclusive_end) for span in raw.slots if span.start >= 0])
    acts = tuple([Act(act.act, act.slot, act.values, act.canonical_values) for act in raw.actions])
    state = raw.state or RawState()
    return Frame(raw.service, state.active_intent, state.requested_slots, spans, acts)


def _written(dialogue: Dialogue) -> RawDialogue:
    turns: list[RawTurn] = []
    before: State = {}
    for turn in dialogue.turns:
        if turn.system:
            turns.append(RawTurn("SYSTEM", turn.system, tuple(map(_written_frame, turn.system_frames))))
        # A state travels in frames, so a service whose state changes has one.
        framed = {frame.service for frame in turn.frames}
        changed = dict.fromkeys(map(service_of, update(before, turn.state)))
        frames = []
        for frame in (*turn.frames, *(Frame(service) for service in changed if service not in framed)):
            raw = _written_frame(frame)
            raw.state = RawState(frame.intent or "NONE", frame.requested, turn.state_of(frame.service))
            frames.append(raw)
        turns.append(RawTurn("USER", turn.user, tuple(frames)))
        before = turn.state
    return RawDialogue(dialogue_id=dialogue.id, services=dialogue.services, turns=tuple(turns))


def _written_frame(frame: Frame) -> RawFrame:
    spans = tuple(RawSpan(*astuple(span)) for span in frame.spans)
    return RawFrame(frame.service, spans, tuple(RawAction(*astuple(act)) for act in frame.acts))
