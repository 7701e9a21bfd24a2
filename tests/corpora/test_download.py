"""Downloads against a real server: resumed, verified, and never half there under their name."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dstress.cli.main import main
from dstress.corpora.download import download, git_blob_sha1
from dstress.errors import DownloadError
from tests.corpora import layouts

CONTENT = bytes(range(256)) * 4096


class Server(ThreadingHTTPServer):
    """Serves CONTENT (or a file's bytes) and misbehaves as told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.drop_after, self.status, self.can_resume = CONTENT, 0, 200, True
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/data.zip"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.can_resume else 0
        if start >= len(self.server.content):
            self.send_response(416)
            self.end_headers()
            return
        body = self.server.content[start:]
        self.send_response(206 if start else self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.drop_after:
            body, self.server.drop_after = body[: self.server.drop_after], 0
            self.close_connection = True
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    serving = Server()
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


def test_a_whole_file_arrives(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = download(server.url, tmp_path, progress=lambda *step: seen.append(step))
    assert path.read_bytes() == CONTENT and path.name.endswith("-data.zip")
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_dropped_connection_is_resumed(server: Server, tmp_path: Path) -> None:
    server.drop_after = 300_000
    assert download(server.url, tmp_path).read_bytes() == CONTENT
    assert len(server.ranges) == 2 and str(server.ranges[1]).startswith("bytes=")


def test_a_server_that_cannot_resume_sends_all(server: Server, tmp_path: Path) -> None:
    server.drop_after, server.can_resume = 300_000, False
    assert download(server.url, tmp_path).read_bytes() == CONTENT


def test_an_interrupted_run_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    name = f"{hashlib.sha256(server.url.encode()).hexdigest()[:12]}-data.zip.part"
    (tmp_path / name).write_bytes(CONTENT[:1000])
    assert download(server.url, tmp_path).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-"]


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    download(server.url, tmp_path)
    download(server.url, tmp_path)
    assert len(server.ranges) == 1


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="checksum differs"):
        download(server.url, tmp_path, git="0" * 40)
    assert list(tmp_path.iterdir()) == []


def test_the_checksum_is_git_s_own(tmp_path: Path) -> None:
    (tmp_path / "hello").write_bytes(b"hello world\n")
    assert git_blob_sha1(tmp_path / "hello") == "3b18e512dba79e4c8300dd08aeb37f8e728b8dad"


def test_an_error_answer_is_told(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(DownloadError, match="404"):
        download(server.url, tmp_path)


def test_an_address_where_nobody_listens(server: Server, tmp_path: Path) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(DownloadError, match="failed 4 times"):
        download(server.url, tmp_path)


def test_a_corpus_from_an_address(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.content = layouts.packed(layouts.sgd(tmp_path / "sgd"), "zip").read_bytes()
    with pytest.raises(SystemExit) as stop:
        main(["corpora", "add", "mine", server.url])
    assert stop.value.code == 0 and "test" in capsys.readouterr().out
