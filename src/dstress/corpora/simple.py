"""Dialogues as people write them down: plain JSON with turns, or the messages of a chat API, with states beside them.

In a state, a value is a text or a number. A list holds values that are all wanted; `{"any": [...]}` holds forms of one
value, of which any is accepted. Slots without a service belong to the one that the dialogue names, else to `task`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec

from dstress.corpora.base import Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode, decode_lines
from dstress.corpora.json_importer import complete_split
from dstress.corpora.jsonl import read_forms, schema_beside
from dstress.corpora.split_names import UNNAMED, find_split, sort_splits
from dstress.dialogue import Dialogue, State, Turn, service_of, slot_id
from dstress.errors import CorpusError, place
from dstress.storage.sources import Source, SourceFile

SERVICE = "task"
"""The service of slots that name none."""

_IDS = ("id", "dialogue_id", "dialog_id", "conversation_id")
_SERVICES = ("services", "service", "domains", "domain")
_SHAPES = (
    (re.compile(rb'"turns"\s*:\s*\['), re.compile(rb'"user"\s*:')),
    (re.compile(rb'"messages"\s*:\s*\['), re.compile(rb'"role"\s*:')),
)
_ANY = msgspec.json.Decoder(Any)
_LABELS = 'write "state" beside each user turn\'s "user", or beside the "content" of each user message'
_EXAMPLE = '{"id": "1", "turns": [{"user": "a cheap hotel", "state": {"hotel-price": "cheap"}}]}'


class Simple(Importer):
    """Plain JSON: dialogues with `turns` of user, system and state, or with `messages` as chat APIs have them."""

    name = "simple"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        by_name: dict[str, list[SourceFile]] = {}
        for file in _files(source):
            by_name.setdefault(find_split(file.stem) or UNNAMED, []).append(file)
        only = len(by_name) == 1 and UNNAMED in by_name
        for name in sort_splits(by_name):
            files = by_name[name]
            schema = schema_beside(source, name, PurePath(files[0].stem).stem)
            # What does not say its split is there to test on.
            yield complete_split("test" if only else name, partial(_read, files), schema=schema)


def _files(source: Source) -> list[SourceFile]:
    heads = ((file, file.head()) for ending in (".json", ".jsonl") for file in source.ending(ending))
    return [file for file, head in heads if any(all(mark.search(head) for mark in marks) for marks in _SHAPES)]


def _read(files: list[SourceFile]) -> Iterator[LocatedDialogue]:
    stated = False
    for file in files:
        for where, number, entry in _entries(file):
            dialogue = _dialogue(entry, f"{PurePath(file.stem).stem}-{number}", where)
            stated = stated or any(turn.state for turn in dialogue.turns)
            yield where, dialogue
    if not stated:
        raise CorpusError("no turn has a state", where=files[0].label, fix=_LABELS)


def _entries(file: SourceFile) -> Iterator[tuple[str, int, Any]]:
    """Each dialogue of a file with its place: of a list, under a key, or a line each."""
    if file.stem.casefold().endswith(".jsonl"):
        yield from ((where, number, entry) for number, (where, entry) in enumerate(decode_lines(_ANY, file)))
        return
    data: Any = decode(_ANY, file)
    if isinstance(data, Mapping) and not {"turns", "messages"} & data.keys():
        lists = [part for part in data.values() if isinstance(part, list) and part and isinstance(part[0], Mapping)]
        # Dialogues under one key, or each under its id.
        data = lists[0] if lists else [{"id": name, **part} for name, part in data.items() if isinstance(part, Mapping)]
    for number, entry in enumerate(data if isinstance(data, list) else [data]):
        yield file.label, number, entry


def _dialogue(entry: Any, unnamed: str, where: str) -> Dialogue:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("turns", entry.get("messages")), list):
        raise CorpusError(f"{entry!r:.80} is no dialogue", where=where, fix=f"write it like {_EXAMPLE}")
    name = str(next((entry[key] for key in _IDS if entry.get(key) not in (None, "")), unnamed))
    named = next((entry[key] for key in _SERVICES if entry.get(key)), ())
    services = [named] if isinstance(named, str) else [str(service) for service in named]
    turns, closing = _chat_turns(entry["messages"]) if "turns" not in entry else _plain_turns(entry["turns"])
    made: list[Turn] = []
    state: State = {}
    for number, (system, user, labels) in enumerate(turns):
        if labels is not None:  # a turn that says nothing of its state keeps the one before
            state = _state(labels, services[0] if services else SERVICE, place(where, name, number))
        made.append(Turn(user, system, state))
    used = dict.fromkeys([*services, *(service_of(slot) for turn in made for slot in turn.state)])
    return Dialogue(name, tuple(made), tuple(used), closing=closing)


def _plain_turns(turns: list[Any]) -> tuple[list[tuple[str, str, Any]], str]:
    """System, user and labels of each turn; what the system says after the last."""
    read = [turn if isinstance(turn, Mapping) else {} for turn in turns]
    return [(_words(turn.get("system")), _words(turn.get("user")), turn.get("state")) for turn in read], ""


def _chat_turns(messages: list[Any]) -> tuple[list[tuple[str, str, Any]], str]:
    """The same of a chat. Instructions and tools' results are no utterances; a state may stand beside either side."""
    turns: list[tuple[str, str, Any]] = []
    system, is_open = "", False
    for message in messages:
        read = message if isinstance(message, Mapping) else {}
        role, words, labels = read.get("role"), _words(read.get("content")), read.get("state")
        if role == "user" and is_open:
            before = turns[-1]
            turns[-1] = before[0], f"{before[1]} {words}".strip(), before[2] if labels is None else labels
        elif role == "user":
            turns.append((system, words, labels))
            system, is_open = "", True
        elif role == "assistant":
            system, is_open = f"{system} {words}".strip(), False
            if labels is not None and turns:
                turns[-1] = (*turns[-1][:2], labels)
    return turns, system


def _words(content: Any) -> str:
    """A message's text; of one in parts, the texts among them."""
    if isinstance(content, list):
        content = " ".join(part["text"] for part in content if isinstance(part, Mapping) and "text" in part)
    return content if isinstance(content, str) else ""


def _state(labels: Any, service: str, where: str) -> State:
    if not isinstance(labels, Mapping):
        raise CorpusError(f"{labels!r:.80} is no state", where=where, fix='write {"slot": "value", ...}')
    state: State = {}
    for slot, value in labels.items():
        if isinstance(value, Mapping) and not {"any", "all"} & value.keys():
            state |= _state({slot_id(str(slot), str(inner)): each for inner, each in value.items()}, service, where)
        elif forms := read_forms(value, slot, where):
            state[slot if "-" in slot else slot_id(service, slot)] = forms
    return state
