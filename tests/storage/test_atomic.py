"""A file is the old one or the whole new one, whatever happens in between."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dstress.storage.atomic import replacing

KILLED = """
import os, signal, sys
from pathlib import Path
from dstress.storage.atomic import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "folder" / "file.json"
    file.parent.mkdir()
    file.write_bytes(b"old")
    return file


def test_a_new_file_replaces_the_old_and_leaves_nothing_beside_it(path: Path) -> None:
    with replacing(path) as stream:
        stream.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with replacing(tmp_path / "a" / "b" / "c.json") as stream:
        stream.write(b"new")
    assert (tmp_path / "a" / "b" / "c.json").read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), ValueError("bug")])
def test_an_error_while_writing_leaves_the_old_file(path: Path, error: BaseException) -> None:
    def write_half() -> None:
        with replacing(path) as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_disk_that_is_full_at_the_end_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(step, full_disk)
    with pytest.raises(OSError, match="No space left"), replacing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_a_killed_process_leaves_the_old_file(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_the_file_has_the_mode_of_any_new_file(path: Path) -> None:
    with replacing(path) as stream:
        stream.write(b"new")
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
