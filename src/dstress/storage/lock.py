"""A folder that one process at a time may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dstress.errors import DstressError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks of this kind; there the last writer wins
    fcntl = None  # type: ignore[assignment]


@contextmanager
def only_one(folder: Path, refusal: DstressError) -> Iterator[None]:
    """Hold `folder` for this process; while another holds it, raise `refusal`. The system frees it if we are killed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    with path.open("w") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise refusal from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # only an empty folder goes away: a refused first import leaves nothing behind
                folder.rmdir()
