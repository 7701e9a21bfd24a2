"""The TRADE layout: `train_dials.json`, `dev_dials.json`, `test_dials.json`, lower-cased and with fixed labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora import multiwoz_schema
from dstress.corpora.base import Corpus
from dstress.corpora.json_files import decode, write_list
from dstress.corpora.json_importer import JsonImporter
from dstress.dialogue import Dialogue, Frame, Schema, State, Turn, service_of
from dstress.errors import CorpusError, place
from dstress.storage.file_names import file_name
from dstress.storage.sources import SourceFile
from dstress.text.slot_names import SlotNames


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


class Trade(JsonImporter):
    """MultiWOZ as TRADE, SOM-DST, CoCo and many others prepare it: a list of dialogues a split."""

    name = "trade"
    marks = (rb'^\s*\[\s*\{[^{}]*"(?:dialogue_idx|dialogue)"', b'"transcript"')

    def schema(self) -> Schema:
        return multiwoz_schema.select_services()

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        schema = self.schema()
        names = SlotNames(schema)
        for raw in decode(_FILE, file):
            dialogue_id = raw.dialogue_idx.removesuffix(".json")
            turns = []
            for index, turn in enumerate(raw.dialogue):
                state: State = {}
                for slot, value in (pair for belief in turn.belief_state for pair in belief.slots):
                    settled, forms = names.split(slot), (multiwoz_schema.settle(value),)
                    if settled not in schema.slots or multiwoz_schema.is_absent(value):
                        continue
                    if state.setdefault(settled, forms) != forms:
                        where = place(file.label, dialogue_id, index)
                        raise CorpusError(f"{slot} has two values, {state[settled][0]!r} and {value!r}", where=where)
                services = dict.fromkeys((*map(service_of, state), turn.domain))
                frames = tuple(Frame(service) for service in services if service in schema.by_name)
                turns.append(Turn(turn.transcript.strip(), turn.system_transcript.strip(), state, frames))
            yield Dialogue(dialogue_id, tuple(turns), tuple(d for d in raw.domains if d in schema.by_name))

    def write(self, corpus: Corpus, folder: Path) -> None:
        multiwoz_schema.require_multiwoz(corpus.schema, self.name)
        write_list(folder / f"{file_name(corpus.split)}_dials.json", map(_written, corpus))


def _written(dialogue: Dialogue) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    domain = ""
    for index, (turn, update) in enumerate(zip(dialogue.turns, dialogue.updates(), strict=True)):
        # What a turn is about: a service that has no state yet, else one whose state changes, else the last one.
        stateful = set(map(service_of, turn.state))
        fresh = [frame.service for frame in turn.frames if frame.service not in stateful]
        changed = [service_of(slot) for slot, forms in update.items() if forms]
        going_on = [frame.service for frame in turn.frames if frame.service == domain]
        domain = next(iter([*fresh, *changed, *going_on]), "")
        turns.append(
            {
                "system_transcript": turn.system,
                "turn_idx": index,
                "belief_state": [{"slots": [[slot, forms[0]]], "act": "inform"} for slot, forms in turn.state.items()],
                "turn_label": [[slot, forms[0]] for slot, forms in update.items() if forms],
                "transcript": turn.user,
                "system_acts": [],
                "domain": domain,
            }
        )
    return {"dialogue_idx": f"{dialogue.id}.json", "domains": dialogue.services, "dialogue": turns}
