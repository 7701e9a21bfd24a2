"""SGD as tools: the same dialogues, in which the system calls services. `service_call` says what; intents are tools."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from dstress.corpora.base import LocatedDialogue, Split
from dstress.corpora.json_files import decode
from dstress.corpora.sgd import (
    RawDialogue,
    RawFrame,
    RawTurn,
    Sgd,
    dialogue_files,
    read_dialogue,
    read_schema,
    schema_file,
)
from dstress.corpora.split_names import split_of_folder
from dstress.dialogue import DONTCARE, Dialogue, GoldCall, Schema, Service, Tool
from dstress.errors import CorpusError
from dstress.storage.sources import Source, SourceFile


class _ServiceCall(msgspec.Struct):
    method: str
    parameters: dict[str, str] = {}


class _Frame(RawFrame):
    service_call: _ServiceCall | None = None


class _Turn(RawTurn):
    frames: tuple[_Frame, ...] = ()


class _Dialogue(RawDialogue, kw_only=True):
    turns: tuple[_Turn, ...]


_DIALOGUES = msgspec.json.Decoder(list[_Dialogue])


class SgdTools(Sgd):
    """SGD seen as calling: after each user turn, the service calls that the system makes, or none.

    A tool is an intent of one of the dialogue's services, `Restaurants_1.FindRestaurants`; its parameters are the slots
    that the intent takes. States stay as in SGD.
    """

    name = "sgd-tools"
    by_name = True

    @classmethod
    def matches(cls, source: Source) -> bool:
        return False  # these files are SGD's, unless somebody names them otherwise

    def splits(self, source: Source) -> Iterator[Split]:
        if not Sgd.matches(source):
            raise CorpusError("there is no SGD", where=source.address, fix="give SGD's folder, as for the corpus sgd")
        for folder, files in dialogue_files(source).items():
            schema = read_schema(schema_file(source, folder))
            yield Split(split_of_folder(folder, source), schema, partial(_read, files, schema))


def _read(files: list[SourceFile], schema: Schema) -> Iterator[LocatedDialogue]:
    tools = {service.name: tuple(_tools(service)) for service in schema.services}
    for file in files:
        for raw in decode(_DIALOGUES, file):
            yield file.label, _with_calls(read_dialogue(raw, file.label), raw, schema, tools)


def _tools(service: Service) -> Iterator[Tool]:
    slots = {slot.name: slot for slot in service.slots}
    for intent in service.intents:
        properties: dict[str, dict[str, Any]] = {}
        for name in (*intent.required, *intent.optional):
            listed = {"enum": list(slots[name].values)} if slots[name].categorical and slots[name].values else {}
            default = intent.optional.get(name, DONTCARE)
            said = {} if default == DONTCARE else {"default": default}
            properties[name] = {"type": "string", "description": slots[name].description} | listed | said
        parameters = {"type": "object", "properties": properties, "required": list(intent.required)}
        yield Tool(f"{service.name}.{intent.name}", intent.description, parameters)


def _with_calls(dialogue: Dialogue, raw: _Dialogue, schema: Schema, tools: dict[str, tuple[Tool, ...]]) -> Dialogue:
    turns = list(dialogue.turns)
    answered = 0  # user turns so far
    calls: list[list[GoldCall]] = [[] for _ in turns]
    for side in raw.turns:
        if side.speaker == "USER":
            answered += 1
            continue
        for frame in side.frames:
            if frame.service_call and answered:
                state = turns[answered - 1].state_of(frame.service)
                intents = {intent.name: intent for intent in schema.by_name[frame.service].intents}
                optional = intents[frame.service_call.method].optional
                arguments = {}
                for name, value in frame.service_call.parameters.items():
                    forms = dict.fromkeys((value, *state.get(name, ())))
                    may_go = optional.get(name) == value or (name in optional and value == DONTCARE)
                    arguments[name] = (*forms, *(("",) if may_go else ()))
                calls[answered - 1].append(GoldCall(f"{frame.service}.{frame.service_call.method}", arguments))
    made = [msgspec.structs.replace(turn, calls=tuple(asked)) for turn, asked in zip(turns, calls, strict=True)]
    offered = tuple(tool for service in dialogue.services for tool in tools.get(service, ()))
    return msgspec.structs.replace(dialogue, turns=tuple(made), tools=offered)
