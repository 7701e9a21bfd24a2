"""MultiWOZ 2.2: SGD's layout with MultiWOZ's names, and the dialogue acts in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import msgspec

from dstress.corpora import multiwoz_schema
from dstress.corpora.base import Importer, LocatedDialogue, Split
from dstress.corpora.reading import decode, split_name
from dstress.corpora.sgd import RawDialogue, RawFrame, dialogue_files, read_dialogue, read_schema, schema_file
from dstress.dialogue import Act, Dialogue, Frame, Schema, Service, Turn
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_DIALOGUES = msgspec.json.Decoder(list[RawDialogue])
_Pair = Annotated[list[Any], msgspec.Meta(min_length=2)]


class _Annotation(msgspec.Struct, frozen=True):
    dialog_act: dict[str, list[_Pair]] = {}


_Acts = dict[str, dict[str, _Annotation]]
_ACTS = msgspec.json.Decoder(_Acts)
_STATEFUL = frozenset({"attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train"})


class Multiwoz22(Importer):
    """MultiWOZ 2.2: folders train, dev, test, one schema.json, and perhaps dialog_acts.json."""

    name: ClassVar[str] = "multiwoz22"

    @classmethod
    def matches(cls, source: Source) -> bool:
        schemas = source.named("schema.json")
        return bool(dialogue_files(source)) and any(b'"hotel-' in file.head() for file in schemas)

    def splits(self, source: Source) -> Iterator[Split]:
        acts: _Acts = {}
        for file in source.named("dialog_acts.json"):
            published = decode(_ACTS, file)
            acts.update(published)
        for folder, files in dialogue_files(source).items():
            schema = _schema(read_schema(schema_file(source, folder)))
            yield Split(split_name(folder, source), schema, _Stream(files, SlotNames(schema), acts))


def _schema(published: Schema) -> Schema:
    """The published slots under the names of the papers; slots that no state holds (phone, ref ...) are left out."""
    names = SlotNames()
    reference = multiwoz_schema.schema(_STATEFUL)
    services = []
    for service in published.services:
        settled = {names(service.name, slot.name): slot for slot in service.slots}
        kept = tuple(
            msgspec.structs.replace(slot, name=name.partition("-")[2])
            for name, slot in settled.items()
            if name in reference.slots
        )
        intents = reference.by_name[service.name].intents if service.name in reference.by_name else ()
        services.append(Service(service.name, service.description, kept, intents or service.intents))
    return Schema(tuple(services))


class _Stream:
    """Dialogues with settled slot names and with their acts, file by file."""

    def __init__(self, files: list[SourceFile], names: SlotNames, acts: _Acts) -> None:
        self.files, self.names, self.acts = files, names, acts

    def __call__(self) -> Iterator[LocatedDialogue]:
        for file in self.files:
            for raw in decode(_DIALOGUES, file):
                settled = self._settled(raw)
                yield file.label, self._with_acts(read_dialogue(settled, file.label), raw.dialogue_id)

    def _settled(self, raw: RawDialogue) -> RawDialogue:
        for turn in raw.turns:
            for frame in turn.frames:
                self._settle_frame(frame)
        raw.dialogue_id = raw.dialogue_id.removesuffix(".json")
        return raw

    def _settle_frame(self, frame: RawFrame) -> None:
        for span in frame.slots:
            span.slot = self._bare(frame.service, span.slot)
        if frame.state is not None:
            requested = tuple(self._bare(frame.service, slot) for slot in frame.state.requested_slots)
            values = {self._bare(frame.service, slot): forms for slot, forms in frame.state.slot_values.items()}
            frame.state.requested_slots, frame.state.slot_values = requested, values

    def _bare(self, service: str, slot: str) -> str:
        settled = self.names(service, slot).removeprefix(f"{service}-")
        return settled.removeprefix(f"{service}-")

    def _with_acts(self, dialogue: Dialogue, published_id: str) -> Dialogue:
        acts = self.acts.get(published_id) or self.acts.get(f"{dialogue.id}.json")
        if not acts:
            return dialogue
        turns = [_act_turn(turn, acts, index) for index, turn in enumerate(dialogue.turns)]
        return msgspec.structs.replace(dialogue, turns=tuple(turns))


def _act_turn(turn: Turn, acts: dict[str, _Annotation], index: int) -> Turn:
    """Utterances are numbered over both sides, from the user's first: turn i is 2i, the system before it 2i - 1."""
    return msgspec.structs.replace(
        turn,
        frames=_act_frames(turn.frames, acts.get(str(2 * index), _Annotation())),
        system_frames=_act_frames(turn.system_frames, acts.get(str(2 * index - 1), _Annotation())),
    )


def _act_frames(frames: tuple[Frame, ...], annotation: _Annotation) -> tuple[Frame, ...]:
    by_service = {frame.service: frame for frame in frames}
    for title, pairs in annotation.dialog_act.items():
        service, _, act = title.casefold().partition("-")
        if service == "general":
            continue
        frame = by_service.get(service, Frame(service))
        said = tuple(
            Act(
                act.upper(),
                multiwoz_schema.act_slot(service, str(slot)),
                (str(value),) if value not in ("none", "?") else (),
            )
            for slot, value, *_ in pairs
        )
        by_service[service] = msgspec.structs.replace(frame, acts=frame.acts + said)
    return tuple(by_service.values())
