"""The local engine: the same results however many workers, and whatever happens to them."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from dstress.engines import Job, Local
from dstress.engines.base import cores
from dstress.errors import DstressError


class Doubling(Job):
    """Doubles numbers, a few at a time; on some it dies, hangs or raises, once or always."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def run(self, piece: bytes) -> bytes:
        return b" ".join(self._one(word) for word in piece.split())

    def _one(self, word: bytes) -> bytes:
        if word == b"die":
            os._exit(1)
        if word == b"die-once" and self._first_time("died"):
            os._exit(1)
        if word == b"hang":
            time.sleep(60)
        if word == b"mistake":
            raise DstressError("a person's mistake", fix="mend it")
        if word == b"bug":
            raise ZeroDivisionError("ours")
        return word if word.startswith(b"die") else str(2 * int(word)).encode()

    def _first_time(self, what: str) -> bool:
        try:
            (self.folder or Path()).joinpath(what).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def parts(self, piece: bytes) -> list[bytes]:
        return piece.split()

    def lost(self, piece: bytes, reason: str) -> bytes:
        return b"lost: " + reason.encode()


class Stubborn(Doubling):
    """Cannot do without any piece."""

    def lost(self, piece: bytes, reason: str) -> bytes | None:
        return None


PIECES = [b"1 2 3", b"4", b"5 6", b"7", b"8 9"]
ENGINES = [Local(), Local(1, timeout=30), Local(2), Local(3)]


def answers(engine: Local, pieces: list[bytes], job: Job | None = None) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for number, result in engine.process(job or Doubling(), pieces):
        found.setdefault(number, []).append(result)
    return {number: sorted(results) for number, results in sorted(found.items())}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_every_piece_once(engine: Local) -> None:
    expected = {0: [b"2 4 6"], 1: [b"8"], 2: [b"10 12"], 3: [b"14"], 4: [b"16 18"]}
    assert answers(engine, PIECES) == expected
    assert list(engine.in_order(Doubling(), PIECES)) == [b"2 4 6", b"8", b"10 12", b"14", b"16 18"]


def test_a_worker_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    found = answers(Local(2), [b"1", b"die-once 2", b"3"], Doubling(tmp_path))
    assert found == {0: [b"2"], 1: [b"4", b"die-once"], 2: [b"6"]}


def test_only_the_part_that_kills_is_lost() -> None:
    found = answers(Local(2), [b"1 die 2", b"3"])
    assert found == {0: [b"2", b"4", b"lost: the worker process died"], 1: [b"6"]}


def test_only_the_part_that_hangs_is_lost() -> None:
    assert answers(Local(2, timeout=2), [b"1 hang", b"3"]) == {0: [b"2", b"lost: it took too long"], 1: [b"6"]}


def test_a_job_that_needs_all_says_so() -> None:
    with pytest.raises(DstressError, match="the worker process died, again and again"):
        answers(Local(2), [b"die", b"1"], Stubborn())


@pytest.mark.parametrize("engine", [Local(), Local(2)])
def test_mistakes_and_bugs_come_through(engine: Local) -> None:
    with pytest.raises(DstressError, match="a person's mistake\n  fix: mend it"):
        answers(engine, [b"mistake"])
    with pytest.raises(ZeroDivisionError, match="ours"):
        answers(engine, [b"bug"])


def test_workers_end_with_the_work() -> None:
    others = set(multiprocessing.active_children())  # of tests before it, such as a server's
    results = Local(2).process(Doubling(), [b"1"] * 100)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.parametrize(("workers", "timeout"), [(0, None), (1, 0), (1, -3)])
def test_nonsense_is_refused(workers: int, timeout: float | None) -> None:
    with pytest.raises(DstressError):
        Local(workers, timeout)


class Process(Job):
    """Tells which process works, and how often it has opened the job."""

    opened = 0

    def open(self) -> None:
        self.opened += 1

    def run(self, piece: bytes) -> bytes:
        return f"{os.getpid()} {self.opened}".encode()


def test_workers_serve_one_job_after_the_other_while_they_are_joined() -> None:
    engine, others = Local(2), set(multiprocessing.active_children())
    with engine.joined():
        first, second = (sorted(engine.in_order(Process(), [b""] * 8)) for _ in range(2))
        assert {said.split()[1] for said in (*first, *second)} == {b"1"}  # each job is opened anew
        assert len({said.split()[0] for said in (*first, *second)}) <= 2
        assert len(set(multiprocessing.active_children()) - others) == 2
        assert answers(engine, [b"1 die 2", b"3"]) == {0: [b"2", b"4", b"lost: the worker process died"], 1: [b"6"]}
        assert list(engine.in_order(Process(), [b""]))  # a worker that died is replaced
    assert set(multiprocessing.active_children()) <= others


class Threads(Job):
    """Tells how many threads its process may use for its numbers, from its start: a library may look before any job."""

    def run(self, piece: bytes) -> bytes:
        variables = Path("/proc/self/environ").read_bytes().split(b"\0")
        return next(each.partition(b"=")[2] for each in variables if each.startswith(b"OMP_NUM_THREADS="))


def test_workers_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = list(Local(workers=2).process(Threads(), [b"", b""]))
    assert [int(threads) for _, threads in found] == [max(1, cores() // 2)] * 2
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "7")  # whoever says it, knows it better
    assert [threads for _, threads in Local(workers=2).process(Threads(), [b""])] == [b"7"]
