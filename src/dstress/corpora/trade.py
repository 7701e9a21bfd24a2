"""The TRADE layout: `train_dials.json`, `dev_dials.json`, `test_dials.json`, lower-cased and with fixed labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from dstress.corpora import multiwoz_schema
from dstress.corpora.base import Corpus, Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode, write_list
from dstress.corpora.split_names import sort_splits, split_of_file
from dstress.dialogue import Dialogue, Frame, Schema, State, Turn, service_of
from dstress.errors import CorpusError, place
from dstress.storage.file_names import file_name
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_SHAPE = re.compile(rb'^\s*\[\s*\{[^{}]*"(?:dialogue_idx|dialogue)"')


class _Belief(msgspec.Struct, gc=False):
    slots: list[tuple[str, str]]


class _RawTurn(msgspec.Struct, gc=False):
    transcript: str
    belief_state: list[_Belief]
    system_transcript: str = ""
    domain: str = ""


class _RawDialogue(msgspec.Struct, gc=False):
    dialogue_idx: str
    dialogue: list[_RawTurn]
    domains: tuple[str, ...] = ()


_FILE = msgspec.json.Decoder(list[_RawDialogue])


class Trade(Importer):
    """MultiWOZ as TRADE, SOM-DST, CoCo and many others prepare it: a list of dialogues a split."""

    name: ClassVar[str] = "trade"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name = {split_of_file(file, ".json"): file for file in _files(source)}
        schema = multiwoz_schema.select_services()
        for name in sort_splits(by_name):
            yield Split(name, schema, partial(_read_dialogues, by_name[name], schema))

    def write(self, corpus: Corpus, folder: Path) -> None:
        multiwoz_schema.require_multiwoz(corpus.schema, self.name)
        write_list(folder / f"{file_name(corpus.split)}_dials.json", map(_written, corpus))


def _files(source: Source) -> list[SourceFile]:
    return [file for file in source.ending(".json") if _SHAPE.match(file.head()) and b'"transcript"' in file.head()]


def _read_dialogues(file: SourceFile, schema: Schema) -> Iterator[LocatedDialogue]:
    names = SlotNames(schema)
    for raw in decode(_FILE, file):
        yield file.label, _dialogue(raw, names, schema, file.label)


def _dialogue(raw: _RawDialogue, names: SlotNames, schema: Schema, label: str) -> Dialogue:
    dialogue_id = raw.dialogue_idx.removesuffix(".json")
    turns = []
    for index, turn in enumerate(raw.dialogue):
        state = _state(turn, names, schema, place(label, dialogue_id, index))
        services = dict.fromkeys((*map(service_of, state), turn.domain))
        frames = tuple(Frame(service) for service in services if service in schema.by_name)
        turns.append(Turn(turn.transcript.strip(), turn.system_transcript.strip(), state, frames))
    return Dialogue(dialogue_id, tuple(turns), tuple(d for d in raw.domains if d in schema.by_name))


def _state(turn: _RawTurn, names: SlotNames, schema: Schema, where: str) -> State:
    state: State = {}
    for belief in turn.belief_state:
        for slot, value in belief.slots:
            settled = names.split(slot)
            if settled in schema.slots and not multiwoz_schema.is_absent(value):
                forms = (multiwoz_schema.settle(value),)
                if state.setdefault(settled, forms) != forms:
                    raise CorpusError(f"{slot} has two values, {state[settled][0]!r} and {value!r}", where=where)
    return state


def _written(dialogue: Dialogue) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    for index, (turn, update) in enumerate(zip(dialogue.turns, dialogue.updates(), strict=True)):
        turns.append(
            {
                "system_transcript": turn.system,
                "turn_idx": index,
                "belief_state": [{"slots": [[slot, forms[0]]], "act": "inform"} for slot, forms in turn.state.items()],
                "turn_label": [[slot, forms[0]] for slot, forms in update.items() if forms],
                "transcript": turn.user,
                "system_acts": [],
                "domain": _domain(turn, update, turns[-1]["domain"] if turns else ""),
            }
        )
    return {"dialogue_idx": f"{dialogue.id}.json", "domains": dialogue.services, "dialogue": turns}


def _domain(turn: Turn, update: State, last: str) -> str:
    """What a turn is about: a service that has no state yet, else the one whose state changes, else the last one."""
    stateful = set(map(service_of, turn.state))
    fresh = [frame.service for frame in turn.frames if frame.service not in stateful]
    going_on = [last] if any(frame.service == last for frame in turn.frames) else []
    set_now = [service_of(slot) for slot, forms in update.items() if forms]
    return next(iter([*fresh, *set_now, *going_on]), "")
