"""`dstress serve` as a process, and its subcommands."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.leaderboard.settings import read_settings


def run(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["serve", "--folder", str(folder), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = free_port()
    command = [sys.executable, "-m", "dstress", "serve", "--folder", str(folder), "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx.get(f"{url}/healthz", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                time.sleep(0.1)
        yield url, process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
def test_it_starts_answers_and_stops_gracefully(tmp_path: Path, processes: str) -> None:
    """What is being answered when the signal comes is answered; the log is lines of JSON, and the exit code is 0."""
    with serving(tmp_path, "--workers", "0", "--no-example", "--processes", processes) as (url, process):
        for _ in range(20):
            assert httpx.get(f"{url}/login").status_code == 200
        for _ in range(5):  # whichever process answers, it has counted for all
            assert 'route="/login",status="200"} 20.0' in httpx.get(f"{url}/metrics").text
        body = b"x" * 100_000
        answers: list[int] = []

        def send_slowly() -> None:
            def drops() -> Iterator[bytes]:
                for start in range(0, len(body), 10_000):
                    time.sleep(0.1)
                    yield body[start : start + 10_000]

            answers.append(httpx.post(f"{url}/login", content=drops(), timeout=20).status_code)

        slow = threading.Thread(target=send_slowly)
        slow.start()
        time.sleep(0.4)
        process.send_signal(signal.SIGTERM)
        slow.join()
        _, log = process.communicate(timeout=40)
        assert answers == [403]
        assert process.returncode == 0
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert {"/healthz", "/login"} <= {line.get("path") for line in lines}
    assert all(line["level"] == "info" for line in lines), log


def test_admins_work_from_the_command_line(tmp_path: Path) -> None:
    link = run(tmp_path, "admin", "add", "Ada@Example.org", "--role", "admin").strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:8000/password/new\?link=[\w-]{43}", link)
    run(tmp_path, "admin", "add", "ben@example.org", "--name", "Ben")
    run(tmp_path, "admin", "roles", "ben@example.org", "judge", "worker")
    run(tmp_path, "admin", "disable", "ben@example.org")
    listed = json.loads(run(tmp_path, "admin", "list", "--json"))
    assert listed == [
        {"name": "Ada", "email": "ada@example.org", "roles": ["admin", "member"], "disabled": False},
        {"name": "Ben", "email": "ben@example.org", "roles": ["judge", "member", "worker"], "disabled": True},
    ]
    assert "shut out" in run(tmp_path, "admin", "list")
    run(tmp_path, "admin", "enable", "ben@example.org")
    assert "/join?invitation=" in run(tmp_path, "admin", "invite", "--role", "judge")
    assert "/password/new?link=" in json.loads(run(tmp_path, "admin", "link", "ben@example.org", "--json"))["link"]
    run(tmp_path, "admin", "delete", "ben@example.org", "--yes")
    assert "ben" not in run(tmp_path, "admin", "list")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["admin", "link", "nobody@example.org"], "nobody has the address"),
        (["admin", "add", "nobody"], "no e-mail address"),
        (["admin", "delete", "ada@example.org", "--yes"], "only admin cannot go"),
        (["--database", "mysql://x", "admin", "list"], "no database of the kind"),
        (["--database", "nonsense", "admin", "list"], "cannot be read"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: list[str], problem: str) -> None:
    run(tmp_path, "admin", "add", "ada@example.org", "--role", "admin")
    with pytest.raises(DstressError, match=problem):
        run(tmp_path, *arguments)


def test_backup_and_restore(tmp_path: Path) -> None:
    run(tmp_path / "one", "admin", "add", "ada@example.org", "--role", "admin")
    made = json.loads(run(tmp_path / "one", "backup", str(tmp_path / "b.zip"), "--json"))
    assert made["rows"]["users"] == 1
    shown = run(tmp_path / "two", "restore", str(tmp_path / "b.zip"))
    assert re.search(r"users\s+1", shown)
    assert "ada@example.org" in run(tmp_path / "two", "admin", "list")


def test_nobody_else_on_the_machine_reads_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    run(tmp_path / "server", "admin", "add", "ada@example.org")
    run(tmp_path / "server", "backup", str(tmp_path / "b.zip"))
    run(tmp_path / "restored", "restore", str(tmp_path / "b.zip"))
    made = [path for path in tmp_path.rglob("*") if path.name != "server"]
    assert {"platform.db", "b.zip", "files", "restored"} <= {path.name for path in made}
    modes = {path.name: path.stat().st_mode & 0o777 for path in made}
    assert modes == {path.name: 0o700 if path.is_dir() else 0o600 for path in made}


def test_a_link_leads_to_where_the_server_of_the_folder_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DSTRESS_URL", raising=False)
    with monkeypatch.context() as patch:
        patch.setattr("dstress.cli.serve._working", lambda *_: nullcontext())
        patch.setattr("dstress.cli.serve._serve", lambda *_: None)
        run(tmp_path, "--port", "9123")
    assert run(tmp_path, "admin", "add", "ada@example.org").startswith("http://127.0.0.1:9123/password/new?link=")
    named = run(tmp_path, "--url", "https://board.example.org", "admin", "link", "ada@example.org")
    assert named.startswith("https://board.example.org/password")


def test_settings_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_FOLDER", str(tmp_path))
    monkeypatch.setenv("DSTRESS_SESSION_DAYS", "3")
    monkeypatch.setenv("DSTRESS_SMTP", "smtp://mail")
    settings = read_settings(smtp="smtp://other")
    assert (settings.folder, settings.session_days, settings.smtp) == (tmp_path, 3, "smtp://other")
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert read_settings() == settings
    monkeypatch.setenv("DSTRESS_SESSION_DAYS", "three")
    with pytest.raises(DstressError, match="DSTRESS_SESSION_DAYS is no number"):
        read_settings()
    monkeypatch.setenv("DSTRESS_SESSION_DAYS", "3")
    monkeypatch.setenv("DSTRESS_SIGN_UP", "never")
    with pytest.raises(DstressError, match="sign-up cannot be"):
        read_settings()
