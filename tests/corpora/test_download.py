"""Downloads against a real server: resumed, verified, and never half there under their name."""

from __future__ import annotations

import hashlib
import io
import random
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from dstress.cli.main import main
from dstress.corpora.catalogue import catalogue
from dstress.corpora.download import download, git_blob_sha1
from dstress.errors import DownloadError
from tests.corpora import layouts


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("data.bin", data)
    return out.getvalue()


CONTENT = zipped(random.Random(1).randbytes(1 << 20))
PAGES = [
    b"<!DOCTYPE html><title>Log in</title>",
    b"\xef\xbb\xbf\n<!-- x -->\n<HTML lang=en>",
    b"<script>location='/login'</script>",
]


class Server(ThreadingHTTPServer):
    """Serves CONTENT (or other bytes) and misbehaves as told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.drop_after, self.status, self.can_resume = CONTENT, 0, 200, True
        self.etag, self.length, self.location = '"v1"', True, ""
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
        if self.server.location:
            self.send_response(302)
            self.send_header("Location", self.server.location)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        same = self.headers.get("If-Range") == self.server.etag
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and same and self.server.can_resume else 0
        whole = len(self.server.content)
        if start and start >= whole:
            self.send_response(416)
            self.end_headers()
            return
        body = self.server.content[start:]
        self.send_response(206 if start else self.server.status)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        if self.server.length:
            self.send_header("Content-Length", str(len(body)))
        if self.server.etag:
            self.send_header("ETag", self.server.etag)
        self.end_headers()
        if self.server.drop_after:
            body, self.server.drop_after = body[: self.server.drop_after], 0
            self.close_connection = True
        self.wfile.write(body)


def left(folder: Path) -> list[str]:
    """What lies in a folder but the locks, which stay."""
    return [path.name for path in folder.iterdir() if path.suffix != ".lock"]


def begun(server: Server, folder: Path, content: bytes, tag: str = '"v1"') -> None:
    """What a killed download leaves."""
    name = f"{hashlib.sha256(server.url.encode()).hexdigest()[:12]}-data.zip.part"
    (folder / name).write_bytes(content)
    (folder / f"{name}.tag").write_text(tag)


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
    begun(server, tmp_path, CONTENT[:1000])
    assert download(server.url, tmp_path).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-"] and len(left(tmp_path)) == 1


@pytest.mark.parametrize("tag", ['"v0"', ""], ids=["changed", "unknown"])
def test_a_part_of_another_version_is_not_gone_on_with(server: Server, tmp_path: Path, tag: str) -> None:
    begun(server, tmp_path, b"x" * 1000, tag)
    assert download(server.url, tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    begun(server, tmp_path, CONTENT + b"more")
    assert download(server.url, tmp_path).read_bytes() == CONTENT
    assert server.ranges == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_server_without_versions_is_asked_for_all_again(server: Server, tmp_path: Path) -> None:
    server.etag, server.drop_after = "", 300_000
    assert download(server.url, tmp_path).read_bytes() == CONTENT
    assert server.ranges == [None, None]


def test_a_cut_off_that_a_server_does_not_tell_of_is_refused(server: Server, tmp_path: Path) -> None:
    server.length, server.content = False, CONTENT[:5000]
    with pytest.raises(DownloadError, match="does not say how long"):
        download(server.url, tmp_path)
    server.length = True
    with pytest.raises(DownloadError, match="not the whole of it"):
        download(server.url, tmp_path)
    assert left(tmp_path) == []
    server.length, server.content = False, CONTENT
    assert download(server.url, tmp_path, sha256=hashlib.sha256(CONTENT).hexdigest()).read_bytes() == CONTENT


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ["data.zip", "data.tar.gz", "data.json"])
def test_a_login_page_is_never_kept(server: Server, tmp_path: Path, page: bytes, name: str) -> None:
    server.content = page
    url = server.url.replace("data.zip", name)
    with pytest.raises(DownloadError, match="a web page came in place of the file"):
        download(url, tmp_path)
    assert left(tmp_path) == []


def test_what_was_kept_wrongly_is_fetched_again(server: Server, tmp_path: Path) -> None:
    path = download(server.url, tmp_path)
    for wrong in (PAGES[0], CONTENT[:-1]):
        path.write_bytes(wrong)
        assert download(server.url, tmp_path, sha256=hashlib.sha256(CONTENT).hexdigest()) == path
        assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("told", [True, False], ids=["by its length", "while it comes"])
def test_a_file_without_end_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    monkeypatch.setattr("dstress.corpora.download.MAX_BYTES", 10_000)
    server.length = told
    with pytest.raises(DownloadError, match="larger than 10,000 bytes"):
        download(server.url, tmp_path, sha256="0" * 64)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://", "http://a..b/x.zip", "http://x:abc/", "http://\0/", "http://xn--/", "http://\ud800/"],
)
def test_an_address_that_is_none_is_told(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match=r"no web address|leads nowhere"):
        download(url, tmp_path)
    assert left(tmp_path) == []


@pytest.mark.parametrize("location", ["/data.zip", "file:///etc/passwd", "http://[::1", "gopher://x/y"])
def test_a_redirect_that_leads_nowhere_is_told(server: Server, tmp_path: Path, location: str) -> None:
    server.location = location
    with pytest.raises(DownloadError, match=r"leads nowhere|failed 4 times"):
        download(server.url, tmp_path)
    assert left(tmp_path) == []


def test_a_redirect_away_from_https_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        secure = request.url.scheme == "https"
        return (
            httpx.Response(302, headers={"Location": "http://x/data.zip"})
            if secure
            else httpx.Response(200, content=CONTENT)
        )

    monkeypatch.setattr(httpx, "stream", httpx.Client(transport=httpx.MockTransport(answer)).stream)
    with pytest.raises(DownloadError, match="without https"):
        download("https://x/data.zip", tmp_path)
    assert left(tmp_path) == []


def test_a_name_of_any_length_and_letters(server: Server, tmp_path: Path) -> None:
    url = server.url.replace("data.zip", "%2e%2e%2f" + "x" * 5000 + "%00.zip")
    path = download(url, tmp_path)
    assert path.parent == tmp_path and path.read_bytes() == CONTENT and path.suffix == ".zip"


def test_two_downloads_of_one_file_do_not_mix(server: Server, tmp_path: Path) -> None:
    def again(*_: int) -> None:
        with pytest.raises(DownloadError, match="another process"):
            download(server.url, tmp_path)

    assert download(server.url, tmp_path, progress=again).read_bytes() == CONTENT


def test_every_catalogue_entry_is_pinned_and_has_a_checksum_unless_it_is_packed_on_demand() -> None:
    for name, entry in catalogue().items():
        assert re.search(r"/[0-9a-f]{40}[/.]", entry.url), name
        assert len(entry.git) == 40 or ("/archive/" in entry.url and not entry.git), name
        assert len(entry.sha256) in (0, 64), name


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    download(server.url, tmp_path)
    download(server.url, tmp_path)
    assert len(server.ranges) == 1


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="checksum differs"):
        download(server.url, tmp_path, git="0" * 40)
    with pytest.raises(DownloadError, match="checksum differs"):
        download(server.url, tmp_path, sha256="0" * 64)
    assert left(tmp_path) == []


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
