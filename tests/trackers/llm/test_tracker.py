"""The `llm` tracker against a real server that speaks, and misbehaves, like an OpenAI-compatible endpoint."""

from __future__ import annotations

import inspect
import json
import logging
import multiprocessing
import pickle
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dstress.dialogue import Dialogue, Intent, Schema, Service, Slot, Turn
from dstress.errors import DstressError, SpecError, UnknownNameError
from dstress.llm import post as posting
from dstress.llm.chat import Endpoint, Reply, read_reply
from dstress.llm.post import Unanswered
from dstress.predictions.base import Prediction
from dstress.spec import print_value
from dstress.storage.cache import ResponseCache, Spent
from dstress.trackers import Failed, create
from dstress.trackers.base import Answer, Context
from dstress.trackers.llm.answer import ReadState, read_state_of
from dstress.trackers.llm.prompt import answer_schema, draw, schema_text, split_schema
from dstress.trackers.llm.tracker import Llm, TrackerOptions
from dstress.trackers.wire import Unreadable
from tests.trackers import serving
from tests.trackers.serving import SCHEMA, Served, completion, contexts, dialogue, held, resources, status

SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("DSTRESS_API_KEY", SECRET)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[Served]:
    with serving.serving(serving.model, "/v1") as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


class Trackers:
    """Makes prepared trackers, and closes them."""

    def __init__(self, server: Served, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.made: list[Llm] = []

    def __call__(self, **more: Any) -> Llm:
        tracker = Llm(self.server.url, "small", **({"timeout": 0.9, "retries": 2} | more))
        tracker.prepare(resources(self.folder))
        self.made.append(tracker)
        return tracker


@pytest.fixture
def make(server: Served, folder: Path) -> Iterator[Trackers]:
    trackers = Trackers(server, folder)
    yield trackers
    for tracker in trackers.made:
        tracker.close()


def right(count: int = 4) -> list[Answer]:
    return [{"hotel-area": "north", "taxi-to": f"User: turn {n} in the north"} for n in range(count)]


def reasons(answers: Sequence[Answer]) -> list[str]:
    return [answer.reason for answer in answers if isinstance(answer, Failed)]


# What is asked


def test_the_prompt_shows_the_schema_and_the_dialogue(server: Served, make: Trackers) -> None:
    assert make().track(contexts(3)[2:]) == right(3)[2:]
    [asked] = server.asked
    assert {name: asked[name] for name in ("model", "temperature", "seed", "max_tokens")} == {
        "model": "small",
        "temperature": 0.0,
        "seed": 1,
        "max_tokens": 1024,
    }
    first, last = asked["messages"]
    assert (first["role"], last["role"]) == ("system", "user")
    assert schema_text(SCHEMA) in first["content"]
    assert last["content"] == (
        "Dialogue:\nUser: turn 0 in the north\nAssistant: reply 1\nUser: turn 1 in the north\n"
        "Assistant: reply 2\nUser: turn 2 in the north"
    )


def test_the_schema_in_words() -> None:
    assert schema_text(SCHEMA) == (
        "Services and slots:\n"
        "\nhotel: A place to sleep\n"
        "- hotel-area: Part of town; only: north, south\n"
        "- hotel-parking: Whether one can park; only: yes, no\n"
        "- hotel-name: Name of the hotel; such as: Acorn, Lodge, Swan, Star, Moon\n"
        "\ntaxi: A ride\n"
        "- taxi-to: Where to\n"
        "- taxi-sharing: only: yes, no"
    )


def test_the_shape_of_an_answer_is_one_nullable_property_for_each_slot() -> None:
    assert answer_schema(SCHEMA) == {
        "type": "object",
        "properties": {
            "hotel-area": one_of("north", "south"),
            "hotel-parking": one_of("yes", "no"),
            "hotel-name": FREE,
            "taxi-to": FREE,
            "taxi-sharing": one_of("yes", "no"),
        },
        "required": list(SCHEMA.slots),
        "additionalProperties": False,
    }


FREE = {"type": ["string", "null"], "pattern": r'^[^"\\\n\r\t]{1,100}$'}


def one_of(*values: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "enum": [*values, "dontcare", None]}


def test_a_value_cannot_go_on_for_ever() -> None:
    assert re.fullmatch(FREE["pattern"], "the café at St. John's, 12th floor")
    assert not re.fullmatch(FREE["pattern"], "the " * 26)
    assert not re.fullmatch(FREE["pattern"], "")


def test_a_large_schema_is_asked_about_in_parts(server: Served, make: Trackers) -> None:
    whole = make()
    assert whole.track(contexts(2)) == right(2)
    parts = make(slots=3)
    assert parts.track(contexts(2)) == right(2)
    asked = {tuple(serving.asked_slots(one)): one["messages"][0]["content"] for one in server.asked[2:]}
    hotel, taxi = ("hotel-area", "hotel-parking", "hotel-name"), ("taxi-to", "taxi-sharing")
    assert asked.keys() == {hotel, taxi}
    assert "taxi-to" not in asked[hotel]
    assert parts.usage()["requests"] == 2 * whole.usage()["requests"] == 4


def test_a_part_that_fails_fails_the_turn_and_is_asked_for_again(server: Served, make: Trackers) -> None:
    tracker = make(slots=3, concurrency=1)
    server.plays = [None, status(200, completion("no"))]
    assert len(reasons(tracker.track(contexts(1)))) == 1
    assert tracker.track(contexts(1)) == right(1)
    assert len(server.asked) == 3


@pytest.mark.parametrize(("most", "sizes"), [(1, [1, 1, 1, 1, 1]), (2, [2, 1, 2]), (3, [3, 2]), (4, [3, 2]), (5, [5])])
def test_parts_hold_every_slot_once_and_keep_services_whole(most: int, sizes: list[int]) -> None:
    parts = split_schema(SCHEMA, most)
    assert [len(part.slots) for part in parts] == sizes
    assert [slot for part in parts for slot in part.slots] == list(SCHEMA.slots)


def strict(shape: Any) -> bool:
    """What strict modes want of a JSON schema: every property required, no others, few kinds of words."""
    if isinstance(shape, list):
        return all(map(strict, shape))
    if not isinstance(shape, dict):
        return True
    if shape.get("type") == "object":
        if shape["additionalProperties"] or shape["required"] != list(shape["properties"]):
            return False
        return all(strict(one) for one in shape["properties"].values())
    return shape.keys() <= {"type", "items", "anyOf", "enum", "pattern"} and all(map(strict, shape.values()))


def test_a_real_schema_makes_a_strict_shape() -> None:
    assert strict(answer_schema(held("reminder:test").schema))
    assert not strict({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False})


def test_values_are_only_enforced_where_there_are_few() -> None:
    many = Schema((Service("s", "", (Slot("x", "", True, tuple(map(str, range(101)))),)),))
    assert answer_schema(many)["properties"] == {"s-x": FREE}
    assert "such as: 0, 1, 2, 3, 4" in schema_text(many)


def test_json_mode_sends_a_json_schema(server: Served, make: Trackers) -> None:
    make().track(contexts(1))
    [asked] = server.asked
    assert asked["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "dialogue_state", "strict": True, "schema": answer_schema(SCHEMA)},
    }
    assert "tools" not in asked


def test_tools_mode_forces_a_call(server: Served, make: Trackers) -> None:
    assert make(mode="tools").track(contexts(2)) == right(2)
    asked = server.asked[0]
    assert asked["tools"][0]["function"]["parameters"] == answer_schema(SCHEMA)
    # By its name the tool would not be forced by llama.cpp, which reads anything but a word as "auto".
    assert asked["tool_choice"] == "required"
    assert "response_format" not in asked


def test_where_no_tool_is_called_json_is_asked_for(server: Served, make: Trackers) -> None:
    server.answer = lambda asked: completion("The north.") if "tools" in asked else serving.model(asked)
    tracker = make(mode="tools")
    assert tracker.track(contexts(2)) == right(2)
    assert sorted("response_format" in asked for asked in server.asked) == [False, False, True, True]
    usage = tracker.usage()
    assert (usage["requests"], usage["uncalled"], usage["malformed"]) == (4, 2, 0)
    # What came of it is kept as the answer to the question: a second run pays for neither.
    assert tracker.track(contexts(2)) == right(2)
    assert (tracker.usage()["cached"], len(server.asked)) == (2, 4)


def test_an_endpoint_that_knows_no_json_schema_loses_the_turn_and_not_the_run(server: Served, make: Trackers) -> None:
    server.plays = [lambda request: serving.send(request, 200, completion("The north.")), status(400)]
    assert reasons(make(mode="tools", concurrency=1).track(contexts(2))) == [
        "malformed: no JSON object, or none of which a slot is whole: 'The north.'"
    ]


def test_what_is_none_is_not_sent(server: Served, make: Trackers) -> None:
    make(temperature=None, seed=None, max_tokens=None).track(contexts(1))
    assert not server.asked[0].keys() & {"temperature", "seed", "max_tokens"}


def test_the_dialogues_own_services_alone(server: Served, make: Trackers) -> None:
    make(services="dialogue").track(contexts(1))
    first = server.asked[0]["messages"][0]["content"]
    assert "- hotel-area" in first
    assert "- taxi-to" not in first


@pytest.mark.parametrize("mode", ["json", "tools"])
def test_examples_are_drawn_from_training_data(server: Served, folder: Path, mode: Any) -> None:
    corpus = held("reminder:test")
    server.answer = lambda asked: completion('{"state": []}') if mode == "json" else called('{"state": []}')
    tracker = Llm(server.url, "small", mode, 3, "reminder:train", slots=60)
    tracker.prepare(resources(folder, corpus.schema))
    first = next(iter(corpus))
    assert tracker.track([Context(first, 0, corpus.schema)]) == [{}]
    tracker.close()
    messages = server.asked[0]["messages"]
    roles = ["user", "assistant"] if mode == "json" else ["user", "assistant", "tool"]
    assert [message["role"] for message in messages] == ["system", *roles * 3, "user"]
    solved = messages[2]["content"] if mode == "json" else messages[2]["tool_calls"][0]["function"]["arguments"]
    assert set(json.loads(solved)) == set(serving.asked_slots(server.asked[0]))
    state = read_state_of(Reply(solved), corpus.schema).state
    assert state
    # What it solves is what is said there.
    assert any(value.lower() in messages[1]["content"].lower() for value in state.values())


def intending(*names: str) -> Schema:
    return Schema(
        tuple(
            msgspec.structs.replace(service, intents=(Intent(name),))
            for service, name in zip(SCHEMA.services, names, strict=True)
        )
    )


@pytest.mark.parametrize("mode", ["json", "tools"])
def test_intent_and_flag_are_asked_for_and_read(server: Served, folder: Path, mode: Any) -> None:
    schema, text = intending("find", "ride"), '{"intent": "ride", "out_of_domain": false, "taxi-to": "the pub"}'
    server.answer = lambda asked: completion(text) if mode == "json" else called(text)
    tracker = Llm(server.url, "small", mode, utterance=True)
    tracker.prepare(resources(folder, schema))
    assert tracker.track(contexts(1, schema)) == [Prediction("d1", 0, PUB, intent="ride", ood=False)]
    tracker.close()
    [asked] = server.asked
    shape = answer_schema(schema, utterance=True)
    assert shape["required"][:2] == ["intent", "out_of_domain"]
    assert shape["properties"]["intent"]["enum"] == ["find", "ride", None]
    assert json.dumps(shape) in json.dumps(asked)
    first = asked["messages"][0]["content"]
    assert '"out_of_domain" is true if' in first and "intents: ride\n- taxi-to" in first


@pytest.mark.parametrize(
    ("answers", "intent", "ood"),
    [
        (['"intent": null, "out_of_domain": true'] * 2, "", True),
        (['"intent": null, "out_of_domain": true', '"intent": "ride", "out_of_domain": false'], "ride", False),
        (['"intent": 3, "out_of_domain": "no"', '"out_of_domain": true'], None, True),
    ],
)
def test_what_parts_say_of_the_utterance_is_put_together(
    server: Served, folder: Path, answers: list[str], intent: str | None, ood: bool
) -> None:
    left = iter(answers)
    server.answer = lambda asked: completion(f'{{{next(left)}, "taxi-to": "the pub"}}')
    schema = intending("find", "ride")
    tracker = Llm(server.url, "small", utterance=True, slots=3, concurrency=1)
    tracker.prepare(resources(folder, schema))
    assert tracker.track(contexts(1, schema)) == [Prediction("d1", 0, PUB, intent=intent, ood=ood)]
    tracker.close()


def test_an_example_says_what_its_utterance_is(server: Served, folder: Path) -> None:
    corpus = held("reminder:test")
    server.answer = lambda asked: completion("{}")
    tracker = Llm(server.url, "small", "json", 3, "reminder:train", slots=60, utterance=True)
    tracker.prepare(resources(folder, corpus.schema))
    tracker.track([Context(next(iter(corpus)), 0, corpus.schema)])
    tracker.close()
    solved = [json.loads(one["content"]) for one in server.asked[0]["messages"] if one["role"] == "assistant"]
    assert len(solved) == 3 and all(one["intent"] and one["out_of_domain"] is False for one in solved)


def test_an_example_from_another_schema_brings_its_own(server: Served, folder: Path) -> None:
    server.answer = lambda asked: completion('{"state": []}')
    tracker = Llm(server.url, "small", "json", 2, "reminder:train")
    tracker.prepare(resources(folder))
    assert tracker.track(contexts(1)) == [{}]
    tracker.close()
    assert server.asked[0]["messages"][1]["content"].startswith("Services and slots:\n")


def test_examples_are_the_same_whatever_the_order() -> None:
    train = held("reminder:train")

    class Backwards:
        schema = train.schema

        def __iter__(self) -> Iterator[Dialogue]:
            return iter(list(train)[::-1])

    def names(found: list[Context]) -> list[tuple[str, int]]:
        return [(one.dialogue, one.turn) for one in found]

    drawn = names(draw(train, 6, 1))
    assert len({name for name, _ in drawn}) == 6
    assert names(draw(Backwards(), 6, 1)) == drawn
    assert names(draw(train, 3, 1)) == drawn[:3]
    assert names(draw(train, 6, 2)) != drawn
    services = {next(iter(one.gold.state)).partition("-")[0] for one in draw(train, 5, 1)}
    assert len(services) >= 3


def test_too_few_examples_are_told() -> None:
    class Small:
        schema = SCHEMA

        def __iter__(self) -> Iterator[Dialogue]:
            return iter([dialogue(), Dialogue("d2", (Turn("nothing"),))])

    assert len(draw(Small(), 1, 1)) == 1
    with pytest.raises(DstressError, match="mine has only 1 dialogues to draw 2 examples from"):
        draw(Small(), 2, 1, "mine")


# What is answered


def called(arguments: Any, name: str = "set_state", count: int = 1) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return completion(None, message={"tool_calls": [call] * count}, finish="tool_calls")


PUB = {"taxi-to": "the pub"}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("{}", {}),
        ('{"hotel-area": null, "taxi-to": "the pub", "hotel-name": ""}', PUB),
        ('{"taxi-to": 4}', {"taxi-to": "4"}),
        ('{"taxi": {"to": "the pub"}, "hotel": {"area": null}}', PUB),
        ('{"Taxi-To": "the pub", "taxi sharing": null}', PUB),
        ('{"state": {"taxi-to": "the pub", "hotel-name": null}}', PUB),
        ('{"state": {"taxi": {"to": "the pub"}}}', PUB),
        ('{"state": []}', {}),
        ('{"state": [{"slot": "taxi-to", "value": "the pub"}]}', PUB),
        ('[{"slot": "taxi-to", "value": "the pub"}, {"slot": "taxi-to", "value": "the pub"}]', PUB),
        ('```json\n{"taxi-to": "the pub"}\n```', PUB),
        ('Sure! The state is {"taxi-to": "the pub"}. Anything else [1]?', PUB),
        ('<think>Is it {"taxi-to": "the zoo"}? No.</think>{"taxi-to": "the pub"}', PUB),
        ('Is it {"taxi-to": "the zoo"}? No.</think>\n{"taxi-to": "the pub"}', PUB),
        ('First {"taxi-to": "the zoo"}, then {"taxi-to": "the pub"}', PUB),
    ],
)
def test_replies_that_can_be_read(text: str, state: dict[str, str]) -> None:
    assert read_state_of(Reply(text), SCHEMA) == ReadState(state)


