"""Corpora of tool calls: what is read of small files of ours in the layouts of the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dstress import corpora
from dstress.corpora.tools import read_tools
from dstress.dialogue import GoldCall, Tool, Turn
from dstress.errors import CorpusError

PLAY = {
    "name": "music.play",
    "description": "Play songs.",
    "parameters": {"type": "dict", "properties": {"artist": {"type": "string"}}, "required": ["artist"]},
}


def write_lines(path: Path, *lines: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def bfcl(folder: Path) -> Path:
    """The layouts of August 2024 (parallel, relevance) and of v4 (simple)."""
    question = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Play ABBA."}]]
    answers = folder / "possible_answer"
    write_lines(folder / "BFCL_v4_simple_python.json", {"id": "s0", "question": question, "function": [PLAY]})
    write_lines(
        answers / "BFCL_v4_simple_python.json", {"id": "s0", "ground_truth": [{"music.play": {"artist": ["ABBA"]}}]}
    )
    write_lines(folder / "parallel_function.json", {"id": "p0", "question": "ABBA and Queen!", "function": PLAY})
    truth = {"music.play_1": {"artist": ["ABBA"]}, "music.play_2": {"artist": ["Queen", ""]}}
    write_lines(answers / "parallel_function.json", {"id": "p0", "ground_truth": truth})
    write_lines(folder / "relevance.json", {"id": "r0", "question": "Weather?", "function": PLAY})
    write_lines(folder / "BFCL_v4_multi_turn_base.json", {"id": "m0", "question": [], "path": []})
    return folder


def test_bfcl_of_both_times(tmp_path: Path) -> None:
    manifest = corpora.add("bfcl", bfcl(tmp_path))[0]
    assert set(manifest.splits) == {"simple", "parallel", "irrelevance"}
    simple, parallel, irrelevance = (
        corpora.load(f"bfcl:{split}")[0] for split in ("simple", "parallel", "irrelevance")
    )
    assert simple.turns == (Turn("Play ABBA.", "Be brief.", calls=(GoldCall("music.play", {"artist": ("ABBA",)}),)),)
    assert simple.tools == (Tool("music.play", "Play songs.", PLAY["parameters"]),)
    assert parallel.turns[0].calls == (
        GoldCall("music.play", {"artist": ("ABBA",)}),
        GoldCall("music.play", {"artist": ("Queen", "")}),
    )
    assert irrelevance.turns[0].calls == ()


def test_bfcl_without_its_answers(tmp_path: Path) -> None:
    (bfcl(tmp_path) / "possible_answer" / "parallel_function.json").unlink()
    with pytest.raises(CorpusError, match="no answers to the category 'parallel'"):
        corpora.add("bfcl", tmp_path)


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ("weather", "no list of tools"),
        ([{"description": "?"}], "tool 0 has no name"),
        ([PLAY, PLAY], "two tools are called 'music.play'"),
        ([{"name": "a", "parameters": {"properties": ["x"]}}], "no JSON schema"),
        ([{"name": "a", "parameters": {"required": ["x"]}}], "'x' is required, and no parameter"),
    ],
)
def test_tools_that_are_none(listed: Any, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem):
        read_tools(listed, "tools.json")


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ([{"name": "w"}, {"name": "w"}], "line 1: two tools are called 'w'"),
        (
            [{"name": "w", "parameters": {"properties": ["city"]}}],
            "line 1, tool 'w': the parameters are no JSON schema",
        ),
        (
            [{"name": "w", "parameters": {"properties": {"city": "string"}}}],
            "tool 'w': the parameters are no JSON schema",
        ),
        ([{"name": "w", "parameters": "city"}], "Expected `object`, got `str` - at `$.tools[0].parameters`"),
        ([{"name": "w"}], ""),
    ],
)
def test_tools_of_a_corpus_written_by_hand(tmp_path: Path, tools: Any, problem: str) -> None:
    turn = {"user": "Weather?", "calls": [{"tool": "w", "arguments": {}}]}
    write_lines(tmp_path / "test.jsonl", {"id": "q1", "turns": [turn], "tools": tools})
    if not problem:
        assert next(iter(corpora.load(f"{tmp_path}:test"))).tools == (Tool("w"),)
        return
    with pytest.raises(CorpusError) as error:
        list(corpora.load(f"{tmp_path}:test"))
    assert problem in str(error.value)


@pytest.mark.parametrize("accepted", [{"k": "abc"}, {"k": 1}, [{"k": "abc"}], [{"k": {"l": 1}}]])
def test_an_object_whose_members_do_not_list_what_is_accepted(tmp_path: Path, accepted: Any) -> None:
    """Read letter by letter, as the leaderboard's checker reads it, `abc` would accept `a` and refuse itself."""
    turn = {"user": "Go", "calls": [{"tool": "w", "arguments": {"a": [accepted]}}]}
    write_lines(tmp_path / "test.jsonl", {"id": "q1", "turns": [turn], "tools": [{"name": "w"}]})
    with pytest.raises(CorpusError, match="dialogue q1, turn 0: argument 'a' of 'w'"):
        list(corpora.load(f"{tmp_path}:test"))


