"""Scoring on a real Ray cluster, shared out by a real worker: the same numbers, also when an actor is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from dstress.leaderboard.jobs import JobStore
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import DONE, WAITING, StoredResult, Submission
from tests.fakes.processes import kill_actor_of
from tests.leaderboard.clients import Client
from tests.parts import need
from tests.paths import SEARCHED


@contextmanager
def worker_on_ray(settings: Settings) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "dstress", "serve", "worker", "--engine", "ray(workers=1)", "--at-once", "2"]
    environment = {**os.environ, **settings.environment(), "PYTHONPATH": SEARCHED}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_cluster_scores_each_submission_once(
    member: Client,
    hand_in: Callable[..., Any],
    answers: dict[str, Path],
    store: JobStore,
    settings: Settings,
    do_work: Callable[[], int],
) -> None:
    need("ray")
    for name, path in answers.items():
        assert hand_in(member, path, name).status_code == 201
    assert do_work() == 2
    with store.database.session() as db:
        expected = {row.submission_id: (row.results, row.statistics) for row in db.scalars(select(StoredResult))}
        for row in db.scalars(select(StoredResult)):
            db.delete(row)
        db.execute(update(Submission).values(state=WAITING, attempts=0))
    with worker_on_ray(settings) as process:
        killed, deadline = False, time.monotonic() + 120
        while time.monotonic() < deadline:
            killed = killed or kill_actor_of(process.pid)
            with store.database.session(write=False) as db:
                if not db.scalar(select(func.count()).where(Submission.state == WAITING)):
                    break
            time.sleep(0.02)
        process.terminate()
        _, log = process.communicate(timeout=60)
    assert (killed, process.returncode) == (True, 0), log
    with store.database.session(write=False) as db:
        assert {row.state for row in db.scalars(select(Submission))} == {DONE}
        found = {row.submission_id: (row.results, row.statistics) for row in db.scalars(select(StoredResult))}
    assert found == expected
    assert [log.count(f"job submissions {number} done") for number in expected] == [1, 1]
