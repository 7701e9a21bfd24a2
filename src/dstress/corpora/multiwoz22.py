"""MultiWOZ 2.2: SGD's layout with MultiWOZ's names, and the dialogue acts in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from dstress.corpora import multiwoz_schema
from dstress.corpora.base import Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode
from dstress.corpora.sgd import RawDialogue, dialogue_files, read_dialogue, read_schema, schema_file
from dstress.corpora.split_names import split_of_folder
from dstress.dialogue import Act, Frame, Schema, Service
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_DIALOGUES = msgspec.json.Decoder(list[RawDialogue])


class _Annotation(msgspec.Struct, frozen=True):
    dialog_act: dict[str, list[multiwoz_schema.RawAct]] = {}


_Acts = dict[str, dict[str, _Annotation]]
_ACTS = msgspec.json.Decoder(_Acts)
_STATEFUL = frozenset({"attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train"})


class Multiwoz22(Importer):
    """MultiWOZ 2.2: folders train, dev, test, one schema.json, and perhaps dialog_acts.json."""

    name = "multiwoz22"

    @classmethod
    def matches(cls, source: Source) -> bool:
        schemas = source.named("schema.json")
        return bool(dialogue_files(source)) and any(b'"hotel-' in file.head() for file in schemas)

    def splits(self, source: Source) -> Iterator[Split]:
        acts: _Acts = {}
        for file in source.named("dialog_acts.json"):
            published = decode(_ACTS, file)
            acts |= published
        for folder, files in dialogue_files(source).items():
            schema = _settle_schema(read_schema(schema_file(source, folder)))
            yield Split(split_of_folder(folder, source), schema, partial(_read, files, SlotNames(schema), acts))


def _settle_schema(published: Schema) -> Schema:
    """The published slots under the names of the papers; those that no state holds (phone, ref ...) are requestable."""
    reference = multiwoz_schema.select_services(_STATEFUL)
    names = SlotNames(reference)
    services = []
    for service in published.services:
        settled = {_bare(names, service.name, slot.name): slot for slot in service.slots}
        stateful = {name: slot for name, slot in settled.items() if f"{service.name}-{name}" in reference.slots}
        slots = tuple(msgspec.structs.replace(slot, name=name) for name, slot in stateful.items())
        requestable = tuple(name for name in settled if name not in stateful)
        intents = reference.by_name[service.name].intents if service.name in reference.by_name else ()
        services.append(Service(service.name, service.description, slots, intents or service.intents, requestable))
    return Schema(tuple(services))


def _bare(names: SlotNames, service: str, slot: str) -> str:
    """The settled name of a slot inside its service, which the layout may repeat."""
    settled = names(service, slot).removeprefix(f"{service}-")
    return settled.removeprefix(f"{service}-")


def _read(files: list[SourceFile], names: SlotNames, all_acts: _Acts) -> Iterator[LocatedDialogue]:
    """Dialogues with settled slot names and with their acts, file by file."""
    for file in files:
        for raw in decode(_DIALOGUES, file):
            for frame in (frame for turn in raw.turns for frame in turn.frames):
                for span in frame.slots:
                    span.slot = _bare(names, frame.service, span.slot)
                if state := frame.state:
                    state.requested_slots = tuple(_bare(names, frame.service, slot) for slot in state.requested_slots)
                    values = state.slot_values.items()
                    state.slot_values = {_bare(names, frame.service, slot): forms for slot, forms in values}
            raw.dialogue_id = raw.dialogue_id.removesuffix(".json")
            dialogue = read_dialogue(raw, file.label)
            if acts := all_acts.get(dialogue.id) or all_acts.get(f"{dialogue.id}.json"):
                # Utterances are numbered over both sides, from the user's first, which is 0.
                turns = [
                    msgspec.structs.replace(
                        turn,
                        frames=_join_acts(turn.frames, acts.get(str(2 * index))),
                        system_frames=_join_acts(turn.system_frames, acts.get(str(2 * index - 1))),
                    )
                    for index, turn in enumerate(dialogue.turns)
                ]
                dialogue = msgspec.structs.replace(dialogue, turns=tuple(turns))
            yield file.label, dialogue


def _join_acts(frames: tuple[Frame, ...], annotation: _Annotation | None) -> tuple[Frame, ...]:
    by_service = {frame.service: frame for frame in frames}
    for title, pairs in annotation.dialog_act.items() if annotation else ():
        service, _, act = title.casefold().partition("-")
        if service == "general":
            continue
        frame = by_service.get(service, Frame(service))
        acts = tuple(
            Act(
                act.upper(),
                multiwoz_schema.act_slot(service, str(slot)),
                (str(value),) if value not in ("none", "?") else (),
            )
            for slot, value, *_ in pairs
        )
        by_service[service] = msgspec.structs.replace(frame, acts=frame.acts + acts)
    return tuple(by_service.values())