@pytest.mark.parametrize(
    "text",
    [
        '{"taxi-to": "the pub", "hotel-name": "the the the the',
        '{"taxi-to": "the pub", "hotel-na',
        '{"taxi-to": "the pub", "hotel-name":',
        '{"taxi-to": "the pub"',
        '{"taxi": {"to": "the pub", "sharing": "y',
        '{"hotel-area": null, "taxi": {"to": "the pub"}, "hotel": {',
        '{"taxi-to": "the pub", "hotel-name": 12',
    ],
)
def test_what_is_whole_in_an_answer_that_was_cut_counts(text: str) -> None:
    assert read_state_of(Reply(text, finish="length"), SCHEMA) == ReadState(PUB, is_cut=True)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ('"bus-to": "x"', "the schema has no slot 'bus-to'"),
        ('"hotel-name": [["x"]]', "the value of hotel-name is no text: [['x']]"),
        ('"hotel-name": true', "the value of hotel-name is no text: True"),
        ('"hotel-name": "a", "hotel": {"name": "b"}', "two values of hotel-name: 'a' and 'b'"),
    ],
)
def test_what_is_wrong_with_a_slot_costs_that_slot(server: Served, make: Trackers, wrong: str, problem: str) -> None:
    text = f'{{{wrong}, "taxi-to": "the pub"}}'
    assert read_state_of(Reply(text), SCHEMA) == ReadState(PUB, (problem,))
    server.answer = lambda asked: completion(text)
    tracker = make()
    assert tracker.track(contexts(1)) == [PUB]
    usage = tracker.usage()
    assert (usage["lost_slots"], usage["cut"], usage["malformed"]) == (1, 0, 0)


