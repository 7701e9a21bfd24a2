"""Worker processes beside a server. Imports nothing heavy: they begin while the server is still being imported."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_log = logging.getLogger(__name__)


@contextmanager
def running_workers(command: Sequence[str], number: int) -> Iterator[None]:
    """So many worker processes beside a server, each begun anew if it dies."""
    stopped = threading.Event()
    workers = [subprocess.Popen(command, start_new_session=True) for _ in range(number)]

    def watch() -> None:
        while not stopped.wait(1.0):
            for place, worker in enumerate(workers):
                if worker.poll() is not None and not stopped.is_set():
                    _log.warning("worker %s ended with %s; another one begins", worker.pid, worker.returncode)
                    workers[place] = subprocess.Popen(command, start_new_session=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stopped.set()
        watcher.join()
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
