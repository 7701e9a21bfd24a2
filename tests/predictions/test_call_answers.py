"""How answers with calls are read: each model's text as the leaderboard reads it, and logs of native calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dstress.errors import PredictionError
from dstress.predictions import Prediction, read_predictions
from dstress.predictions.call_styles import STYLES, attempted
from dstress.text.python_calls import NoCalls, read_calls

F = [("f", {"x": 1})]


@pytest.mark.parametrize(
    ("style", "answer"),
    [
        ("plain", "[f(x=1)]"),
        ("blank", " f(x=1)"),
        ("escaped", "[f(x=1)"),
        ("one-line", "\n\n[f(x\n=1)]"),
        ("quoted", "['f(x=1)']"),
        ("unquoted", "['f(x=1)']"),
        ("outer-list", "Sure: [f(x=1)] does it."),
        ("fenced", "Sure:\n```python\n[f(x=1)]\n```"),
        ("semicolons", "f(x=1);"),
        ("wrapped", "f(x=1)"),
        ("tagged-lines", "<tool_call>\n{'name': 'f', 'arguments': {'x': 1}}\n</tool_call>"),
        ("tool-calls", '{"tool_calls": [{"name": "f", "arguments": {"x": 1}}]}'),
        ("function-tags", '<function_call> {"name": "f", "arguments": {"x": 1}}'),
        ("name-line", 'f\n{"x": 1}'),
        ("fences", "```\n[f(x=1)]\n```"),
        ("listed", [{"f": '{"x": 1}'}]),
        ("any", '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'),
        ("any", '```json\n[{"name": "f", "parameters": {"x": 1}}]\n```'),
    ],
)
def test_a_style_reads_its_own(style: str, answer: Any) -> None:
    assert STYLES[style](answer) == F


@pytest.mark.parametrize("answer", ["f(x=1)", "No tool fits.", "[f()]", "[f(x=y.z)]", "[f(x=9**9**9)]", "[f(1)", ""])
def test_no_list_of_calls(answer: str) -> None:
    with pytest.raises(NoCalls):
        STYLES["plain"](answer)


def test_python_values_as_the_leaderboard_reads_them() -> None:
    source = "[a.b(c=-1, d=(1, 2), e=name, f=g(h=2), i=2 * 3, j=k[0], l={'m': None}, n=o(1), p=...)]"
    assert read_calls(source) == [
        (
            "a.b",
            {"c": -1, "d": {"()": [1, 2]}, "e": "name", "f": {"g": {"h": 2}}, "i": 6, "j": "k[0]", "l": {"m": None}}
            | {"n": "o(1)", "p": "..."},
        )
    ]


def test_trying_to_call_and_refusing() -> None:
    assert all(map(attempted, ("[f(x=", "<tool_call>\nf", '{"name": "f", "arguments": {', "Here: f(x=1, y")))
    assert not any(
        map(attempted, ("None of the tools (there are two) fits.", "", ["The slope is 3."], r"Here \(a = 3\)."))
    )


def read(path: Path, *lines: Any) -> list[Prediction]:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return list(read_predictions(path))


def test_the_model_in_the_path_decides(tmp_path: Path) -> None:
    line = {"id": "simple_0", "result": "f(x=1)"}
    assert read(tmp_path / "gpt-4-0125-preview" / "simple.jsonl", line)[0].unparsed
    (call,) = read(tmp_path / "claude-2.1" / "simple.jsonl", line)[0].calls or ()
    assert (call.tool, call.arguments) == ("f", {"x": 1})


def test_a_model_of_no_table_is_read_by_its_answers(tmp_path: Path) -> None:
    lines = [{"id": f"simple_{n}", "result": f"f(x={n}); f(x=0);"} for n in range(20)]
    assert all(len(prediction.calls or ()) == 2 for prediction in read(tmp_path / "raven.jsonl", *lines))


def test_logs_of_native_calls(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    predictions = read(
        tmp_path / "log.jsonl",
        {"custom_id": "a", "response": {"body": {"choices": [{"message": message}]}}},
        {"id": "b", "choices": [{"message": message}]},
        {"id": "c", "turn": 2} | message,
        {"id": "d", "message": {"role": "assistant", "content": "Nothing fits."}},
    )
    assert [[(call.tool, call.arguments) for call in prediction.calls or ()] for prediction in predictions] == [
        F
    ] * 3 + [[]]
    assert [(prediction.turn, prediction.unparsed) for prediction in predictions] == [
        (0, ""),
        (0, ""),
        (2, ""),
        (0, ""),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"id": "a", "calls": ["f"]}, "no object with a tool"),
        ({"id": "a", "calls": [{"tool": "f", "arguments": [1]}]}, "arguments of 'f' are no object"),
        ({"id": "a", "tool_calls": [{"function": {}}]}, "without the name of a function"),
    ],
)
def test_calls_that_are_none(tmp_path: Path, line: Any, problem: str) -> None:
    with pytest.raises(PredictionError, match=problem):
        read(tmp_path / "log.jsonl", line)
