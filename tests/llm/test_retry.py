"""The retry loop: how often, how long between, and what ends it."""

from __future__ import annotations

import threading

import pytest

from dstress.llm.post import NotNow, Poster, Unanswered, read_retry_after, retry
from tests.trackers import serving
from tests.trackers.serving import status


class Busy(NotNow):
    def __init__(self, wait: float = 0.0) -> None:
        super().__init__("busy", "", wait=wait)


def waits(troubles: list[Exception], tries: int) -> tuple[str, list[float]]:
    """What comes of it, and the waits on the way."""
    paused: list[float] = []

    def attempt() -> str:
        if troubles:
            raise troubles.pop(0)
        return "answer"

    try:
        return retry(attempt, tries, paused.append), paused
    except Exception as error:
        return type(error).__name__, paused


def test_waits_grow_up_to_the_longest() -> None:
    assert waits([Busy() for _ in range(9)], 10) == ("answer", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0])


def test_a_longer_wait_that_the_server_asks_for_is_granted() -> None:
    assert waits([Busy(7.0), Busy(0.1)], 3) == ("answer", [7.0, 1.0])


def test_after_the_last_try_nobody_waits() -> None:
    assert waits([Busy() for _ in range(3)], 3) == ("Busy", [0.5, 1.0])
    assert waits([Busy()], 1) == ("Busy", [])


def test_what_does_not_pass_is_not_tried_again() -> None:
    assert waits([Busy(), ValueError()], 9) == ("ValueError", [0.5])


def test_a_stop_ends_the_waiting_at_once() -> None:
    with serving.serving(serving.north, "/track") as server:
        server.always = status(503, Retry_After="60")
        poster = Poster(server.url, timeout=5, retries=3)
        timer = threading.Timer(0.2, poster.stop)
        timer.start()
        with pytest.raises(Unanswered, match="told to stop"):
            poster.post(b"{}")
        assert poster.take_retries() == 1 and len(server.asked) == 1
        timer.join()
        poster.close()


def test_retry_after_is_read_in_either_form() -> None:
    assert read_retry_after("7") == 7.0
    assert [read_retry_after(header) for header in ("", "soon", "-3", "nan")] == [0.0] * 4
    assert read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert read_retry_after("Wed, 21 Oct 2215 07:28:00 GMT") == read_retry_after("99999") == 300.0
