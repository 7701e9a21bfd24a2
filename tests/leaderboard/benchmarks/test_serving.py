"""The server as it is started: the example on the first start, the command line, and what kill -9 costs: nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import msgspec
import pytest
from click.testing import CliRunner
from sqlalchemy import func, select

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.leaderboard import accounts
from dstress.leaderboard.benchmark_store import find_benchmark
from dstress.leaderboard.database import Database
from dstress.leaderboard.example import BASELINES
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables.accounts import Role
from dstress.leaderboard.tables.benchmarks import DONE, StoredResult, Submission
from dstress.predictions import read_predictions, write_predictions
from tests.leaderboard.benchmarks.servers import Served, is_running, running
from tests.paths import DOCS

SUBMITTERS, EACH = 3, 4


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """A server's folder on the disk, where its processes find it."""
    return Settings(folder=tmp_path / "server", database=database_url)


def _tokens(database: Database, number: int, *roles: Role) -> list[str]:
    with database.session() as db:
        tokens = []
        for place in range(number):
            user = accounts.add_user(db, f"p{place}@example.org", f"P{place}", *roles)
            accounts.make_team(db, user, f"Team {place}")
            tokens.append(accounts.make_token(db, user, "test"))
        return tokens


def test_every_accepted_submission_is_scored_once_whatever_is_killed(
    benchmark: str, database: Database, settings: Settings, answers: dict[str, Path], tmp_path: Path
) -> None:
    """Submitters go on while server and workers are killed under them, several times."""
    with database.session() as db:
        find_benchmark(db, benchmark).daily_limit = 1000  # type: ignore[union-attr]
    tokens = _tokens(database, SUBMITTERS)
    accepted: list[int] = []
    served = Served(settings.folder, settings.database, "--no-example")

    def hand_in(place: int) -> None:
        for number in range(EACH):
            path = tmp_path / f"{place}-{number}.jsonl"
            own = [
                msgspec.structs.replace(one, state=one.state | {"trip-to": f"{place} {number}"})
                for one in read_predictions(answers["rules"])
            ]
            write_predictions(own, path)
            while True:
                try:
                    answer = httpx.post(
                        f"{served.url}/api/v1/benchmarks/{benchmark}/submissions",
                        headers={"Authorization": f"Bearer {tokens[place]}"},
                        data={"system": f"S{number}"},
                        files={"answers": (path.name, path.read_bytes())},
                        timeout=60,
                    )
                except httpx.HTTPError:  # the server was killed; whether it had taken the answers nobody knows
                    time.sleep(0.3)
                    continue
                if answer.status_code == 201:
                    accepted.append(answer.json()["id"])
                elif "word for word" not in answer.text:
                    raise AssertionError(answer.text)
                break

    served.start()
    try:
        threads = [threading.Thread(target=hand_in, args=(place,)) for place in range(SUBMITTERS)]
        for thread in threads:
            thread.start()
        for round_ in range(2):
            _await(lambda wanted=2 * round_ + 1: _count(database, StoredResult) >= wanted)
            for worker in served.workers():
                os.kill(worker, signal.SIGKILL)
            time.sleep(1.5)
            orphans = served.workers()
            served.kill()
            served.start()
            _await(lambda orphans=orphans: not any(map(is_running, orphans)))
        for thread in threads:
            thread.join()
        _await(lambda: _count(database, StoredResult) == _count(database, Submission))
    finally:
        served.stop()
    with database.session(write=False) as db:
        rows = {row.id: row for row in db.scalars(select(Submission))}
        assert set(accepted) <= set(rows)
        assert len(rows) == SUBMITTERS * EACH
        assert {row.state for row in rows.values()} == {DONE}
        assert sorted(db.scalars(select(StoredResult.submission_id))) == sorted(rows)


def _count(database: Database, table: type[StoredResult] | type[Submission]) -> int:
    with database.session(write=False) as db:
        return db.scalar(select(func.count()).select_from(table)) or 0


def _await(condition: Callable[[], bool], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on its first start, as the README starts it."""
    with running(tmp_path_factory.mktemp("served") / "server") as made:
        made.await_page("/", "Reminder, quick look")
        yield made


def _database(served: Served) -> Database:
    return Database(Settings(folder=served.folder).database_url)


@pytest.fixture(scope="module")
def token(served: Served) -> str:
    """Of an organiser with a team."""
    return _tokens(_database(served), 1, Role.ORGANISER)[0]


def call(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_examples_of_the_page_print_what_they_say(
    served: Served, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSTRESS_TOKEN", token)
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "platform" / "benchmarks.md").read_text("utf-8").replace("http://127.0.0.1:8000", served.url)
    examples = re.findall(r"^```\n\$ dstress (.+)\n((?:(?!```).*\n)*)```", page, re.MULTILINE)
    assert len(examples) == 4
    for command, expected in examples:
        assert call(*shlex.split(command)).split() == expected.split(), command


def test_a_first_start_shows_an_example_with_baselines(served: Served) -> None:
    page = httpx.get(f"{served.url}/benchmarks/reminder-quick-look").text
    for name in BASELINES:
        assert f">{name}<" in page
    board = httpx.get(f"{served.url}/api/v1/benchmarks/reminder-quick-look/leaderboard").json()
    values = [one["scores"]["Avg."]["value"] for one in board["systems"]]
    assert values == sorted(values, reverse=True)
    assert values[-1] == 0


def test_from_the_command_line(served: Served, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a benchmark, download its inputs, hand in, and read the board."""
    monkeypatch.setenv("DSTRESS_TOKEN", token)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    call(
        "benchmark", "create", "quick", "--corpus", "reminder:dev", "--limit", "2", "--title", "Two", "--to", served.url
    )
    address = f"{served.url}/benchmarks/two"
    assert "two" in call("benchmark", "list", served.url)
    call("benchmark", "download", address, "--layout", "unified")
    assert (tmp_path / "two-unified.zip").exists()
    made = json.loads(call("submit", "--tracker", "rules", "--to", address, "--system", "Rules", "--publish", "--json"))
    assert (made["state"], made["scores"]["cells"]["jga"][0]["column"]) == ("done", "Avg.")
    assert "Rules" in call("benchmark", "leaderboard", address)
    with pytest.raises(DstressError, match="word for word"):
        call("submit", "--tracker", "rules", "--to", address, "--system", "Rules")
    monkeypatch.setenv("DSTRESS_TOKEN", "dst_wrong")
    with pytest.raises(DstressError, match="valid token"):
        call("submit", "--tracker", "rules", "--to", address, "--system", "Rules")


def test_a_server_ends_with_its_workers(tmp_path: Path) -> None:
    with running(tmp_path / "server", "", "--no-example") as served:
        _await(lambda: bool(served.workers()))
        workers = served.workers()
    assert served.process is not None
    assert served.process.returncode in (0, -signal.SIGTERM)
    assert not any(map(is_running, workers))
