"""The server as it is started: the example on the first start, the command line, and an end of all its processes."""

from __future__ import annotations

import json
import re
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.database import Database
from dstress.leaderboard.example import BASELINES
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import Role
from tests.leaderboard.benchmarks.servers import Served, is_running, running
from tests.paths import DOCS


def _tokens(database: Database, number: int, *roles: Role) -> list[str]:
    with database.session() as db:
        tokens = []
        for place in range(number):
            user = accounts.add_user(db, f"p{place}@example.org", f"P{place}", *roles)
            accounts.make_team(db, user, f"Team {place}")
            tokens.append(accounts.make_token(db, user, "test"))
        return tokens


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_from_the_command_line(served: Served, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a benchmark, download its inputs, submit, and read the board."""
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
    with pytest.raises(DstressError, match="answers of submission"):
        call("submit", "--tracker", "rules", "--to", address, "--system", "Rules")
    monkeypatch.setenv("DSTRESS_TOKEN", "dst_wrong")
    with pytest.raises(DstressError, match="valid token"):
        call("submit", "--tracker", "rules", "--to", address, "--system", "Rules")


@pytest.mark.slow
def test_a_server_ends_with_its_workers(tmp_path: Path) -> None:
    with running(tmp_path / "server", "", "--no-example") as served:
        _await(lambda: bool(served.workers()))
        workers = served.workers()
    assert served.process is not None
    assert served.process.returncode in (0, -signal.SIGTERM)
    assert not any(map(is_running, workers))
