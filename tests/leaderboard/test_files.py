"""Files: the same laws for a folder and for an S3-compatible store."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.leaderboard.files import Files, check_name, open_files
from dstress.leaderboard.settings import Settings
from tests.parts import need


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """A store that speaks S3, on this machine."""
    need("boto3", "moto")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["folder", "s3", "s3 with a prefix"])
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    if request.param == "folder":
        return open_files(Settings(folder=tmp_path))
    endpoint = request.getfixturevalue("s3")
    for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    import boto3

    bucket = f"b{abs(hash(tmp_path))}"
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=bucket)
    prefix = "/some/where" if "prefix" in request.param else ""
    return open_files(Settings(folder=tmp_path, files=f"s3://{bucket}{prefix}", s3_endpoint=endpoint))


def test_what_is_saved_is_read(files: Files) -> None:
    content = bytes(range(256)) * 4000
    files.save("submissions/17/predictions.zip", io.BytesIO(content))
    files.save("submissions/2/a.json", io.BytesIO(b""))
    with files.open("submissions/17/predictions.zip") as stream:
        assert stream.read() == content
    with files.local("submissions/17/predictions.zip") as path:
        assert (path.name, path.read_bytes()) == ("predictions.zip", content)
    assert not path.exists()
    assert list(files.names()) == ["submissions/17/predictions.zip", "submissions/2/a.json"]
    files.save("submissions/2/a.json", io.BytesIO(b"new"))
    with files.open("submissions/2/a.json") as stream:
        assert stream.read() == b"new"
    files.delete("submissions/2/a.json")
    files.delete("submissions/2/a.json")
    with pytest.raises(DstressError, match="missing"):
        files.open("submissions/2/a.json")


class Torn(io.RawIOBase):
    """A stream that breaks in the middle."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not hasattr(self, "begun"):
            self.begun = True
            return b"half"
        raise ConnectionResetError("gone")


def test_a_torn_stream_leaves_what_was_there(files: Files) -> None:
    files.save("a/b", io.BytesIO(b"old"))
    with pytest.raises(ConnectionResetError):
        files.save("a/b", Torn())  # type: ignore[arg-type]
    with files.open("a/b") as stream:
        assert stream.read() == b"old"
    assert list(files.names()) == ["a/b"]


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "A", "a b", "a\0", ".a", "a/.b", "x" * 201]
)
def test_a_name_that_could_leave_the_store_is_refused(files: Files, name: str) -> None:
    for act in (lambda: files.save(name, io.BytesIO(b"x")), lambda: files.open(name), lambda: files.delete(name)):
        with pytest.raises(DstressError, match="no file can be called"):
            act()


@given(st.text(alphabet="ab/.-_ \\\0é", max_size=12))
def test_no_accepted_name_climbs(name: str) -> None:
    try:
        check_name(name)
    except DstressError:
        return
    assert (Path("/root") / name).resolve().is_relative_to("/root")
    assert ".." not in name
