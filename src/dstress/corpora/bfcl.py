"""The Berkeley Function Calling Leaderboard: each question is a dialogue with its own tools and accepted calls.

Both layouts are read: `bfcl-eval`'s (`BFCL_v4_simple_python.json`) and that of August 2024 (`simple.json`). A split
is a category; the old names mean the new ones, so `relevance` is `irrelevance`, as it asks for no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from dstress.corpora.base import ENGLISH, Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode_lines
from dstress.corpora.tools import read_tools
from dstress.dialogue import Dialogue, GoldCall, Schema, Tool, Turn
from dstress.errors import CorpusError, place
from dstress.storage.sources import Source, SourceFile

CATEGORIES = (
    *("simple", "multiple", "parallel", "parallel_multiple", "irrelevance"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance"),
)
_RENAMED = {"simple_python": "simple", "relevance": "irrelevance"}
"""What files call a category that is another split; those of 2024 also end in `_function`."""

_FILE = re.compile(r"(?:BFCL_v\d+_|gorilla_openfunctions_v1_test_)?(.+?)(?:_result)?\.jsonl?", re.IGNORECASE)
_ANSWERS = "possible_answer"
_NO_CALL = ("irrelevance", "live_irrelevance")
_ANY_CALL = "live_relevance"


class _Message(msgspec.Struct):
    role: str
    content: str


class _Question(msgspec.Struct):
    id: str
    question: str | list[list[_Message]]
    function: dict[str, Any] | list[dict[str, Any]]


class _Answer(msgspec.Struct):
    id: str
    ground_truth: dict[str, Any] | list[dict[str, Any]]


_QUESTION, _ANSWER = msgspec.json.Decoder(_Question), msgspec.json.Decoder(_Answer)


def category_of(file: SourceFile) -> str:
    """The split that a file of questions or answers is of, by its name; empty for another file."""
    match = _FILE.fullmatch(file.stem)
    name = match[1].casefold().removesuffix("_function") if match else ""
    name = _RENAMED.get(name, name)
    return name if name in CATEGORIES else ""


class Bfcl(Importer):
    """BFCL (Berkeley Function Calling Leaderboard): the categories that are judged without running anything."""

    name = "bfcl"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return any(b'"question"' in (head := file.head()) and b'"function"' in head for file in _questions(source))

    def splits(self, source: Source) -> Iterator[Split]:
        answers = {category_of(file): file for file in source.files if file.folder.endswith(_ANSWERS)}
        for file in sorted(_questions(source), key=lambda file: CATEGORIES.index(category_of(file))):
            category = category_of(file)
            if category not in (*answers, *_NO_CALL, _ANY_CALL):
                fix = f"{_ANSWERS}/{file.stem} belongs beside it: give the whole folder or archive"
                raise CorpusError(f"there are no answers to the category {category!r}", where=file.label, fix=fix)
            yield Split(category, Schema(), partial(_read, file, answers.get(category), category), ENGLISH)


def _questions(source: Source) -> list[SourceFile]:
    return [file for file in source.files if category_of(file) and not file.folder.endswith(_ANSWERS)]


def _read(file: SourceFile, answers: SourceFile | None, category: str) -> Iterator[LocatedDialogue]:
    gold = {answer.id: answer.ground_truth for _, answer in decode_lines(_ANSWER, answers)} if answers else {}
    for where, question in decode_lines(_QUESTION, file):
        if answers and question.id not in gold:
            raise CorpusError("there is no answer to the question", where=place(where, question.id))
        listed = question.function if isinstance(question.function, list) else [question.function]
        tools = read_tools(listed, place(where, question.id))
        if isinstance(question.question, str):
            before, user = "", question.question
        else:
            messages = [message for turn in question.question for message in turn if message.content.strip()]
            before = "\n".join(message.content for message in messages[:-1])
            user = messages[-1].content if messages else ""
        calls = tuple(_gold_calls(gold[question.id], tools)) if answers else ()
        if category == _ANY_CALL:
            calls = (GoldCall(""),)
        yield where, Dialogue(question.id, (Turn(user, before, calls=calls),), tools=tools)


def _gold_calls(truth: dict[str, Any] | list[dict[str, Any]], tools: tuple[Tool, ...]) -> Iterator[GoldCall]:
    """The expected calls. Until August 2024 a second call of a tool was named with a number after it, `play_2`."""
    numbered = isinstance(truth, dict)
    calls = [truth] if isinstance(truth, dict) else truth
    for name, arguments in (item for call in calls for item in call.items()):
        # The checker of that time took the only tool, or else the first whose name the answer's name contains.
        # Of one question no tool is found, and nobody's answer to it was ever right.
        alike = [tool.name for tool in tools if tool.name in name or len(tools) == 1]
        tool = alike[0] if numbered and alike else name
        accepted = arguments if isinstance(arguments, dict) else {}
        yield GoldCall(tool, {name: tuple(values) for name, values in accepted.items()})
