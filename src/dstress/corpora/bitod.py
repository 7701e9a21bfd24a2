"""BiToD as its authors publish it: `en_test.json`, `zh_test.json` ..., a dict of dialogues, each a list of events."""

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


class Bitod(Importer):
    """BiToD: hotels, restaurants, sights, weather and trains of Hong Kong in English and Chinese, a service each."""

    name: ClassVar[str] = "bitod"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name = name_by_language((file, _language(file)) for file in _files(source))
        for name in sort_splits(by_name):
            read = partial(_read_dialogues, by_name[name])
            schema = derive_schema(dialogue for _, dialogue in read())
            yield Split(name, schema, read, _language(by_name[name]))


def _files(source: Source) -> list[SourceFile]:
    heads = ((file, file.head()) for file in source.ending(".json"))
    return [file for file, head in heads if b'"Events"' in head and b'"active_intent"' in head]


def _language(file: SourceFile) -> str:
    found = _LANGUAGE.match(file.stem)
    return found[1] if found else ENGLISH


def _read_dialogues(file: SourceFile) -> Iterator[LocatedDialogue]:
    for name, raw in decode(_FILE, file).items():
        turns = tuple(_turns(raw.events))
        services = dict.fromkeys(frame.service for turn in turns for frame in turn.frames)
        yield file.label, Dialogue(name, turns, tuple(services))


def _turns(events: list[_Event]) -> Iterator[Turn]:
    """Between two user events the wizard may query the knowledge base, which says nothing, and then answer."""
    replies: list[_Event] = []
    intent = ""
    for event in events:
        if event.agent == "Wizard" and event.text:
            replies.append(event)
        elif event.agent == "User":
            system = " ".join(reply.text.strip() for reply in replies)
            said = tuple(_frame(reply, intent) for reply in replies if intent)
            intent = event.active_intent
            # `chat` is said beside every service: it has no slots.
            frames = (_frame(event, intent),) if intent in event.state else ()
            yield Turn(event.text.strip(), system, _state(event), frames, said[:1] if len(said) == 1 else ())
            replies = []


def _state(event: _Event) -> State:
    return {
        slot_id(service.replace("-", "_"), slot): (_words(constraint),)
        for service, slots in event.state.items()
        for slot, constraint in slots.items()
        if constraint.value
    }


def _words(constraint: _Constraint) -> str:
    """A constraint as one text: the value; `at_least 4`; `one_of French, Thai`."""
    values = ", ".join(map(str, constraint.value))
    if values in _NO_MATTER:
        return DONTCARE
    return values if constraint.relation in _EQUALITY else f"{constraint.relation} {values}"


def _frame(event: _Event, intent: str) -> Frame:
    actions = event.actions if isinstance(event.actions, list) else []
    acts = tuple(Act(a.act.upper(), a.slot, (_words(a),) if a.value else ()) for a in actions)
    requested = tuple(act.slot for act in acts if act.act == "REQUEST" and act.slot)
    return Frame(intent.replace("-", "_"), intent, requested, (), acts)
