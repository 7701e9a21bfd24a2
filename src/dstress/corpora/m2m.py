"""Sim-M and Sim-R, Google's simulated dialogues (M2M): `train.json`, `dev.json`, `test.json` in a folder a service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from dstress.corpora.json_files import decode
from dstress.corpora.json_importer import JsonImporter, frame_of
from dstress.dialogue import Act, Dialogue, Frame, Span, Turn, slot_id
from dstress.storage.sources import SourceFile


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


class M2m(JsonImporter):
    """Sim-M (films) and Sim-R (restaurants), alone or together; the service is the first word of a dialogue's id."""

    name = "m2m"
    marks = (b'"user_utterance"', b'"dialogue_state"')

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        for raw in decode(_FILE, file):
            service = raw.dialogue_id.partition("_")[0].replace("-", "_")
            yield Dialogue(raw.dialogue_id, tuple(_turns(raw.turns, service)), (service,))


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


def _frame(service: str, utterance: _Utterance, raw_acts: Sequence[_RawAct], intent: str = "") -> Frame:
    acts = (Act(act.type, act.slot, (act.value,) if act.value else ()) for act in raw_acts)
    spans = []
    # Spans are annotated in tokens; where these are not the text, nobody knows where the words are.
    if " ".join(utterance.tokens) == utterance.text.strip():
        starts = [0, *accumulate(len(token) + 1 for token in utterance.tokens)]
        for words in utterance.slots:
            if 0 <= words.start < words.exclusive_end < len(starts):
                spans.append(Span(words.slot, starts[words.start], starts[words.exclusive_end] - 1))
    return frame_of(service, acts, spans, intent)
