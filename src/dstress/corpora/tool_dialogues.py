"""Corpora of conversations in which tools are called: API-Bank and ACEBench's multi-turn questions.

Each question is a conversation up to a call, with the call that comes next. As in BFCL it is a dialogue of one turn:
the last message is the turn's `user`, what was said before, with who said it, its `system`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from dstress.corpora.base import ENGLISH, Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode, decode_lines
from dstress.corpora.json_importer import JsonImporter
from dstress.corpora.tools import read_tools
from dstress.dialogue import Dialogue, GoldCall, Schema, Turn, accepted_form
from dstress.errors import CorpusError, place
from dstress.storage.sources import Source, SourceFile


def _gold(tool: str, arguments: Mapping[str, Any]) -> GoldCall:
    return GoldCall(tool, {name: (accepted_form(value),) for name, value in arguments.items()})


class _Message(msgspec.Struct):
    role: str
    content: str


class _Question(msgspec.Struct):
    query: list[_Message]
    tools: list[dict[str, Any]]
    answers: list[dict[str, Any]]


_QUESTIONS = msgspec.json.Decoder(list[_Question])
_TYPES = {"str": "string", "int": "integer", "float": "float", "bool": "boolean", "list": "array", "dict": "dict"}
_PROMPT = "Generate API Request:"


class ApiBank(JsonImporter):
    """API-Bank: `apibank_l1.json`, `apibank_l2.json`, lists of {"query", "tools", "answers"}; levels are splits."""

    name = "apibank"
    marks = (b'"query"', b'"tools"', b'"role"')

    def splits(self, source: Source) -> Iterator[Split]:
        for file in self.files(source):
            level = re.search(r"(?:l|level[-_]?)(\d)\.json$", file.stem)
            name = f"level{level[1]}" if level else file.stem.removesuffix(".json")
            yield Split(name, Schema(), partial(self._read, file, name), ENGLISH)

    @staticmethod
    def _read(file: SourceFile, split: str) -> Iterator[LocatedDialogue]:
        questions = decode(_QUESTIONS, file)
        for number, question in enumerate(questions):
            name = f"{split}_{number}"
            where = place(file.label, name)
            messages = [message for message in question.query if message.content.strip()]
            # The agent's last message only leads over to the call.
            if messages and messages[-1].role == "agent" and messages[-1].content.endswith(_PROMPT):
                messages.pop()
            if not messages:
                raise CorpusError("nothing is said before the call", where=where)
            before = "\n".join(f"{said.role}: {said.content}" for said in messages[:-1])
            tools = read_tools([_schema(tool) for tool in question.tools], where)
            calls = tuple(_gold(str(answer["name"]), answer.get("arguments", {})) for answer in question.answers)
            yield file.label, Dialogue(name, (Turn(messages[-1].content, before, calls=calls),), tools=tools)


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """API-Bank's parameters, `{"date": {"type": "str", ...}}`, as a JSON schema. It does not say what is required."""
    properties = {}
    for name, parameter in tool.get("parameters", {}).items():
        outer, _, inner = str(parameter.get("type", "str")).removesuffix(")").partition("(")
        items = {"items": {"type": _TYPES[inner]}} if inner in _TYPES else {}
        properties[name] = parameter | {"type": _TYPES.get(outer, "string")} | items
    return {**tool, "parameters": {"type": "dict", "properties": properties}}


class _AceQuestion(msgspec.Struct):
    id: str
    question: str
    function: list[dict[str, Any]]


class _AceAnswer(msgspec.Struct):
    id: str
    ground_truth: dict[str, Any] | list[dict[str, Any]]


_ACE_QUESTION, _ACE_ANSWER = msgspec.json.Decoder(_AceQuestion), msgspec.json.Decoder(_AceAnswer)
_ACE_FILE = re.compile(r"data_normal_multi_turn_(\w+)\.json")
_SPEAKER = re.compile(r"^(?=user:|system:)", re.MULTILINE)


class AceBench(Importer):
    """ACEBench's multi-turn questions: `data_normal_multi_turn_user_switch.json` with `possible_answer/` beside it."""

    name = "acebench"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return any(_ACE_FILE.fullmatch(file.stem) for file in source.files)

    def splits(self, source: Source) -> Iterator[Split]:
        files = [(match[1], file) for file in source.files if (match := _ACE_FILE.fullmatch(file.stem))]
        answers = {name: file for name, file in files if file.folder.endswith("possible_answer")}
        for name, file in files:
            if file.folder.endswith("possible_answer"):
                continue
            if name not in answers:
                fix = "possible_answer/ belongs beside it: give the whole folder or archive"
                raise CorpusError("there are no answers to these questions", where=file.label, fix=fix)
            yield Split(name.removeprefix("user_"), Schema(), partial(self._read, file, answers[name]), ENGLISH)

    @staticmethod
    def _read(file: SourceFile, answers: SourceFile) -> Iterator[LocatedDialogue]:
        gold = {answer.id: answer.ground_truth for _, answer in decode_lines(_ACE_ANSWER, answers)}
        for _, question in decode_lines(_ACE_QUESTION, file):
            where = place(file.label, question.id)
            if question.id not in gold:
                raise CorpusError("there is no answer to the question", where=where)
            truth = gold[question.id]
            said = [part.strip() for part in _SPEAKER.split(question.question) if part.strip()]
            calls = [truth] if isinstance(truth, dict) else truth
            turn = Turn(
                said[-1].removeprefix("user:").strip() if said else "",
                "\n".join(said[:-1]),
                calls=tuple(_gold(tool, arguments) for call in calls for tool, arguments in call.items()),
            )
            yield where, Dialogue(question.id, (turn,), tools=read_tools(question.function, where))
