"""A chain of programs that stays open and answers one text after the other, each ended by a NUL.

Apertium's programs all know this protocol (their option `-z`): a NUL in the input makes each of them finish what it
holds and pass the NUL on. So a whole corpus needs one start per direction, not one per utterance.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
import weakref
from collections.abc import Iterator, Sequence

_CHUNK = 1 << 16


class Stopped(Exception):
    """The programs ended, or gave no answer in time."""


class Pipeline:
    """The running programs. `opening` is a text to send first; its answer is thrown away."""

    def __init__(self, commands: Sequence[Sequence[str]], opening: str = "") -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        before: int | None = None
        for command in commands:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE if before is None else before,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if before is not None:
                os.close(before)
            # Our copy must not keep the pipe open: the next program is its only reader.
            before = os.dup(process.stdout.fileno()) if process.stdout else None
            if process.stdout:
                process.stdout.close()
            self._processes.append(process)
        self._out = before if before is not None else -1
        self._rest = b""
        self._opening = opening
        self._is_opened = not opening
        self._ended = weakref.finalize(self, _end, list(self._processes), self._out)

    def ask(self, texts: Sequence[str], timeout: float) -> Iterator[str]:
        """The answers in order, as they come. Raises Stopped if none comes for `timeout` seconds."""
        inputs = list(texts) if self._is_opened else [self._opening, *texts]
        writer = threading.Thread(target=self._write, args=(inputs,), daemon=True)
        writer.start()
        is_whole = False
        try:
            for answer in self._read_answers(len(inputs), timeout):
                if self._is_opened:
                    yield answer
                else:
                    self._is_opened = True
            is_whole = True
        finally:
            if not is_whole:
                self.close()  # then the writer, which may wait for programs that no longer listen, fails and ends
            writer.join()

    @property
    def is_running(self) -> bool:
        """Whether it can still be asked."""
        return self._ended.alive

    def close(self) -> None:
        """End the programs."""
        self._ended()

    def _write(self, texts: Sequence[str]) -> None:
        data = memoryview(b"".join(text.encode("utf-8", "replace") + b"\0" for text in texts))
        stdin = self._processes[0].stdin
        # Programs that ended break the pipe: the reader sees that their answers stop.
        with contextlib.suppress(OSError, ValueError):
            for at in range(0, len(data), _CHUNK):
                if stdin:
                    stdin.write(data[at : at + _CHUNK])
                    stdin.flush()

    def _read_answers(self, count: int, timeout: float) -> Iterator[str]:
        waiting = select.poll()
        waiting.register(self._out, select.POLLIN)
        while count:
            more = os.read(self._out, _CHUNK) if waiting.poll(1000 * timeout) else b""
            if not more:
                raise Stopped
            # A long answer comes in pieces. Each of them is a sign of life, so the clock starts again.
            *whole, self._rest = (self._rest + more).split(b"\0")
            for answer in whole[:count]:
                yield answer.decode("utf-8", "replace")
            if len(whole) > count:
                self.close()  # more answers than texts: what follows could not be told apart
            count -= min(count, len(whole))


def _end(processes: Sequence[subprocess.Popen[bytes]], out: int) -> None:
    for process in processes:
        with contextlib.suppress(OSError):
            process.kill()
    for process in processes:
        process.wait()
        if process.stdin:
            with contextlib.suppress(OSError):
                process.stdin.close()
    with contextlib.suppress(OSError):
        os.close(out)