def test_a_cut_answer_is_counted(server: Served, make: Trackers) -> None:
    server.answer = lambda asked: completion('{"taxi-to": "the pub", "hotel-name": "the the', finish="length")
    tracker = make()
    assert tracker.track(contexts(1)) == [PUB]
    usage = tracker.usage()
    assert (usage["cut"], usage["malformed"]) == (1, 0)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (completion("Sure! The state is"), "malformed: no JSON object, or none of which a slot is whole: 'Sure! The"),
        (completion(None), "malformed: no JSON object, or none of which a slot is whole: ''"),
        (completion('{"taxi-to": "the the', finish="length"), "malformed: no JSON object, or none of which"),
        (completion('<think>So {"taxi-to": "x"}', finish="length"), "malformed: no JSON object, or none of which"),
        (completion('{"state": "none"}'), "malformed: 'none' is no state"),
        (completion('{"state": ["taxi-to"]}'), "malformed: the schema has no slot \"'taxi-to'\""),
        (completion('{"state": [{"slot": "taxi-to"}]}'), "malformed: the schema has no slot \"{'slot': 'taxi-to'}\""),
        (completion('{"bus-to": "x"}'), "malformed: the schema has no slot 'bus-to'"),
        (completion('{"taxi-to": [["x"]]}'), "malformed: the value of taxi-to is no text"),
        (completion("\ud800"), "malformed: "),
        ({"choices": []}, "malformed: a chat completion without a choice"),
        ({"error": "?"}, "malformed: no chat completion"),
        (b"<html>", "malformed: no chat completion"),
        (completion(None, message={"refusal": "I will not"}), "refused by the model: I will not"),
        (completion("I", finish="content_filter"), "refused by the model: I"),
    ],
)
def test_replies_that_cannot_be_used(server: Served, make: Trackers, reply: Any, problem: str) -> None:
    server.always = status(200, reply)
    tracker = make()
    [answer] = tracker.track(contexts(1))
    assert isinstance(answer, Failed)
    assert answer.reason.startswith(problem)
    usage = tracker.usage()
    assert usage["malformed"] == problem.startswith("malformed")
    # Nothing of it is kept: a resumed run asks again.
    server.always = None
    assert tracker.track(contexts(1)) == right(1)
    assert tracker.usage()["cached"] == 0


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (completion("north"), "no JSON object, or none of which a slot is whole: 'north'"),
        (called("{}", "get_weather"), "one call of set_state was asked for; called: get_weather"),
        (called('{"state": []}', count=2), "one call of set_state was asked for; called: set_state, set_state"),
        (called("{"), "no JSON object, or none of which a slot is whole: '{'"),
        (called('{"state": null}'), "None is no state"),
    ],
)
def test_calls_that_cannot_be_used(reply: dict[str, Any], problem: str) -> None:
    with pytest.raises(Unreadable, match=problem):
        read_state_of(read_reply(json.dumps(reply).encode()), SCHEMA)


