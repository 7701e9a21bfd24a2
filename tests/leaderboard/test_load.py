"""A small `make load`: nothing lost, nothing scored twice, also when all is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.load import Load, run_load
from tests.leaderboard.test_serve import free_port

SIZE = (3, 4, 10)
"""Submitters, submissions of each, and readers."""


def bear(load: Load, folder: Path, database_url: str) -> list[str]:
    """What goes wrong under a load. In a thread of its own, since a browser of other tests may hold this one's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run_load, load, folder, free_port(), database_url).result()


@pytest.mark.slow
def test_under_load_nothing_fails_or_is_lost(tmp_path: Path, database_url: str) -> None:
    load = Load(*SIZE)
    assert bear(load, tmp_path, database_url) == []
    assert len(load.accepted) == SIZE[0] * SIZE[1]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 8.0])
def test_a_load_that_is_stopped_stops_its_server(seconds: float) -> None:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.load", "--share", "0.02", "--port", str(port)]
    load = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    load.terminate()
    assert load.wait(60) != 0
    for _ in range(100):
        if not any(str(port).encode() in line for line in map(command_line, Path("/proc").glob("[0-9]*"))):
            return
        time.sleep(0.2)
    pytest.fail("the server goes on")


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
def test_killed_under_load_each_accepted_submission_is_scored_once(tmp_path: Path, database_url: str) -> None:
    load = Load(*SIZE, kills=2)
    assert bear(load, tmp_path, database_url) == []
    assert len(load.accepted) == SIZE[0] * SIZE[1]
