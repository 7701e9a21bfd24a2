"""WOZ 2.0 as the Neural Belief Tracker publishes it: `woz_test_en.json` and its German and Italian translations."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dstress.corpora.base import ENGLISH
from dstress.corpora.json_files import decode
from dstress.corpora.json_importer import JsonImporter, frame_of
from dstress.dialogue import DONTCARE, Act, Dialogue, Frame, State, Turn, slot_id
from dstress.storage.sources import SourceFile

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


class Woz(JsonImporter):
    """WOZ 2.0: restaurants in English, German and Italian; `de_en` is German words under English labels."""

    name = "woz"
    marks = (rb'"dialogue_idx"\s*:\s*\d', b'"transcript"')

    def language(self, file: SourceFile) -> str:
        match = _LANGUAGE.search(file.stem)
        return match[1] if match else ENGLISH

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        for raw in decode(_FILE, file):
            turns = tuple(map(_turn, raw.dialogue))
            # The German training set has 13 turns without words: nobody translated them.
            if self.language(file) == ENGLISH or all(turn.user for turn in turns):
                yield Dialogue(str(raw.dialogue_idx), turns, (_SERVICE,))


def _turn(raw: _RawTurn) -> Turn:
    state: State = {
        slot_id(_SERVICE, slot): (DONTCARE if value in _NO_MATTER else value,)
        for belief in raw.belief_state
        if belief.act == "inform"
        for slot, value in belief.slots
    }
    acts = [Act("REQUEST", v) if slot == "request" else Act("INFORM", slot, (v,)) for slot, v in raw.turn_label]
    system_acts = [
        Act("REQUEST", act) if isinstance(act, str) else Act("CONFIRM", act[0], (act[1],)) for act in raw.system_acts
    ]
    system_frames = (Frame(_SERVICE, acts=tuple(system_acts)),) if system_acts else ()
    return Turn(
        raw.transcript.strip(), raw.system_transcript.strip(), state, (frame_of(_SERVICE, acts),), system_frames
    )