def test_arguments_may_come_as_json_itself() -> None:
    reply = read_reply(json.dumps(called({"state": [{"slot": "taxi-to", "value": "x"}]})).encode())
    assert read_state_of(reply, SCHEMA) == ReadState({"taxi-to": "x"})


# How it is asked


@pytest.mark.parametrize(
    "trick",
    [status(429, Retry_After="0"), status(500), serving.hang_up, serving.half, serving.slow(1.2)],
    ids=["429", "500", "hang up", "half", "slow"],
)
def test_what_passes_is_tried_again(server: Served, make: Trackers, trick: Any) -> None:
    server.plays = [trick]
    tracker = make()
    assert tracker.track(contexts(1)) == right(1)
    assert tracker.usage() == {
        "requests": 1,
        "retries": 1,
        "cached": 0,
        "tokens_in": 100,
        "tokens_out": 10,
        "cost": 0,
        "malformed": 0,
        "turns": 1,
        "over_budget": 0,
        "cut": 0,
        "lost_slots": 0,
        "uncalled": 0,
    }


@pytest.mark.parametrize(
    ("trick", "reason"),
    [
        (status(429), "busy: 429 trick 429"),
        (status(500), "server error: 500 trick 500"),
        (serving.hang_up, "closed connection"),
        (serving.slow(1.2), "timeout: no whole answer in 0.9 seconds"),
        (status(400, {"error": {"message": "context too long"}}), "refused: 400 context too long"),
    ],
)
def test_what_stays_fails_with_a_category(server: Served, make: Trackers, trick: Any, reason: str) -> None:
    server.always = trick
    tracker = make(retries=1)
    [answer] = tracker.track(contexts(1))
    assert isinstance(answer, Failed)
    assert answer.reason.startswith(reason)
    assert tracker.usage()["malformed"] == 0
    assert len(server.asked) == (1 if reason.startswith("refused") else 2)


