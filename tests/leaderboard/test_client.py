"""`dstress submit` and `dstress benchmark` against servers that are none, or mean it badly."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path

import pytest

from dstress.cli.main import main
from dstress.errors import DstressError
from dstress.leaderboard import client
from dstress.leaderboard.client import Platform
from tests.fakes.hostile_server import BROKEN, ENDLESS, body, hostile

COMMANDS = [
    ["benchmark", "list", "{}"],
    ["benchmark", "leaderboard", "{}/benchmarks/winter"],
    ["benchmark", "download", "{}/benchmarks/winter"],
    ["benchmark", "delete", "--yes", "{}/benchmarks/winter"],
    ["submit", "answers.jsonl", "--to", "{}/benchmarks/winter", "--system", "a"],
]
WRONG = {
    "null": b"null",
    "a number": b"7",
    "a text": b'"yes"',
    "a list of lists": b"[[]]",
    "fields of other types": b'{"views": [], "licence": {}, "title": 3, "columns": [1], "systems": [null]}',
    "deep nesting": b"[" * 100_000 + b"]" * 100_000,
    "a number that no number holds": b'{"title": "a", "licence": "", "views": [1e999]}',
    "a zip": b"PK\x03\x04\x14\x00\xff",
}


def call(command: list[str], url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that ends as one does that was called wrongly."""
    monkeypatch.chdir(folder)
    (folder / "answers.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([part.format(url.rstrip("/")) for part in command])
    assert ended.value.code == 2


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[1])
@pytest.mark.parametrize("answer", WRONG)
def test_an_answer_of_another_shape_is_one_message(
    answer: str, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with hostile([body(WRONG[answer])]) as url:
        call(command, url, tmp_path, monkeypatch)
        assert capsys.readouterr().err.count("error: ") == 1


@pytest.mark.parametrize("status", [b"400", b"401", b"500"])
@pytest.mark.parametrize("refusal", [b"null", b"[]", b'{"problem": 5}', b"[" * 100_000, b"\xff", b"<html>"])
def test_a_refusal_may_be_anything(refusal: bytes, status: bytes) -> None:
    length = b"Content-Length: %d" % len(refusal)
    with (
        hostile([b"HTTP/1.1 " + status + b" x\r\n" + length + b"\r\n\r\n" + refusal]) as url,
        pytest.raises(DstressError, match=f"the server answers {status.decode()}"),
    ):
        Platform(url).ask("GET", "/benchmarks")


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
def test_no_answer_of_a_hostile_server_ends_in_a_traceback(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile(BROKEN[how]) as url:
        call(COMMANDS[0], url, tmp_path, monkeypatch)


@pytest.mark.parametrize("how", ["body in drops", "silence", "one header in drops"])
def test_nobody_waits_without_end(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_TIMEOUT", 0.3)
    monkeypatch.setattr(client, "_TRANSFER_TIMEOUT", 0.3)
    start = time.monotonic()
    with hostile(ENDLESS[how]) as url:
        with pytest.raises(DstressError, match="timeout: no whole answer"):
            Platform(url).ask("GET", "/benchmarks")
        with pytest.raises(DstressError, match="timeout"):
            Platform(url).download("/benchmarks/winter/inputs/dstress", tmp_path / "inputs.zip")
    assert time.monotonic() - start < 20 and not list(tmp_path.iterdir())


def test_a_download_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LARGEST_FILE", 1 << 20)
    with hostile([body(b"a" * (2 << 20))]) as url, pytest.raises(DstressError, match="more than 1 megabytes"):
        Platform(url).download("/benchmarks/winter/inputs/dstress", tmp_path / "inputs.zip")
    assert not list(tmp_path.iterdir())


def test_a_submission_that_is_never_scored_is_awaited_no_longer() -> None:
    waiting = {"id": 7, "state": "waiting", "problem": "", "notes": []}
    with hostile([body(json.dumps(waiting).encode())]) as url, pytest.raises(DstressError) as ended:
        Platform(url).await_submission(7, seconds=0.1)
    assert "not scored after 0.1 seconds" in str(ended.value) and f"{url}submissions/7" in str(ended.value)


def test_a_server_does_not_flood_the_screen_with_notes(capsys: pytest.CaptureFixture[str]) -> None:
    from dstress.cli.output import print_notes

    print_notes(["x" * 100_000] * 5000)
    said = capsys.readouterr()
    assert len(said.out + said.err) < 100_000 and "4,900 more" in said.out + said.err


@pytest.mark.parametrize("content", [None, b"[", b'{"a": 1}'])
def test_inputs_that_are_none(content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dstress.cli.submit import _track

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("asked.json" if content else "else.json", content or b"{}")
    with hostile([body(packed.getvalue())]) as url, pytest.raises(DstressError, match="no inputs of a benchmark"):
        _track(Platform(url), "winter", "rules", tmp_path)


@pytest.mark.parametrize("server", ["http://", "https://[::1", "ftp://host", "host", "http://a\udcff"])
def test_an_address_of_no_server(server: str) -> None:
    with pytest.raises(DstressError, match="no server's address"):
        Platform(server)


@pytest.mark.parametrize("server", ["http://me:pw-of-mine@host", "http://host/?token=pw-of-mine"])
def test_an_address_with_a_password_is_refused_and_not_shown(server: str) -> None:
    with pytest.raises(DstressError, match="with a password") as refused:
        Platform(server)
    assert "pw-of-mine" not in str(refused.value)


def test_a_server_that_sends_the_token_back_is_quoted_without_it() -> None:
    """Before its words are shortened: of half a token nothing would be found."""
    token, words = "dst_geheim-1234567890", "x " * ((client._LONGEST_PROBLEM - 10) // 2)
    refusal = json.dumps({"problem": words + token}).encode()
    head = b"HTTP/1.1 400 x\r\nContent-Length: %d\r\n\r\n" % len(refusal)
    with hostile([head + refusal]) as url, pytest.raises(DstressError, match="x \\*\\*\\*") as refused:
        Platform(url, token).ask("GET", "/benchmarks")
    assert "geheim" not in str(refused.value)
    with hostile([body(json.dumps({"title": token}).encode())]) as url:
        assert Platform(url, token).ask("GET", "/benchmarks") == {"title": "***"}
