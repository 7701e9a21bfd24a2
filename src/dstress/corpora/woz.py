"""WOZ 2.0 as the Neural Belief Tracker publishes it: `woz_test_en.json` and its German and Italian translations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import msgspec

from dstress.corpora.base import ENGLISH, Importer, LocatedDialogue, Split
from dstress.corpora.checks import derive_schema
from dstress.corpora.json_files import decode
from dstress.corpora.split_names import name_by_language, sort_splits
from dstress.dialogue import DONTCARE, Act, Dialogue, Frame, State, Turn, slot_id
from dstress.storage.sources import Source, SourceFile

_SHAPE = re.compile(rb'"dialogue_idx"\s*:\s*\d')
_LANGUAGE = re.compile(r"_((?:de|en|it)(?:_en)?)\.json$")
_NO_MATTER = {"dontcare", "es ist egal", "non importa"}
_SERVICE = "restaurant"


class _Belief(msgspec.Struct, gc=False):
    act: str
    slots: list[tuple[str, str]]


class _RawTurn(msgspec.Struct, gc=False):
    transcript: str
    belief_state: list[_Belief]
    turn_label: list[tuple[str, str]] = []
    system_transcript: str = ""
    system_acts: list[str | tuple[str, str]] = []


class _RawDialogue(msgspec.Struct, gc=False):
    dialogue_idx: int
    dialogue: list[_RawTurn]


_FILE = msgspec.json.Decoder(list[_RawDialogue])


class Woz(Importer):
    """WOZ 2.0: restaurants in English, German and Italian; `de_en` is German words under English labels."""

    name: ClassVar[str] = "woz"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name = name_by_language((file, _labels(file)) for file in _files(source))
        for name in sort_splits(by_name):
            language = _labels(by_name[name]).partition("_")[0]
            read = partial(_read_dialogues, by_name[name], language)
            yield Split(name, derive_schema(dialogue for _, dialogue in read()), read, language)


def _files(source: Source) -> list[SourceFile]:
    heads = ((file, file.head()) for file in source.ending(".json"))
    return [file for file, head in heads if _SHAPE.search(head) and b'"transcript"' in head]


def _labels(file: SourceFile) -> str:
    """The language of the words, then that of the labels where it is another: `en`, `de`, `de_en`."""
    found = _LANGUAGE.search(file.stem)
    return found[1] if found else ENGLISH


def _read_dialogues(file: SourceFile, language: str) -> Iterator[LocatedDialogue]:
    for raw in decode(_FILE, file):
        turns = tuple(map(_turn, raw.dialogue))
        # The German training set has 13 turns without words: nobody translated them.
        if language == ENGLISH or all(turn.user for turn in turns):
            yield file.label, Dialogue(str(raw.dialogue_idx), turns, (_SERVICE,))


def _turn(raw: _RawTurn) -> Turn:
    informed = (pair for belief in raw.belief_state if belief.act == "inform" for pair in belief.slots)
    state: State = {slot_id(_SERVICE, slot): (_settle(value),) for slot, value in informed}
    acts = [Act("REQUEST", v) if slot == "request" else Act("INFORM", slot, (v,)) for slot, v in raw.turn_label]
    requested = tuple(act.slot for act in acts if act.act == "REQUEST")
    asked = [
        Act("REQUEST", act) if isinstance(act, str) else Act("CONFIRM", act[0], (act[1],)) for act in raw.system_acts
    ]
    return Turn(
        raw.transcript.strip(),
        raw.system_transcript.strip(),
        state,
        (Frame(_SERVICE, "", requested, (), tuple(acts)),),
        (Frame(_SERVICE, acts=tuple(asked)),) if asked else (),
    )


def _settle(value: str) -> str:
    return DONTCARE if value in _NO_MATTER else value