def test_all_threads_wait_when_the_server_asks_for_patience(server: Served, make: Trackers) -> None:
    server.plays = [status(429, Retry_After="1")]
    tracker = make(concurrency=2)
    start = time.monotonic()
    assert tracker.track(contexts(12)) == right(12)
    assert time.monotonic() - start >= 1.0
    # One other may have been on its way; all the rest held back.
    assert len(server.asked) == 13
    assert tracker.usage()["retries"] == 1


def test_several_are_asked_at_once_and_answered_in_order(server: Served, make: Trackers) -> None:
    def uneven(asked: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.05 if "turn 0" in asked["messages"][-1]["content"].splitlines()[-1] else 0.01)
        return serving.model(asked)

    server.answer = uneven
    assert make(concurrency=4).track(contexts(24)) == right(24)
    assert 2 <= server.most_at_once <= 4


def test_the_same_words_are_asked_about_once(server: Served, make: Trackers) -> None:
    assert make().track([*contexts(2), *contexts(2)]) == [*right(2), *right(2)]
    assert len(server.asked) == 2


@pytest.mark.parametrize(("code", "problem"), [(401, "not let in"), (404, "a wrong address")])
def test_a_wrong_key_or_model_stops_the_run(server: Served, make: Trackers, code: int, problem: str) -> None:
    server.always = status(code)
    with pytest.raises(DstressError, match=problem):
        make().track(contexts(20))


