"""A file is the old one or the whole new one, whatever happens in between."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dstress.storage.atomic import replacing
from tests.parts import IN_CI

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


def write(path: Path, data: bytes = b"new") -> None:
    with replacing(path) as stream:
        stream.write(data)


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing yet"])
def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path, there: bool) -> None:
    target, link, linked = tmp_path / "folder" / "file", tmp_path / "link", tmp_path / "link of a link"
    target.parent.mkdir()
    if there:
        target.write_bytes(b"old")
    link.symlink_to("folder/file")
    linked.symlink_to(link)
    write(linked)
    assert link.is_symlink() and linked.is_symlink() and not target.is_symlink()
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


def test_an_error_while_writing_leaves_what_a_link_points_to(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    with pytest.raises(ValueError, match="bug"), replacing(link) as stream:
        stream.write(b"half")
        raise ValueError("bug")
    assert path.read_bytes() == b"old" and link.is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe)
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and list(tmp_path.iterdir()) == [pipe]


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        if IN_CI:
            pytest.fail("CI must be able to make a device")
        pytest.skip("making a device needs root")
    write(device)
    assert stat.S_ISCHR(device.stat().st_mode) and list(tmp_path.iterdir()) == [device]


@pytest.mark.parametrize("mode", ["wb", "ab", "pipe"])
def test_standard_output_by_its_name(tmp_path: Path, mode: str) -> None:
    """What was written before stays, and what is written after arrives."""
    code = "import os,sys\nfrom pathlib import Path\nfrom dstress.storage.atomic import replacing\n"
    code += "os.write(1, b'before ')\nwith replacing(Path('/dev/stdout')) as s: s.write(b'new ')\nos.write(1, b'after')"
    links = {path: path.readlink() for name in ("out", "err") if (path := Path(f"/dev/std{name}")).is_symlink()}
    if mode == "pipe":
        shown = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
    else:
        with (tmp_path / "out").open(mode) as out:
            subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
        shown = (tmp_path / "out").read_bytes()
    assert shown == b"before new after"
    assert links == {path: path.readlink() for path in links}


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as full, replacing(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "a")
