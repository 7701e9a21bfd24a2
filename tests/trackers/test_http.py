"""The `http` tracker against a real server that misbehaves in every way a server does."""

from __future__ import annotations

import json
import pickle
import socket
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dstress.errors import DstressError, SpecError
from dstress.llm import post as posting
from dstress.predictions.base import Prediction
from dstress.trackers import Failed, create
from dstress.trackers.base import Context
from dstress.trackers.http import Http
from dstress.trackers.wire import schema_data
from tests.trackers import serving
from tests.trackers.serving import SCHEMA, Served, contexts, dialogue, status


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "FIRST_WAIT", 0.01)


@pytest.fixture
def server() -> Iterator[Served]:
    with serving.serving(serving.north, "/track") as served:
        yield served


@pytest.fixture
def tracker(server: Served) -> Iterator[Http]:
    made = Http(server.url, timeout=0.7, retries=1)
    yield made
    made.close()


def right(count: int = 4) -> list[dict[str, str]]:
    return [{"hotel-area": "north", "taxi-to": f"turn {n} in the north"} for n in range(count)]


def reasons(answers: object) -> list[str]:
    return [answer.reason for answer in answers if isinstance(answer, Failed)]  # type: ignore[attr-defined]


def test_a_server_sees_the_dialogue_and_no_labels(server: Served, tracker: Http) -> None:
    assert tracker.track(contexts(3)) == right(3)
    [asked] = server.asked
    assert asked["schema"] == json.loads(msgspec.json.encode(schema_data(SCHEMA)))
    assert asked["schema"]["services"][0]["slots"][0] == {
        "id": "hotel-area",
        "name": "area",
        "description": "Part of town",
        "categorical": True,
        "values": ["north", "south"],
    }
    assert asked["contexts"][2] == {
        "dialogue": "d1",
        "turn": 2,
        "services": ["hotel"],
        "history": [
            {"system": "", "user": "turn 0 in the north"},
            {"system": "reply 1", "user": "turn 1 in the north"},
        ],
        "system": "reply 2",
        "user": "turn 2 in the north",
    }


def test_a_sequential_server_sees_its_previous_answer(server: Served) -> None:
    tracker = Http(server.url, sequential=True)
    tracker.track([Context(dialogue(), 1, SCHEMA, {"taxi-to": "x"})])
    tracker.close()
    assert server.asked[0]["contexts"][0]["previous"] == {"taxi-to": "x"}


@pytest.mark.parametrize(
    "trick",
    [status(429), status(500), status(503, b"<html>"), serving.hang_up, serving.half, serving.slow(1.0), serving.drip],
    ids=["429", "500", "503", "hang up", "half", "slow", "drip"],
)
def test_what_passes_is_tried_again(server: Served, tracker: Http, trick: Any) -> None:
    server.plays = [trick]
    assert tracker.track(contexts()) == right()
    assert tracker.usage() == {"requests": 2.0, "retries": 1.0}
    assert tracker.usage() == {"requests": 0.0, "retries": 0.0}


def test_a_server_that_asks_for_patience_gets_it(server: Served, tracker: Http) -> None:
    server.plays = [status(429, Retry_After="1")]
    start = time.monotonic()
    assert tracker.track(contexts()) == right()
    assert time.monotonic() - start >= 1.0


@pytest.mark.parametrize(
    ("trick", "reason"),
    [
        (status(429), "busy: 429 trick 429"),
        (status(500), "server error: 500 trick 500"),
        (status(500, b"oh\nno"), "server error: 500 oh no"),
        (status(400, {"detail": "too long"}), "refused: 400 too long"),
        (serving.garbage, "malformed: no JSON"),
        (status(200, {"states": []}), "malformed: no list of answers"),
        (status(200, {"answers": [{"state": {}}] * 9}), "malformed: 9 answers to 1 turns"),
        (serving.hang_up, "closed connection"),
        (serving.half, "closed connection"),
        (serving.slow(1.0), "timeout: no whole answer in 0.7 seconds"),
        (serving.drip, "timeout: no whole answer in 0.7 seconds"),
    ],
)
def test_what_stays_fails_with_a_category(server: Served, tracker: Http, trick: Any, reason: str) -> None:
    server.always = trick
    [answer] = tracker.track(contexts(1))
    assert isinstance(answer, Failed)
    assert answer.reason.startswith(reason)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({}, "malformed: no answer: {}"),
        ("hello", "malformed: no answer: 'hello'"),
        ({"state": ["north"]}, "malformed: ['north'] is no state"),
        ({"state": {"hotel-area": [["a"]]}}, "malformed: the value of hotel-area is no text: [['a']]"),
        ({"state": {"hotel-parking": True}}, "malformed: the value of hotel-parking is no text: True"),
        ({"state": {}, "turn": 7}, "malformed: an answer to dialogue None, turn 7, which was not asked for now"),
        ({"state": {}, "intent": 7}, "malformed: Expected `str | null`, got `int` - at `$.intent`"),
        ({"failed": "out of memory"}, "out of memory"),
    ],
)
def test_one_bad_answer_is_one_failed_turn(server: Served, tracker: Http, told: Any, reason: str) -> None:
    server.always = status(200, {"answers": [{"state": {"hotel-area": "north"}}, told]})
    assert tracker.track(contexts(2)) == [{"hotel-area": "north"}, Failed(reason)]
    assert len(server.asked) == 1


