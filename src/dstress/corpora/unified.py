"""ConvLab's unified layout: `dialogues.json` with every split in it, and `ontology.json`.

A data set's folder holds them in `data.zip` or, unpacked, in `data/`, beside scripts and `dummy_data.json`, a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora.base import Corpus, LocatedDialogue, Split
from dstress.corpora.json_files import decode, decode_part, write_json, write_list
from dstress.corpora.json_importer import JsonImporter, complete_split, frames_of
from dstress.corpora.split_names import sort_splits
from dstress.dialogue import Act, Dialogue, Frame, Goal, Intent, Schema, Service, Slot, Span, State, Turn, slot_id
from dstress.errors import CorpusError, place
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_SAMPLE = "dummy_data.json"


class _RawActs(msgspec.Struct, gc=False, frozen=True, rename={"noncategorical": "non-categorical"}):
    binary: list[dict[str, Any]] = []
    categorical: list[dict[str, Any]] = []
    noncategorical: list[dict[str, Any]] = []


class _RawTurn(msgspec.Struct, gc=False):
    speaker: str
    utterance: str
    dialogue_acts: _RawActs = _RawActs()
    state: dict[str, dict[str, str]] | None = None


class _RawGoal(msgspec.Struct, gc=False):
    description: str = ""
    inform: dict[str, dict[str, str]] = {}
    request: dict[str, dict[str, str]] = {}


class _RawDialogue(msgspec.Struct, gc=False):
    dataset: str
    data_split: str
    dialogue_id: str
    turns: list[_RawTurn]
    domains: tuple[str, ...] = ()
    goal: _RawGoal | None = None


class _Label(msgspec.Struct, gc=False):
    data_split: str
    dataset: str = ""


class _RawSlot(msgspec.Struct):
    description: str = ""
    is_categorical: bool = False
    possible_values: tuple[str, ...] = ()


class _RawDomain(msgspec.Struct):
    description: str = ""
    slots: dict[str, _RawSlot] = {}


class _RawOntology(msgspec.Struct):
    domains: dict[str, _RawDomain] = {}
    state: dict[str, dict[str, Any]] = {}
    intents: dict[str, dict[str, str]] = {}


_Names = Callable[[str, str], str]
"""The slot id of a service and a slot."""

_FILE = msgspec.json.Decoder(list[msgspec.Raw])
_LABEL = msgspec.json.Decoder(_Label)
_DIALOGUE = msgspec.json.Decoder(_RawDialogue)
_ONTOLOGY = msgspec.json.Decoder(_RawOntology)


class Unified(JsonImporter):
    """ConvLab-2/3 unified data sets: CamRest676, Stanford in-car (kvret), DailyDialog, MultiWOZ and dozens more."""

    name = "unified"
    marks = (rb'^\s*\[\s*\{[^{}\[\]]*"data_split"\s*:',)

    def splits(self, source: Source) -> Iterator[Split]:
        file = self._choose_file(source)
        items = decode(_FILE, file)
        labels = [decode_part(_LABEL, item, file.label) for item in items]
        ontology = [other for other in source.named("ontology.json") if other.folder == file.folder]
        # ConvLab respells MultiWOZ's slots; other corpora have one spelling, their ontology's.
        names = SlotNames() if any(label.dataset.startswith("multiwoz") for label in labels) else slot_id
        schema = _read_schema(ontology[0], names) if ontology else None
        for split in sort_splits({label.data_split for label in labels}):
            part = [item for item, label in zip(items, labels, strict=True) if label.data_split == split]
            yield complete_split(split, partial(_read, part, file, names), schema=schema)

    def _choose_file(self, source: Source) -> SourceFile:
        """The whole data set rather than a sample of it; of its two copies the one that is unpacked."""
        files = self.files(source)
        whole = [file for file in files if file.stem.casefold() == "dialogues.json"] or files
        unpacked = [file for file in whole if file.size is not None] or whole
        if whole[0].stem.casefold() == _SAMPLE and source.named("data.zip"):
            raise CorpusError(
                "data.zip is an archive inside an archive, and is not opened",
                where=source.address,
                fix="unpack the outer one and give its folder",
            )
        if len(unpacked) > 1:
            folders = ", ".join(file.folder or file.stem for file in unpacked)
            raise CorpusError(
                f"{len(unpacked)} data sets lie here ({folders})",
                where=source.address,
                fix="give the folder of one of them",
            )
        return unpacked[0]

    def write(self, corpus: Corpus, folder: Path) -> None:
        writer = _Writer(corpus)
        write_json(folder / "ontology.json", writer.ontology())
        write_list(folder / "dialogues.json", map(writer.dialogue, corpus))


def _service(domain: str) -> str:
    """A slot id is split at its first hyphen, so a service's name has none."""
    return domain.replace("-", "_")


def _read_schema(file: SourceFile, names: _Names) -> Schema:
    ontology = decode(_ONTOLOGY, file)
    intents = tuple(Intent(name, entry.get("description", "")) for name, entry in ontology.intents.items())
    services = []
    for domain, entry in ontology.domains.items():
        service = _service(domain)
        # The ontology also lists what only the system says; a tracker answers for what a state can hold.
        slots = tuple(
            Slot(names(service, name).partition("-")[2], slot.description, slot.is_categorical, slot.possible_values)
            for name, slot in entry.slots.items()
            if name in ontology.state.get(domain, {})
        )
        services.append(Service(service, entry.description, slots, intents))
    return Schema(tuple(services))


