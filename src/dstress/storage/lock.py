"""Work that one process at a time may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dstress.errors import DstressError


@contextmanager
def only_one(path: Path, refusal: DstressError) -> Iterator[None]:
    """Hold the file `path`; while another holds it, raise `refusal`. The system frees it if we are killed.

    The file stays. Were it removed, a process that has opened it and one that makes it anew would both hold it.
    """
    from filelock import FileLock, Timeout  # not above: most commands read corpora and lock nothing

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise refusal from None
    try:
        yield
    finally:
        lock.release()
