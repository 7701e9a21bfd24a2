"""A tenth of `make load` in CI, less on other machines: nothing lost, nothing scored twice, also when all is killed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.load import READERS, SUBMISSIONS, SUBMITTERS, Load, run_load
from tests.leaderboard.test_serve import free_port
from tests.parts import BARE, IN_CI

WHOLE = IN_CI and not BARE
SIZE = (SUBMITTERS // 10, SUBMISSIONS, READERS // 10) if WHOLE else (2, 4, 10)


def bear(load: Load, folder: Path, database_url: str) -> list[str]:
    """What goes wrong under a load. In a thread of its own, since a browser of other tests may hold this one's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run_load, load, folder, free_port(), database_url).result()


def test_under_load_nothing_fails_or_is_lost(tmp_path: Path, database_url: str) -> None:
    load = Load(*SIZE)
    assert bear(load, tmp_path, database_url) == []
    assert len(load.accepted) == SIZE[0] * SIZE[1]


@pytest.mark.parametrize("kills", [3 if WHOLE else 1])
def test_killed_under_load_each_accepted_submission_is_scored_once(
    tmp_path: Path, database_url: str, kills: int
) -> None:
    load = Load(*SIZE, kills=kills)
    assert bear(load, tmp_path, database_url) == []
    assert len(load.accepted) == SIZE[0] * SIZE[1]
