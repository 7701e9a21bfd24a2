"""Requests to hostile servers: over in time, and with a word for what went wrong."""

from __future__ import annotations

import time

import pytest

from dstress.errors import DstressError
from dstress.llm.post import Poster, Unanswered
from dstress.trackers import Failed
from dstress.trackers.http import Http
from tests.fakes.hostile_server import BROKEN, ENDLESS, hostile
from tests.trackers.serving import contexts

LATE = 20.0
"""Far more than the time-out, and far less than an answer without an end."""


@pytest.mark.parametrize("how", ENDLESS)
def test_a_timeout_holds_for_the_whole_request(how: str) -> None:
    with hostile(ENDLESS[how]) as url:
        poster = Poster(url, timeout=0.5, retries=0)
        start = time.monotonic()
        with pytest.raises(Unanswered, match=r"timeout|closed connection"):
            poster.post(b"{}")
        assert time.monotonic() - start < LATE
        poster.close()


@pytest.mark.parametrize("how", BROKEN)
def test_no_answer_of_a_hostile_server_ends_in_a_traceback(how: str) -> None:
    with hostile(BROKEN[how]) as url:
        tracker = Http(url, timeout=10, retries=0)
        try:
            [answer] = tracker.track(contexts(1))
        except DstressError:
            assert how == "a redirect to itself"
        else:
            assert isinstance(answer, Failed)
        tracker.close()