def test_numbers_are_texts_and_null_is_nothing(server: Served, tracker: Http) -> None:
    server.always = status(200, {"answers": [{"state": {"taxi-to": 4, "hotel-area": None}}]})
    assert tracker.track(contexts(1)) == [{"taxi-to": "4"}]


def test_an_answer_may_say_more_than_a_state(server: Served, tracker: Http) -> None:
    told = {"state": {}, "intent": "book", "requested": ["area"], "response": "Sure.", "ood": True, "dialogue": "d1"}
    server.always = status(200, {"answers": [told]})
    assert tracker.track(contexts(1)) == [
        Prediction("d1", 0, {}, intent="book", requested=("area",), response="Sure.", ood=True)
    ]


@pytest.mark.parametrize("trick", [status(500), serving.garbage, serving.slow(1.0)], ids=["500", "garbage", "slow"])
def test_a_turn_that_breaks_its_batch_fails_alone(server: Served, tracker: Http, trick: Any) -> None:
    behave = server.handle

    def handle(request: Any) -> None:
        body = request.rfile.peek()
        server.plays = [trick] if b'"turn":5,' in body else []
        behave(request)

    server.handle = handle  # type: ignore[method-assign]
    answers = tracker.track(contexts(8))
    assert len(reasons([answers[5]])) == 1
    assert [*answers[:5], *answers[6:]] == [*right(8)[:5], *right(8)[6:]]


def test_a_server_that_hangs_is_not_asked_for_ever(server: Served) -> None:
    server.always = serving.slow(0.3)
    tracker = Http(server.url, timeout=0.05, retries=0)
    assert len(reasons(tracker.track(contexts(32)))) == 32
    tracker.close()
    assert len(server.asked) == 3


def unused_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_server_that_was_never_there_stops_the_run() -> None:
    tracker = Http(f"http://127.0.0.1:{unused_port()}/", retries=1)
    with pytest.raises(DstressError, match="nobody answers") as caught:
        tracker.track(contexts())
    assert "start the server" in str(caught.value)
    tracker.close()


@pytest.mark.parametrize(("code", "problem"), [(401, "not let in"), (404, "a wrong address"), (307, "a wrong address")])
def test_a_wrong_address_or_key_stops_the_run_if_it_never_worked(
    server: Served, tracker: Http, code: int, problem: str
) -> None:
    server.plays = [status(code)]
    with pytest.raises(DstressError, match=problem):
        tracker.track(contexts())
    assert tracker.track(contexts()) == right()
    server.always = status(code)
    assert reasons(tracker.track(contexts(1))) == [f"refused: {code} trick {code}"]


def test_a_request_that_is_always_refused_stops_the_run(server: Served, tracker: Http) -> None:
    server.always = status(422, {"detail": "no such field"})
    with pytest.raises(DstressError, match=r"8 requests refused and none answered; the last: 422 no such field"):
        tracker.track(contexts(32))


def test_a_server_that_goes_away_is_met_with_less_patience() -> None:
    with serving.serving(serving.north) as server:
        tracker = Http(server.url, timeout=1, retries=2)
        assert tracker.track(contexts()) == right()
    assert {reason.partition(":")[0] for reason in reasons(tracker.track(contexts(8)))} == {"unreachable"}
    tracker.usage()
    assert len(reasons(tracker.track(contexts(8)))) == 8
    assert tracker.usage() == {"requests": 1.0, "retries": 0.0}
    tracker.close()


def test_it_travels_before_and_after_it_worked(server: Served, tracker: Http) -> None:
    assert tracker.track(contexts(1)) == right(1)
    again = pickle.loads(pickle.dumps(tracker))
    assert again.track(contexts(1)) == right(1)
    again.close()
    tracker.close()
    assert tracker.track(contexts(1)) == right(1)


def test_its_fingerprint_is_what_answers() -> None:
    def found(text: str) -> str:
        return create(text).fingerprint()

    same = found('http("http://h/a")')
    assert same == found('http(url="http://h/a", batch=4, timeout=1, retries=9)')
    others = ['http("http://h/b")', 'http("http://h/a", sequential=true)', 'http("http://h/a", version=two)']
    assert len({same, *map(found, others)}) == 4


@pytest.mark.parametrize(
    "text",
    [
        'http("ftp://h/a")',
        "http(localhost)",
        'http("http://me:geheim@h/a")',
        'http("http://h/a", batch=0)',
        'http("http://h/a", timeout=0)',
        'http("http://h:port/")',
    ],
)
def test_what_cannot_work_is_refused_at_once(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        create(text)
    assert "geheim" not in str(caught.value)
