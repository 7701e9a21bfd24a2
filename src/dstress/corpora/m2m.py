"""Sim-M and Sim-R, Google's simulated dialogues (M2M): `train.json`, `dev.json`, `test.json` in a folder a service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import ClassVar

import msgspec

from dstress.corpora.base import Importer, LocatedDialogue, Split
from dstress.corpora.checks import derive_schema
from dstress.corpora.json_files import decode
from dstress.corpora.split_names import sort_splits, split_of_file
from dstress.dialogue import Act, Dialogue, Frame, Span, Turn, slot_id
from dstress.storage.sources import Source, SourceFile


class _Words(msgspec.Struct, gc=False):
    slot: str
    start: int
    exclusive_end: int


class _Utterance(msgspec.Struct, gc=False):
    text: str
    tokens: list[str] = []
    slots: list[_Words] = []


class _RawAct(msgspec.Struct, gc=False):
    type: str
    slot: str = ""
    value: str = ""


class _Value(msgspec.Struct, gc=False):
    slot: str
    value: str


class _RawTurn(msgspec.Struct, gc=False):
    user_utterance: _Utterance
    dialogue_state: list[_Value]
    user_acts: list[_RawAct] = []
    user_intents: list[str] = []
    system_utterance: _Utterance | None = None
    system_acts: list[_RawAct] = []


class _RawDialogue(msgspec.Struct, gc=False):
    dialogue_id: str
    turns: list[_RawTurn]


_FILE = msgspec.json.Decoder(list[_RawDialogue])


class M2m(Importer):
    """Sim-M (films) and Sim-R (restaurants), alone or together; the service is the first word of a dialogue's id."""

    name: ClassVar[str] = "m2m"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name: dict[str, list[SourceFile]] = {}
        for file in _files(source):
            by_name.setdefault(split_of_file(file, ".json"), []).append(file)
        for name in sort_splits(by_name):
            read = partial(_read_dialogues, by_name[name])
            yield Split(name, derive_schema(dialogue for _, dialogue in read()), read)


def _files(source: Source) -> list[SourceFile]:
    heads = ((file, file.head()) for file in source.ending(".json"))
    return [file for file, head in heads if b'"user_utterance"' in head and b'"dialogue_state"' in head]


def _read_dialogues(files: Sequence[SourceFile]) -> Iterator[LocatedDialogue]:
    for file in files:
        for raw in decode(_FILE, file):
            service = raw.dialogue_id.partition("_")[0].replace("-", "_")
            yield file.label, Dialogue(raw.dialogue_id, tuple(_turns(raw.turns, service)), (service,))


def _turns(turns: Sequence[_RawTurn], service: str) -> Iterator[Turn]:
    intent = ""
    for raw in turns:
        intent = raw.user_intents[-1] if raw.user_intents else intent
        system = raw.system_utterance
        yield Turn(
            raw.user_utterance.text.strip(),
            system.text.strip() if system else "",
            {slot_id(service, entry.slot): (entry.value,) for entry in raw.dialogue_state},
            (_frame(service, raw.user_utterance, raw.user_acts, intent),),
            (_frame(service, system, raw.system_acts),) if system else (),
        )


def _frame(service: str, utterance: _Utterance, acts: Sequence[_RawAct], intent: str = "") -> Frame:
    requested = tuple(act.slot for act in acts if act.type == "REQUEST" and act.slot)
    said = tuple(Act(act.type, act.slot, (act.value,) if act.value else ()) for act in acts)
    return Frame(service, intent, requested, tuple(_spans(utterance)), said)


def _spans(utterance: _Utterance) -> Iterator[Span]:
    """Spans are annotated in tokens, which blanks part in the text."""
    if " ".join(utterance.tokens) != utterance.text.strip():
        return
    starts = [0, *accumulate(len(token) + 1 for token in utterance.tokens)]
    for words in utterance.slots:
        if 0 <= words.start < words.exclusive_end < len(starts):
            yield Span(words.slot, starts[words.start], starts[words.exclusive_end] - 1)