def test_tools_of_every_kind_of_list() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    mcp = {"result": {"tools": [{"name": "a", "inputSchema": schema}]}}
    openai = [{"type": "function", "function": {"name": "a", "parameters": schema}}]
    assert read_tools(mcp, "") == read_tools(openai, "") == (Tool("a", "", schema),)
    assert read_tools([{"name": "now"}], "") == (Tool("now"),)


def test_api_bank(tmp_path: Path) -> None:
    tool = {
        "name": "Weather",
        "description": "?",
        "parameters": {"city": {"type": "str"}, "days": {"type": "list(int)"}},
    }
    said = [("user", "Hi"), ("agent", "Hello"), ("user", "Rome?"), ("agent", "Sure.\nGenerate API Request:")]
    question = {
        "query": [{"role": role, "content": content} for role, content in said],
        "tools": [tool],
        "answers": [{"name": "Weather", "arguments": {"city": "Rome", "days": [1]}}],
    }
    (tmp_path / "apibank_l1.json").write_text(json.dumps([question]))
    corpus = corpora.load(f"{tmp_path}:level1")
    (turn,) = corpus[0].turns
    assert (turn.system, turn.user) == ("user: Hi\nagent: Hello", "Rome?")
    assert turn.calls == (GoldCall("Weather", {"city": ("Rome",), "days": ([1],)}),)
    properties = corpus[0].tools[0].parameters["properties"]
    assert properties == {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}}


def test_acebench(tmp_path: Path) -> None:
    name = "data_normal_multi_turn_user_switch.json"
    question = "user: A press release, please.\nsystem: Its title?\nuser: Big news.\n"
    tool = {"name": "release", "parameters": {"type": "object", "properties": {"about": {"type": "object"}}}}
    write_lines(tmp_path / name, {"id": "q", "question": question, "function": [tool]})
    truth = {"release": {"about": {"title": "Big news"}}}
    write_lines(tmp_path / "possible_answer" / name, {"id": "q", "ground_truth": truth})
    (turn,) = corpora.load(f"{tmp_path}:switch")[0].turns
    assert (turn.system, turn.user) == ("user: A press release, please.\nsystem: Its title?", "Big news.")
    assert turn.calls == (GoldCall("release", {"about": ({"title": ["Big news"]},)}),)
    (tmp_path / "possible_answer" / name).unlink()
    with pytest.raises(CorpusError, match="no answers"):
        corpora.load(f"{tmp_path}:switch")


def test_sgd_as_tools(tmp_path: Path) -> None:
    def frame(**more: Any) -> list[Any]:
        return [{"service": "Taxi_1", "slots": [], "actions": [], **more}]

    slots = [
        {"name": name, "description": "", "is_categorical": False, "possible_values": []} for name in ("to", "kind")
    ]
    intent = {
        "name": "GetRide",
        "description": "Call a taxi",
        "required_slots": ["to"],
        "optional_slots": {"kind": "any"},
    }
    write_lines(tmp_path / "test" / "schema.json", [{"service_name": "Taxi_1", "slots": slots, "intents": [intent]}])
    state = {"active_intent": "GetRide", "requested_slots": [], "slot_values": {"to": ["Rome", "Roma"]}}
    call = {"method": "GetRide", "parameters": {"to": "Rome", "kind": "any"}}
    turns = [
        {"speaker": "USER", "utterance": "A taxi.", "frames": frame(state=state | {"slot_values": {}})},
        {"speaker": "SYSTEM", "utterance": "Where to?", "frames": frame()},
        {"speaker": "USER", "utterance": "Rome.", "frames": frame(state=state)},
        {"speaker": "SYSTEM", "utterance": "Done.", "frames": frame(service_call=call)},
    ]
    dialogue = {"dialogue_id": "d", "services": ["Taxi_1"], "turns": turns}
    write_lines(tmp_path / "test" / "dialogues_001.json", [dialogue])
    corpora.add("sgd-tools", tmp_path)
    read = corpora.load("sgd-tools:test")[0]
    assert [turn.calls for turn in read.turns] == [
        (),
        (GoldCall("Taxi_1.GetRide", {"to": ("Rome", "Roma"), "kind": ("any", "")}),),
    ]
    assert read.tools[0].parameters["required"] == ["to"]
    assert read.turns[1].state == {"Taxi_1-to": ("Rome", "Roma")}
    assert corpora.load(str(tmp_path))[0].tools == ()
