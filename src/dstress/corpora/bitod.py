"""BiToD as its authors publish it: `en_test.json`, `zh_test.json` ..., a dict of dialogues, each a list of events."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dstress.corpora.base import ENGLISH
from dstress.corpora.json_files import decode
from dstress.corpora.json_importer import JsonImporter, frame_of
from dstress.dialogue import DONTCARE, Act, Dialogue, Frame, State, Turn, slot_id
from dstress.storage.sources import SourceFile

_LANGUAGE = re.compile(r"(en|zh)_")
_EQUALITY = {"equal_to", "等于", ""}
_NO_MATTER = {"don't care", "不在乎"}


class _Constraint(msgspec.Struct, gc=False):
    relation: str = ""
    value: list[str | int | float] = []


class _Action(_Constraint, gc=False):
    act: str = ""
    slot: str = ""


class _Event(msgspec.Struct, gc=False, rename={"agent": "Agent", "text": "Text", "actions": "Actions"}):
    agent: str
    text: str = ""
    actions: list[_Action] | str = ""
    active_intent: str = ""
    state: dict[str, dict[str, _Constraint]] = {}


class _RawDialogue(msgspec.Struct, gc=False, rename={"events": "Events"}):
    events: list[_Event]


_FILE = msgspec.json.Decoder(dict[str, _RawDialogue])


class Bitod(JsonImporter):
    """BiToD: hotels, restaurants, sights, weather and trains of Hong Kong in English and Chinese, a service each."""

    name = "bitod"
    marks = (b'"Events"', b'"active_intent"')

    def language(self, file: SourceFile) -> str:
        match = _LANGUAGE.match(file.stem)
        return match[1] if match else ENGLISH

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        for name, raw in decode(_FILE, file).items():
            turns = tuple(_turns(raw.events))
            services = dict.fromkeys(frame.service for turn in turns for frame in turn.frames)
            yield Dialogue(name, turns, tuple(services))


def _turns(events: list[_Event]) -> Iterator[Turn]:
    """Between two user events the wizard may query the knowledge base, which says nothing, and then answer."""
    replies: list[_Event] = []
    intent = ""
    for event in events:
        if event.agent == "Wizard" and event.text:
            replies.append(event)
        elif event.agent == "User":
            system = " ".join(reply.text.strip() for reply in replies)
            system_frames = (_frame(replies[0], intent),) if intent and len(replies) == 1 else ()
            intent = event.active_intent
            # `chat` stands beside every service: it has no slots.
            frames = (_frame(event, intent),) if intent in event.state else ()
            state: State = {
                slot_id(service.replace("-", "_"), slot): (_value(constraint),)
                for service, slots in event.state.items()
                for slot, constraint in slots.items()
                if constraint.value
            }
            yield Turn(event.text.strip(), system, state, frames, system_frames)
            replies = []


def _value(constraint: _Constraint) -> str:
    """A constraint as one text: the value; `at_least 4`; `one_of French, Thai`."""
    values = ", ".join(map(str, constraint.value))
    if values in _NO_MATTER:
        return DONTCARE
    return values if constraint.relation in _EQUALITY else f"{constraint.relation} {values}"


def _frame(event: _Event, intent: str) -> Frame:
    actions = event.actions if isinstance(event.actions, list) else []
    acts = (Act(action.act.upper(), action.slot, (_value(action),) if action.value else ()) for action in actions)
    return frame_of(intent.replace("-", "_"), acts, intent=intent)
