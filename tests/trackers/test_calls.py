"""Trackers that answer with calls: over a wire, and a language model with the dialogue's own tools."""

from __future__ import annotations

from typing import Any

import pytest

from dstress.dialogue import Call, Dialogue, GoldCall, Schema, Tool, Turn
from dstress.llm import chat
from dstress.predictions.base import Prediction
from dstress.trackers.base import Context, Failed
from dstress.trackers.gold import Gold
from dstress.trackers.llm import calls
from dstress.trackers.wire import context_data, read_answer

TOOL = Tool("music.play", "Play.", {"type": "dict", "properties": {"speed": {"type": "float"}}, "required": ["speed"]})
GOLD = GoldCall("music.play", {"speed": (1.5, 2.0), "loop": ("",)})
CONTEXT = Context(Dialogue("d", (Turn("Faster!", "Be brief.", calls=(GOLD,)),), tools=(TOOL,)), 0, Schema())
MADE = (Call("music.play", {"speed": 1.5}),)


def test_gold_makes_the_expected_calls() -> None:
    (answer,) = Gold().track([CONTEXT])
    assert isinstance(answer, Prediction) and answer.calls == MADE


def test_tools_and_calls_on_the_wire() -> None:
    (tool,) = context_data(CONTEXT)["tools"]
    assert (tool["name"], tool["parameters"]) == ("music.play", TOOL.parameters)
    answer = read_answer({"calls": [{"tool": "music.play", "arguments": {"speed": 1.5}}]}, CONTEXT)
    assert isinstance(answer, Prediction) and answer.calls == MADE
    assert isinstance(read_answer({"calls": [{"tool": "x", "arguments": [1]}]}, CONTEXT), Failed)


def test_tools_are_sent_as_endpoints_take_them() -> None:
    (sent,) = calls.native(CONTEXT.tools)["tools"]
    assert sent["function"]["name"] == "music_play"
    assert sent["function"]["parameters"]["type"] == "object"
    assert sent["function"]["parameters"]["properties"]["speed"]["type"] == "number"
    assert calls.native(()) == {}
    assert [message["role"] for message in calls.messages(CONTEXT)] == ["system", "user"]
    assert "music.play" in calls.messages(CONTEXT, calls.written(CONTEXT.tools))[0]["content"]


@pytest.mark.parametrize(
    ("reply", "made", "unparsed"),
    [
        ({"calls": (chat.Call("music_play", '{"speed": 1.5}'),)}, MADE, False),
        ({"text": "[music.play(speed=1.5)]"}, MADE, False),
        ({"text": "Sorry, none of my tools does that."}, (), False),
        ({"text": "[music.play(speed="}, (), True),
        ({"calls": (chat.Call("music_play", '{"speed": 1'),)}, (), True),
    ],
)
def test_a_reply_is_read(reply: dict[str, Any], made: tuple[Call, ...], unparsed: bool) -> None:
    prediction = calls.read(CONTEXT, chat.Reply(**reply))
    assert (prediction.calls, bool(prediction.unparsed)) == (made, unparsed)
