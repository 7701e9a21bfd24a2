"""A real server with its workers, in processes of their own, that tests may kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


class Served:
    """`dstress serve` as a person starts it."""

    def __init__(self, folder: Path, database: str = "", *options: str) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        chosen = ["--folder", str(folder), "--port", str(self.port), *(["--database", database] if database else [])]
        self.command = [sys.executable, "-m", "dstress", "serve", *chosen, *options]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        self.await_page("/healthz")

    def await_page(self, path: str, text: str = "", seconds: float = 120) -> None:
        """Wait until a page is there and has a text."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                answer = httpx.get(self.url + path, timeout=30)
                if answer.is_success and text in answer.text:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text(encoding="utf-8")[-3000:])

    def workers(self) -> list[int]:
        """The numbers of the worker processes that the server has."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in children.read_text(encoding="utf-8").split()]

    def kill(self) -> None:
        """As the power does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """As an operator does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


@contextmanager
def running(folder: Path, database: str = "", *options: str) -> Iterator[Served]:
    served = Served(folder, database, *options)
    try:
        served.start()
        yield served
    finally:
        served.stop()


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
