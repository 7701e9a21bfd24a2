"""Files that are whole or not there: written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dstress.storage.secrets import redact

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Redacting(io.BufferedWriter):
    """A file in which no secret of ours is ever written."""

    def write(self, content: Any, /) -> int:
        return super().write(redact(bytes(content)))


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write `path` as one step: readers see the old file or the whole new one, also after a crash or a full disk.

    A link stays, and what it points to is replaced. What is no plain file (a device, a pipe, our own standard output)
    is written to as it is.
    """
    if special := _open_as_it_is(path):
        with special:
            yield special
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part")
    try:
        with _Redacting(io.FileIO(handle, "wb")) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)  # mkstemp made the file private; it gets the mode of any other
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            error.filename = str(path)  # a full disk does not say which
        raise


def _open_as_it_is(path: Path) -> IO[bytes] | None:
    """A stream into what must not be replaced; None for a plain file or nothing."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    for number in (1, 2):  # `/dev/stdout` may be a plain file, but others hold it open and go on where we stop
        with suppress(OSError):  # it may be closed
            if os.path.samestat(status, os.fstat(number)):
                return _Redacting(io.FileIO(os.dup(number), "wb"))
    return None if stat.S_ISREG(status.st_mode) else _Redacting(io.FileIO(path, "wb"))