def _read(items: list[msgspec.Raw], file: SourceFile, names: _Names) -> Iterator[LocatedDialogue]:
    for item in items:
        raw = decode_part(_DIALOGUE, item, file.label)
        turns: list[Turn] = []
        state: State = {}
        replies: list[_RawTurn] = []  # the system's, since the user's last words
        for position, turn in enumerate(raw.turns):
            if turn.speaker == "system":
                replies.append(turn)
            elif turn.speaker == "user":
                before, state = state, _state(turn.state, names) if turn.state is not None else state
                # Stanford's in-car users are silent now and then; the system goes on, and so does its turn.
                if turn.utterance.strip() or state != before:
                    system = " ".join(reply.utterance for reply in replies if reply.utterance)
                    system_frames = _frames(replies[0], names) if len(replies) == 1 else ()
                    turns.append(Turn(turn.utterance, system, state, _frames(turn, names), system_frames))
                    replies = []
            else:
                where = place(file.label, raw.dialogue_id, position)
                raise CorpusError(f"the speaker is {turn.speaker!r}, not user or system", where=where)
        goal = None
        if raw.goal is not None:
            request = tuple(
                names(_service(domain), slot) for domain, slots in raw.goal.request.items() for slot in slots
            )
            goal = Goal(raw.goal.description, _state(raw.goal.inform, names), {}, request)
        yield file.label, Dialogue(raw.dialogue_id, tuple(turns), tuple(map(_service, raw.domains)), goal)


def _state(raw: dict[str, dict[str, str]], names: _Names) -> State:
    """An empty value is an absent slot; alternatives are joined by a bar."""
    return {
        names(_service(domain), slot): tuple(dict.fromkeys(value.split("|")))
        for domain, slots in raw.items()
        for slot, value in slots.items()
        if value not in ("", "not mentioned")
    }


def _frames(turn: _RawTurn, names: _Names) -> tuple[Frame, ...]:
    acts: dict[str, list[Act]] = {}
    spans: dict[str, list[Span]] = {}
    listed = turn.dialogue_acts
    for entry in (*listed.binary, *listed.categorical, *listed.noncategorical):
        service = _service(str(entry.get("domain", "")))
        slot = str(entry.get("slot", ""))
        bare = names(service, slot).partition("-")[2] if slot else ""
        values = (str(entry["value"]),) if entry.get("value") else ()
        acts.setdefault(service, []).append(Act(str(entry.get("intent", "")).upper(), bare, values))
        if isinstance(entry.get("start"), int) and isinstance(entry.get("end"), int):
            spans.setdefault(service, []).append(Span(bare, entry["start"], entry["end"]))
    acts.pop("", None)
    return frames_of(acts, spans)


_KINDS = ("binary", "categorical", "non-categorical")
_CONVLAB = {"pricerange": "price range", "leaveat": "leave at", "arriveby": "arrive by"}
"""How ConvLab spells MultiWOZ's slots; readers settle it for a data set of that name."""


class _Writer:
    """Writes one corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.spelling = _CONVLAB if corpus.name.startswith("multiwoz") else {}

    def ontology(self) -> dict[str, Any]:
        """`ontology.json`."""
        schema = self.corpus.schema
        domains = {
            service.name: {
                "description": service.description,
                "slots": {
                    self.spelling.get(slot.name, slot.name): {
                        "description": slot.description,
                        "is_categorical": slot.categorical,
                        "possible_values": slot.values,
                    }
                    for slot in service.slots
                },
            }
            for service in schema.services
        }
        intents = {
            intent.name: {"description": intent.description}
            for service in schema.services
            for intent in service.intents
        }
        state = self._by_domain(dict.fromkeys(schema.slots, ()))
        return {"domains": domains, "intents": intents, "state": state, "dialogue_acts": {kind: [] for kind in _KINDS}}

    def dialogue(self, dialogue: Dialogue) -> dict[str, Any]:
        """An item of `dialogues.json`."""
        turns: list[dict[str, Any]] = []
        for turn in dialogue.turns:
            if turn.system:
                turns.append(self._turn("system", turn.system, turn.system_frames, len(turns)))
            state = {"state": self._by_domain(turn.state)}
            turns.append(self._turn("user", turn.user, turn.frames, len(turns)) | state)
        goal = dialogue.goal or Goal()
        return {
            "dataset": self.corpus.name,
            "data_split": self.corpus.split,
            "dialogue_id": dialogue.id,
            "original_id": dialogue.id,
            "domains": dialogue.services,
            "goal": {
                "description": goal.description,
                "inform": self._by_domain(goal.inform),
                "request": self._by_domain(dict.fromkeys(goal.request, ())),
            },
            "turns": turns,
        }

    def _turn(self, speaker: str, text: str, frames: tuple[Frame, ...], place: int) -> dict[str, Any]:
        """An utterance with its acts; the span of an act's slot, where there is one, goes with it."""
        acts: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
        for frame in frames:
            spans = {span.slot: {"start": span.start, "end": span.end} for span in frame.spans}
            for act in frame.acts:
                slot = self.corpus.schema.slots.get(slot_id(frame.service, act.slot))
                spelled = self.spelling.get(act.slot, act.slot)
                entry = {"intent": act.act.lower(), "domain": frame.service, "slot": spelled}
                if not act.values:
                    acts["binary"].append(entry)
                elif slot is not None and slot.categorical:
                    acts["categorical"].append(entry | {"value": act.values[0]})
                else:
                    acts["non-categorical"].append(entry | {"value": act.values[0]} | spans.get(act.slot, {}))
        return {"speaker": speaker, "utterance": text, "utt_idx": place, "dialogue_acts": acts}

    def _by_domain(self, state: State) -> dict[str, dict[str, str]]:
        nested: dict[str, dict[str, str]] = {}
        for slot, forms in state.items():
            service, _, bare = slot.partition("-")
            nested.setdefault(service, {})[self.spelling.get(bare, bare)] = "|".join(forms)
        return nested
