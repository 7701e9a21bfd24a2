"""Work that one process at a time may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dstress.errors import DstressError

_TOLD_EVERY = 1.0


@contextmanager
def only_one(
    path: Path, refusal: DstressError | None = None, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the file `path`. While another holds it, raise `refusal`; without one wait, and call `on_wait` each second.

    The system frees it if we are killed.

    The file stays. Were it removed, a process that has opened it and one that makes it anew would both hold it.
    """
    from filelock import FileLock, Timeout  # not above: most commands read corpora and lock nothing

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0 if refusal else _TOLD_EVERY)
        except Timeout:
            if refusal:
                raise refusal from None
            on_wait()
    try:
        yield
    finally:
        lock.release()
