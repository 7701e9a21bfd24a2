"""The `llm` generator against a real server that speaks, and misbehaves, like an OpenAI-compatible endpoint."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dstress.errors import DstressError, SpecError, UnknownNameError
from dstress.llm import post as posting
from dstress.llm.chat import Reply
from dstress.llm.client import Options
from dstress.spec import ComponentSpec
from dstress.stressors.generators import Goal, Request, generators
from dstress.stressors.generators.llm import Llm, draw, question, read_utterances
from tests.trackers import serving
from tests.trackers.serving import SCHEMA, Served, completion, held, resources, status

SECRET = "sk-very-secret-0123456789"
GOAL = Goal({"hotel-area": "north", "hotel-parking": "yes"}, {"hotel-name": "Acorn"})


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("DSTRESS_API_KEY", SECRET)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def obedient(asked: dict[str, Any]) -> dict[str, Any]:
    """A model that says the value of every line of its goal, in two ways."""
    lines = asked["messages"][-1]["content"].splitlines()
    values = [line.rpartition(": ")[2] for line in lines if line.startswith("- ")]
    return completion(json.dumps({"utterances": [f"I want {' and '.join(values)}.", f"{', '.join(values)}, please."]}))


@pytest.fixture
def server() -> Iterator[Served]:
    with serving.serving(obedient, "/v1") as served:
        yield served


class Generators:
    """Makes prepared generators, and closes them."""

    def __init__(self, server: Served, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.made: list[Llm] = []

    def __call__(self, **more: Any) -> Llm:
        generator = Llm(self.server.url, "small", **({"timeout": 0.9, "retries": 2} | more))
        generator.prepare(resources(self.folder), held("reminder:train"))
        self.made.append(generator)
        return generator


@pytest.fixture
def make(server: Served, tmp_path: Path) -> Iterator[Generators]:
    made = Generators(server, tmp_path / "data")
    yield made
    for generator in made.made:
        generator.close()


def goals(count: int) -> list[Request]:
    return [Request("", Goal({"hotel-name": f"Hotel {number}"})) for number in range(count)]


# What is asked


def test_the_question_in_words() -> None:
    assert question(Request("Which area?", GOAL), 5, SCHEMA) == (
        'The assistant said: "Which area?"\n'
        "\n"
        "To be said:\n"
        "- hotel-area (Part of town): north\n"
        "- hotel-parking (Whether one can park): yes\n"
        "\n"
        "Agreed already:\n"
        "- hotel-name (Name of the hotel): Acorn\n"
        "\n"
        "Write 5 different utterances."
    )
    first = question(Request("", Goal({"taxi-sharing": "no"})), 1, SCHEMA)
    assert first.startswith("The dialogue starts here")
    assert "- taxi-sharing: no" in first
    assert first.endswith("Write 1 utterance.")


def test_candidates_come_in_the_models_order(server: Served, make: Generators) -> None:
    found = make().generate("Which area?", GOAL, 5)
    assert [one.text for one in found] == ["I want north and yes and Acorn.", "north, yes, Acorn, please."]
    assert found[0].score > found[1].score
    [asked] = server.asked
    assert asked["model"] == "small"
    assert (asked["temperature"], asked["seed"]) == (0.0, 1)
    assert asked["response_format"]["json_schema"]["strict"]
    assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"


def test_no_more_than_were_asked_for(make: Generators) -> None:
    assert len(make().generate("", GOAL, 1)) == 1


def test_examples_come_from_the_training_corpus(server: Served, make: Generators) -> None:
    make(shots=3).generate("", GOAL, 2)
    messages = server.asked[0]["messages"]
    assert [one["role"] for one in messages] == ["system", *["user", "assistant"] * 3, "user"]
    train = {turn.user for dialogue in held("reminder:train") for turn in dialogue.turns}
    for solved in messages[2::2]:
        [utterance] = json.loads(solved["content"])["utterances"]
        assert utterance in train


def test_examples_are_the_same_whatever_the_order() -> None:
    train = held("reminder:train")

    class Backwards:
        schema = train.schema

        def __iter__(self) -> Iterator[Any]:
            return iter(list(train)[::-1])

    assert draw(Backwards(), 4, 1) == draw(train, 4, 1)
    assert draw(train, 2, 1) == draw(train, 4, 1)[:2]
    assert draw(train, 4, 2) != draw(train, 4, 1)
    with pytest.raises(DstressError, match="fewer shots"):
        draw(train, 1000, 1)


def test_many_at_once_are_asked_one_by_one_and_each_once(server: Served, make: Generators) -> None:
    asked = goals(6)
    found = make(concurrency=3).generate_all([*asked, *asked], 2)
    assert [one[0].text for one in found] == [f"I want Hotel {number}." for number in range(6)] * 2
    assert len(server.asked) == 6
    assert server.most_at_once <= 3


# What comes back


@pytest.mark.parametrize(
    ("text", "utterances"),
    [
        ('{"utterances": ["a  b", " c\\n"]}', ["a b", "c"]),
        ('{"utterances": ["a", "a", "", "b"]}', ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ('```json\n{"utterances": ["a"]}\n```', ["a"]),
    ],
)
def test_answers_that_can_be_read(text: str, utterances: list[str]) -> None:
    assert read_utterances(Reply(text)) == utterances


@pytest.mark.parametrize(
    "reply",
    [
        Reply("I would say: hello"),
        Reply('{"utterances": "a"}'),
        Reply('{"utterances": [1]}'),
        Reply('{"utterances": []}'),
        Reply('{"utterances": [""]}'),
        Reply('{"other": ["a"]}'),
        Reply("17"),
        Reply('{"utterances": ["a"]}', finish="length"),
    ],
)
def test_answers_that_cannot(reply: Reply) -> None:
    with pytest.raises(posting.Unanswered):
        read_utterances(reply)


def test_garbage_gives_no_candidates_and_is_counted(server: Served, make: Generators) -> None:
    generator = make(concurrency=1)
    server.plays = [serving.garbage, lambda request: serving.send(request, 200, completion("Sure! Here you are:"))]
    found = generator.generate_all(goals(3), 2)
    assert [bool(one) for one in found] == [False, False, True]
    counts = generator.usage()
    assert (counts["requests"], counts["malformed"], counts["cached"]) == (3, 2, 0)
    # What was of no use was not kept: another try may help.
    assert all(generator.generate_all(goals(3), 2))
    assert (generator.usage()["cached"], len(server.asked)) == (1, 5)


def test_a_refusal_gives_no_candidates(server: Served, make: Generators) -> None:
    generator = make()
    server.plays = [lambda request: serving.send(request, 200, completion(None, message={"refusal": "I will not."}))]
    assert generator.generate("", GOAL, 2) == []
    assert generator.usage()["refused"] == 1


def test_trouble_that_passes_is_tried_again(server: Served, make: Generators) -> None:
    server.plays = [status(429), status(500)]
    generator = make()
    assert generator.generate("", GOAL, 2)
    assert generator.usage()["retries"] == 2


def test_trouble_that_stays_is_an_error_and_not_a_choice_of_turns(server: Served, make: Generators) -> None:
    generator = make(retries=1, concurrency=1)
    assert generator.generate("", GOAL, 2)
    server.always = status(500)
    with pytest.raises(DstressError, match=r"does not answer: server error.*\n.*what was answered is kept"):
        generator.generate_all(goals(2), 2)
    assert generator.generate("", GOAL, 2)


def test_an_answer_is_never_paid_for_twice(server: Served, make: Generators) -> None:
    first = make().generate("", GOAL, 2)
    server.always = status(500)
    again = make()
    assert again.generate("", GOAL, 2) == first
    assert again.usage() == dict.fromkeys(again.usage(), 0.0) | {"cached": 1.0}
    assert len(server.asked) == 1


@pytest.mark.parametrize("more", [{"version": "2"}, {"shots": 1}, {"temperature": 0.5}])
def test_another_question_is_asked_anew(server: Served, make: Generators, more: dict[str, Any]) -> None:
    make().generate("", GOAL, 2)
    make(**more).generate("", GOAL, 2)
    assert len(server.asked) == 2


def test_a_budget_ends_the_work(server: Served, make: Generators) -> None:
    generator = make(budget=150, concurrency=1)  # every answer costs 110 tokens
    with pytest.raises(DstressError, match=r"the budget of 150 is spent\n.*raise budget="):
        generator.generate_all(goals(4), 2)
    assert len(server.asked) == 2
    money = make(budget=0.0002, price_in=1.0, price_out=10.0, version="2")
    assert money.generate("", GOAL, 2)
    with pytest.raises(DstressError, match="is spent"):
        money.generate_all(goals(1), 2)
    assert money.usage()["cost"] == pytest.approx(0.0002)


def test_it_survives_pickling(server: Served, make: Generators) -> None:
    generator = make(shots=2)
    before = generator.generate("", GOAL, 2)
    text = pickle.dumps(generator)
    assert SECRET.encode() not in text
    copy = pickle.loads(text)
    assert copy.generate("", GOAL, 2) == before
    assert copy.usage()["cached"] == 1
    assert copy.generate("Hello", GOAL, 2)
    assert server.asked[1]["messages"][:-1] == server.asked[0]["messages"][:-1]
    copy.close()


# What is wrong from the start


def test_a_spec_makes_one(server: Served) -> None:
    made = generators.create(f'llm(base_url="{server.url}", model="small", shots=2, concurrency=4, budget=1000)')
    assert isinstance(made, Llm)
    assert (made.shots, made.options.concurrency, made.options.budget) == (2, 4, 1000)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"base_url": "localhost"}, "is no address"),
        ({"shots": -1}, "shots must be 0 or more"),
        ({"concurrency": 0}, r">= 1 - at `\$\.concurrency`"),
        ({"budget": -1.0}, r">= 0.0 - at `\$\.budget`"),
        ({"timeout": "soon"}, "does not fit"),
    ],
)
def test_arguments_that_cannot_work(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        generators.create(ComponentSpec("llm", (), {"base_url": "http://localhost:1/v1", "model": "m"} | arguments))


def test_an_unknown_argument_is_told() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'budget'"):
        generators.create('llm(base_url="http://localhost:1/v1", model=m, budgt=1)')


def test_the_options_are_those_of_the_client() -> None:
    assert Llm("http://localhost:1/v1", "m").options == Options()
    others = {name for name in inspect.signature(Llm).parameters if name not in ("base_url", "model", "shots")}
    assert others == set(Options.__struct_fields__)


def test_nobody_answers(tmp_path: Path) -> None:
    generator = Llm("http://127.0.0.1:9/v1", "m", retries=0)
    with pytest.raises(DstressError, match="not prepared"):
        generator.generate("", GOAL, 1)
    generator.prepare(resources(tmp_path), held("reminder:train"))
    with pytest.raises(DstressError, match="nobody answers"):
        generator.generate("", GOAL, 1)
    generator.close()
