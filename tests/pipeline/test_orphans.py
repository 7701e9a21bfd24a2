"""Whatever ends a run, ends its workers and programs: real processes, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import SEARCHED

PROGRAM = """
import os, sys, time
open(os.path.join(sys.argv[1], f"pid-{os.getpid()}"), "w").close()
time.sleep(300)
"""
TRACKER = """
import os, time
from pathlib import Path
from dstress.trackers import Tracker

class Slow(Tracker):
    def track(self, contexts):
        (Path(__file__).parent / f"pid-{os.getpid()}").touch()
        time.sleep(300)
"""


def alive(pid: int) -> bool:
    """Whether it runs; what has ended and is not yet fetched does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(shown) and not shown.startswith("Z")


def wait_until(what: object, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def default_hangup() -> Iterator[None]:
    """New programs take SIGHUP as usual, also where the tests run under `nohup`, whose ignored SIGHUP they inherit."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)  # not inherited: a new program starts with the default
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.usefixtures("default_hangup")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize(("kind", "workers"), [("command", 1), ("command", 2), ("class", 1), ("class", 2)])
def test_nothing_is_left_behind(how: signal.Signals, kind: str, workers: int, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "slow_tracker.py").write_text(TRACKER)
    (tmp_path / "plain.toml").write_text('title = "Plain"\nmetrics = ["jga"]\n')
    program = f"{sys.executable} -S {tmp_path}/program.py {tmp_path}"
    tracker = f'command("{program}", batch=2)' if kind == "command" else "slow_tracker:Slow"
    arguments = ["run", "plain.toml", "--tracker", tracker, "--corpus", "reminder:test", "--limit", "20"]

    def started() -> list[int]:
        return [int(path.name.removeprefix("pid-")) for path in tmp_path.glob("pid-*")]

    with subprocess.Popen(
        [sys.executable, "-m", "dstress", *arguments, "--out", "run", "--workers", str(workers)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": SEARCHED},
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as process:
        try:
            assert wait_until(lambda: len(started()) == workers)
            process.send_signal(how)
            process.communicate(timeout=60)
            assert process.returncode == (-how if how == signal.SIGKILL else 128 + how)
            assert wait_until(lambda: not any(map(alive, started())), 20)
        finally:
            process.kill()
            for pid in filter(alive, started()):
                os.kill(pid, signal.SIGKILL)
