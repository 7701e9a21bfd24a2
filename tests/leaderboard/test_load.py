"""A tenth of `make load` in CI, less on other machines: nothing lost, nothing scored twice, also when all is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.load import READERS, SUBMISSIONS, SUBMITTERS, Load, run_load
from tests.leaderboard.test_serve import free_port
from tests.parts import BARE, IN_CI

WHOLE = IN_CI and not BARE
SIZE = (SUBMITTERS // 10, SUBMISSIONS, READERS // 10) if WHOLE else (2, 4, 10)


def test_under_load_nothing_fails_or_is_lost(tmp_path: Path, database_url: str) -> None:
    load = Load(*SIZE)
    assert run_load(load, tmp_path, free_port(), database_url) == []
    assert len(load.accepted) == SIZE[0] * SIZE[1]


@pytest.mark.parametrize("kills", [3 if WHOLE else 1])
def test_killed_under_load_each_accepted_submission_is_scored_once(
    tmp_path: Path, database_url: str, kills: int
) -> None:
    load = Load(*SIZE, kills=kills)
    assert run_load(load, tmp_path, free_port(), database_url) == []
    assert len(load.accepted) == SIZE[0] * SIZE[1]
