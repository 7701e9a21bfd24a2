"""The lock is never held twice, however the processes interleave; and a killed holder frees it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dstress.errors import DstressError
from dstress.storage.lock import only_one

REFUSED = DstressError("somebody else is at work", fix="wait")

_CONTENDER = """
import os, sys
from pathlib import Path
from dstress.errors import DstressError
from dstress.storage.lock import only_one

lock, witness = Path(sys.argv[1]), Path(sys.argv[2])
times = 0
while times < 200:
    try:
        with only_one(lock, DstressError("refused")):
            os.close(os.open(witness, os.O_CREAT | os.O_EXCL))  # fails if another is inside
            times += 1
            witness.unlink()
    except DstressError:
        pass
"""

_PAUSED_BEFORE_LOCKING = """
import fcntl, sys
from pathlib import Path
from dstress.errors import DstressError
from dstress.storage.lock import only_one

really_lock = fcntl.flock

def flock(*arguments):
    if arguments[1] & fcntl.LOCK_EX:
        print("opened", flush=True)
        sys.stdin.readline()
    really_lock(*arguments)

fcntl.flock = flock
try:
    with only_one(Path(sys.argv[1]), DstressError("refused")):
        print("holds", flush=True)
        sys.stdin.readline()
except DstressError as error:
    print(error, flush=True)
"""


@contextmanager
def process(code: str, *arguments: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def line_of(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


def let_go_on(started: subprocess.Popen[str]) -> None:
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()


def test_a_second_holder_is_refused_with_the_message_it_was_given(tmp_path: Path) -> None:
    lock = tmp_path / "deep" / "x.lock"
    with only_one(lock, REFUSED), pytest.raises(DstressError) as caught, only_one(lock, REFUSED):
        pass
    assert caught.value is REFUSED
    with only_one(lock, REFUSED):
        pass
    assert lock.exists()


def test_whatever_happens_inside_frees_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), only_one(tmp_path / "x.lock", REFUSED):
        raise RuntimeError
    with only_one(tmp_path / "x.lock", REFUSED):
        pass


def test_processes_in_a_tight_loop_are_never_inside_together(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _CONTENDER, str(tmp_path / "x.lock"), str(tmp_path / "inside")]
    contenders = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    complaints = [contender.communicate(timeout=120)[1] for contender in contenders]
    assert complaints == [""] * 4 and [contender.returncode for contender in contenders] == [0] * 4


def test_one_that_was_paused_between_opening_and_locking_finds_it_held(tmp_path: Path) -> None:
    """The interleaving that gave the old lock, which was unlinked on release, two holders."""
    lock = tmp_path / "x.lock"
    with process(_PAUSED_BEFORE_LOCKING, lock) as paused:
        with only_one(lock, REFUSED):
            assert line_of(paused) == "opened"
        with only_one(lock, REFUSED):  # the next holder, with what may be another file
            let_go_on(paused)
            assert line_of(paused) == "refused"
        assert paused.wait(timeout=60) == 0


def test_one_that_was_paused_and_then_locks_keeps_others_out(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    with process(_PAUSED_BEFORE_LOCKING, lock) as paused:
        with only_one(lock, REFUSED):
            assert line_of(paused) == "opened"
        let_go_on(paused)
        assert line_of(paused) == "holds"
        with pytest.raises(DstressError, match="somebody else"), only_one(lock, REFUSED):
            pass
        let_go_on(paused)
        assert paused.wait(timeout=60) == 0
    with only_one(lock, REFUSED):
        pass


def test_a_killed_holder_frees_it(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    with process(_PAUSED_BEFORE_LOCKING, lock) as holder:
        assert line_of(holder) == "opened"
        let_go_on(holder)
        assert line_of(holder) == "holds"
        with pytest.raises(DstressError), only_one(lock, REFUSED):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        with only_one(lock, REFUSED):
            pass
