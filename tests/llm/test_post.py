"""Requests to hostile servers: over in time, and with a word for what went wrong, whoever asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dstress.errors import DstressError
from dstress.stressors.translators import translators
from dstress.trackers import Failed, trackers
from tests.fakes.hostile_server import BROKEN, ENDLESS, hostile
from tests.trackers.serving import contexts, resources

LATE = 20.0
"""Far more than the time-out, and far less than an answer without an end."""


def track(spec: str, folder: Path) -> bool:
    tracker = trackers.create(spec)
    tracker.prepare(resources(folder))
    try:
        return any(not isinstance(answer, Failed) for answer in tracker.track(contexts(1)))
    finally:
        tracker.close()


def ask_http(url: str, timeout: float, folder: Path) -> bool:
    """Whether a server at that address has given an answer; so each."""
    return track(f'http(url="{url}", timeout={timeout}, retries=0)', folder)


def ask_llm(url: str, timeout: float, folder: Path) -> bool:
    return track(f'llm(model=m, base_url="{url}", timeout={timeout}, retries=0)', folder)


def ask_translator(url: str, timeout: float, folder: Path) -> bool:
    translator = translators.create(f'http(url="{url}", timeout={timeout}, retries=0)')
    try:
        return translator.translate(["yes"], "en", "fr") != [[]]
    finally:
        translator.close()


ASKING = [ask_http, ask_llm, ask_translator]


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize("how", ENDLESS)
def test_a_timeout_holds_for_the_whole_request(
    how: str, ask: Callable[[str, float, Path], bool], tmp_path: Path
) -> None:
    with hostile(ENDLESS[how]) as url:
        start = time.monotonic()
        try:
            assert not ask(url, 0.5, tmp_path)
        except DstressError as error:
            assert how == "TLS in drops" and "nobody answers" in str(error)
        assert time.monotonic() - start < LATE


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize("how", BROKEN)
def test_no_answer_of_a_hostile_server_ends_in_a_traceback(
    how: str, ask: Callable[[str, float, Path], bool], tmp_path: Path
) -> None:
    with hostile(BROKEN[how]) as url:
        try:
            assert not ask(url, 10, tmp_path)
        except DstressError:
            assert how == "a redirect to itself"