def test_an_endpoint_that_refuses_the_shape_stops_the_run(server: Served, make: Trackers) -> None:
    server.always = status(400, {"error": {"message": "json_schema is not supported"}})
    with pytest.raises(DstressError, match="none answered; the last: 400 json_schema is not supported"):
        make().track(contexts(20))


# The key


def test_the_key_goes_to_the_server_and_nowhere_else(
    server: Served, make: Trackers, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tracker = make()
    server.plays = [status(400, {"error": {"message": f"bad key {SECRET} or so"}})]
    answers = [*tracker.track(contexts(1)), *tracker.track(contexts(3))]
    assert reasons(answers) == ["refused: 400 bad key *** or so"]
    assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"
    tracker.close()
    kept = pickle.dumps(tracker) + repr(vars(tracker)).encode() + tracker.spec.encode() + caplog.text.encode()
    kept += b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


def test_which_key_is_taken(server: Served, make: Trackers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "other\n")
    make().track(contexts(1))
    monkeypatch.delenv("DSTRESS_API_KEY")
    make(seed=2).track(contexts(1))
    monkeypatch.setenv("DSTRESS_API_KEY", "")
    make(seed=3).track(contexts(1))
    assert [told.get("Authorization") for told in server.headers] == [f"Bearer {SECRET}", "Bearer other", None]


def test_a_key_that_cannot_be_sent_is_not_shown(make: Trackers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_API_KEY", "gehëim\nnis")
    with pytest.raises(DstressError, match="characters that no key has") as caught:
        make().track(contexts(1))
    assert "nis" not in str(caught.value)


# Money


def test_tokens_and_money_are_counted(make: Trackers) -> None:
    tracker = make(price_in=2.0, price_out=10.0)
    tracker.track(contexts(4))
    usage = tracker.usage()
    assert (usage["requests"], usage["tokens_in"], usage["tokens_out"]) == (4, 400, 40)
    assert usage["cost"] == pytest.approx(4 * (100 * 2.0 + 10 * 10.0) / 1e6)
    assert set(tracker.usage().values()) == {0.0}


def test_malformed_answers_are_paid_for_too(server: Served, make: Trackers) -> None:
    server.always = status(200, completion("no"))
    tracker = make(budget=200)
    tracker.track(contexts(1))
    tracker.track(contexts(1))
    assert tracker.usage()["tokens_in"] == 200
    assert reasons(tracker.track(contexts(1))) == ["budget spent: 220 of 200 tokens; raise budget= and resume"]


@pytest.mark.parametrize(
    ("budget", "told"),
    [({"budget": 330}, "330 of 330 tokens"), ({"budget": 0.0009, "price_in": 2, "price_out": 10}, "0.0009 of 0.0009")],
)
def test_a_spent_budget_fails_the_rest(server: Served, make: Trackers, budget: dict[str, Any], told: str) -> None:
    tracker = make(concurrency=1, **budget)
    answers = tracker.track(contexts(8))
    assert answers[:3] == right(3)
    assert reasons(answers) == [f"budget spent: {told}; raise budget= and resume"] * 5
    assert tracker.usage()["over_budget"] == 5
    assert len(server.asked) == 3
    # What is known costs nothing; the rest waits for a larger budget.
    assert tracker.track(contexts(3)) == right(3)
    assert make(concurrency=1).track(contexts(8)) == right(8)
    assert len(server.asked) == 8


def test_copies_in_other_processes_share_the_budget(server: Served, make: Trackers, folder: Path) -> None:
    tracker = make(concurrency=1, budget=220)
    copy = pickle.loads(pickle.dumps(tracker))
    copy.prepare(resources(folder))
    assert reasons(copy.track(contexts(2))) == []
    copy.close()
    assert reasons(tracker.track(contexts(4)[2:])) == ["budget spent: 220 of 220 tokens; raise budget= and resume"] * 2
    other = make(concurrency=1, budget=220)
    assert reasons(other.track(contexts(4)[2:])) == []


def test_where_no_tokens_are_counted_they_are_guessed(server: Served, make: Trackers) -> None:
    server.answer = lambda asked: serving.model(asked) | {"usage": None}
    tracker = make()
    tracker.track(contexts(1))
    usage = tracker.usage()
    assert 300 < usage["tokens_in"] < 1500
    assert 10 < usage["tokens_out"] < 60


@pytest.mark.parametrize("count", [-(10**6), -1, 0, 2**63, 2**70, 1e300, "many", True, [3]])
def test_token_counts_that_cannot_be_are_guessed(server: Served, make: Trackers, count: Any) -> None:
    """Below 0, they free a budget; beyond a table's integers, they lost every reply that was paid."""
    usage = {"prompt_tokens": count, "completion_tokens": count}
    server.answer = lambda request: serving.model(request) | {"usage": usage}
    tracker = make(concurrency=1, budget=300)
    answers = tracker.track(contexts(4))
    assert answers[0] == right(1)[0] and "budget spent" in reasons(answers)[-1]
    used = tracker.usage()
    assert 300 < used["tokens_in"] < 3000 and 0 < used["tokens_out"] < 60


def test_answers_come_one_by_one(server: Served, make: Trackers) -> None:
    """The first is there while a server still thinks about the others."""
    go_on = threading.Event()

    def slow(request: dict[str, Any]) -> Any:
        if "turn 0" not in request["messages"][-1]["content"].rpartition("\n")[2]:
            assert go_on.wait(20)
        return serving.model(request)

    server.answer = slow
    coming = make(concurrency=4).track_each(contexts(4))
    assert next(coming) == (0, right(1)[0])
    go_on.set()
    assert sorted(place for place, _ in coming) == [1, 2, 3]


# The cache


def test_nothing_is_asked_twice(server: Served, make: Trackers) -> None:
    first = make()
    assert first.track(contexts(4)) == right(4)
    first.close()
    again = make()
    assert again.track(contexts(5)) == right(5)
    assert len(server.asked) == 5
    usage = again.usage()
    assert (usage["cached"], usage["requests"], usage["tokens_in"]) == (4, 1, 100)


def test_the_cache_answers_where_no_server_is(make: Trackers, folder: Path) -> None:
    with serving.serving(serving.model, "/v1") as server:
        tracker = Llm(server.url, "small", retries=0)
        tracker.prepare(resources(folder))
        assert tracker.track(contexts(2)) == right(2)
        tracker.close()
    assert tracker.track(contexts(2)) == right(2)
    with pytest.raises(DstressError, match="nobody answers"):
        tracker.track(contexts(3))
    tracker.close()


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": 0.5},
        {"seed": 7},
        {"max_tokens": 9},
        {"mode": "tools"},
        {"version": "2"},
        {"services": "dialogue"},
        {"shots": 1, "train": "reminder:train"},
    ],
)
def test_whatever_changes_the_answer_asks_again(server: Served, make: Trackers, more: dict[str, Any]) -> None:
    make().track(contexts(1))
    make(**more).track(contexts(1))
    assert len(server.asked) == 2


def test_what_changes_no_answer_does_not(server: Served, make: Trackers) -> None:
    make().track(contexts(1))
    make(concurrency=2, timeout=3, retries=0, budget=9, price_in=1).track(contexts(1))
    assert len(server.asked) == 1


FILL = """
import os, sys
from pathlib import Path
import msgspec
from dstress.llm.chat import Reply
from dstress.storage.cache import ResponseCache, Spent
cache = ResponseCache(Path(sys.argv[1]))
for number in range(100000):
    cache.put(str(number), "m", msgspec.json.encode(Reply("x" * 2000, tokens_in=number)))
    cache.spend("purse", Spent(1, 0.5))
    print(number, flush=True)
"""


def test_a_killed_process_leaves_a_whole_cache(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    for least in (20, 45):
        process = subprocess.Popen([sys.executable, "-c", FILL, str(path)], stdout=subprocess.PIPE, text=True)
        with process:
            if process.stdout is None:
                pytest.fail("no output")
            last = next(int(line) for line in process.stdout if int(line) >= least)
            process.kill()
        cache = ResponseCache(path)
        assert all(cache.get(str(n)) == msgspec.json.encode(Reply("x" * 2000, tokens_in=n)) for n in range(last + 1))
        assert cache.spent("purse").tokens > last
        cache.close()


def _spend(path: Path, all_ready: threading.Barrier) -> None:
    all_ready.wait()
    cache = ResponseCache(path)
    for _ in range(50):
        cache.spend("purse", Spent(2, 0.25))
    cache.close()


@pytest.mark.slow
def test_processes_that_start_together_spend_from_one_purse(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    context = multiprocessing.get_context("spawn")
    all_ready = context.Barrier(4)
    processes = [context.Process(target=_spend, args=(path, all_ready)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    cache = ResponseCache(path)
    assert cache.spent("purse") == Spent(400, 50.0)
    assert cache.spent("other") == Spent()
    cache.close()


def test_a_response_of_another_version_is_asked_for_again(make: Trackers, server: Served, folder: Path) -> None:
    make().track(contexts(1))
    with sqlite3.connect(folder / "llm" / "responses.sqlite") as file:
        file.execute("UPDATE responses SET reply = CAST('?' AS BLOB)")
    file.close()
    assert make().track(contexts(1)) == right(1)
    assert len(server.asked) == 2


def test_a_broken_cache_is_named(make: Trackers, folder: Path) -> None:
    (folder / "llm").mkdir(parents=True)
    (folder / "llm" / "responses.sqlite").write_bytes(b"not a database, not at all" * 99)
    with pytest.raises(DstressError, match="cache of responses cannot be used") as caught:
        make().track(contexts(1))
    assert "responses.sqlite" in str(caught.value)


# The rest of the contract


def test_it_travels_before_and_after_it_worked(make: Trackers, folder: Path) -> None:
    tracker = make()
    tracker.track(contexts(2))
    again = pickle.loads(pickle.dumps(tracker))
    assert set(again.usage().values()) == {0.0}
    with pytest.raises(DstressError, match="was not prepared"):
        again.track(contexts(1))
    again.prepare(resources(folder))
    assert again.track(contexts(3)) == right(3)
    again.close()
    again.close()
    assert again.usage()["cached"] == 2


def test_its_fingerprint_is_the_model_the_parameters_and_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(more: str = "") -> str:
        return create(f'llm("http://h/v1", model=small{more})').fingerprint()

    others = [", mode=tools", ", seed=2", ", temperature=0.7", ", shots=1, train=reminder", ", version=2b"]
    others += [", services=dialogue", ", slots=4", ", max_tokens=none", ", utterance=true"]
    assert len({found(), *map(found, others)}) == len(others) + 1
    assert found() == found(", concurrency=1, budget=5, price_in=1, price_out=2, timeout=1, retries=0")
    before = found()
    monkeypatch.setattr("dstress.trackers.llm.prompt.template", lambda: b"other words")
    assert found() != before


def test_batches_keep_all_threads_busy() -> None:
    assert Llm("http://h/v1", "m", concurrency=16).batch == 128


@pytest.mark.parametrize(
    "more",
    [
        "mode=xml",
        "shots=2",
        "shots=-1, train=reminder",
        "concurrency=0",
        "budget=-1",
        "price_in=-1",
        "max_tokens=0",
        "temperature=hot",
        "services=some",
        "slots=0",
        "timeout=0",
    ],
)
def test_what_cannot_work_is_refused_at_once(more: str) -> None:
    with pytest.raises(SpecError):
        create(f'llm("http://h/v1", model=m, {more})')


def test_an_unknown_argument_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'temperature'"):
        create('llm("http://h/v1", model=m, temprature=1)')
    with pytest.raises(SpecError):
        create("llm(localhost, model=m)")


def test_an_argument_that_says_what_holds_anyway_changes_nothing() -> None:
    fields = msgspec.structs.fields(TrackerOptions)
    spoken = ", ".join(f"{field.name}={print_value(field.default)}" for field in fields)
    plain = create('llm("http://h/v1", model=m)')
    assert create(f'llm("http://h/v1", model=m, {spoken})').spec == plain.spec
    signature = inspect.signature(Llm).parameters
    assert {field.name: field.default for field in fields} == {
        name: signature[name].default for name in TrackerOptions.__struct_fields__
    }


def test_python_callers_are_checked_too() -> None:
    with pytest.raises(SpecError, match="does not fit"):
        Llm("http://h/v1", "m", timeout="soon")  # type: ignore[arg-type]


def test_the_client_serves_others_too(server: Served) -> None:
    server.answer = lambda asked: completion(f"You said {asked['messages'][0]['content']}")
    endpoint = Endpoint(server.url + "/", timeout=1, retries=0)
    reply = endpoint.chat({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    assert reply == Reply("You said hi", finish="stop", tokens_in=100, tokens_out=10)
    server.always = status(500)
    with pytest.raises(Unanswered, match="server error"):
        endpoint.chat({})
    endpoint.close()
