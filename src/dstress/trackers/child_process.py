"""A program that stays open and answers lines with lines, and may die, hang or babble.

A thread writes to the program while its lines are read, so that neither waits for the other for ever, however long
they are. Its messages (standard error) are read too, and the last of them kept: they say why it died.
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO

_CHUNK = 1 << 16
_LONGEST_LINE = 16 << 20
_KEPT = 2000
_LEAVE = 1.0
"""Seconds that a program gets to end by itself once its input is closed."""
_AFTERTHOUGHT = 0.02
"""Seconds in which a line too many is waited for."""

DIED, HUNG, GARBAGE = "died", "timeout", "malformed"
TOO_MANY, UNASKED = "too many lines", "a line that nobody asked for"
NAMELESS = "an answer without its dialogue and turn"


class Trouble(Exception):
    """The program gave no answer, or none that can be used. `category` says how."""

    def __init__(self, category: str, detail: str) -> None:
        self.category, self.detail = category, detail
        super().__init__(category, detail)

    def __str__(self) -> str:
        return f"{self.category}: {self.detail}"


class Child:
    """The running program. Everything it starts is in one process group, and ends with it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            # Python keeps back what it prints to a pipe; the program and we would then wait for each other.
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        # However we end, also by kill -9, this shell then reads the end of its input, and ends the program's group.
        guard = subprocess.Popen(
            ["sh", "-c", 'read line; kill -s KILL -- "-$1"', "sh", str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._messages = bytearray()
        self._lines, self._rest = deque[bytes](), bytearray()
        self._output = selectors.DefaultSelector()
        self._output.register(self._process.stdout or -1, selectors.EVENT_READ)
        self._ended = weakref.finalize(self, _kill, self._process, guard, self._unsent)
        # No thread knows of `self`, so that a child that is forgotten ends.
        threading.Thread(target=_send, args=(self._process.stdin, self._unsent), daemon=True).start()
        shared = (self._process.stderr, self._messages)
        self._listener = threading.Thread(target=_read_messages, args=shared, daemon=True)
        self._listener.start()

    @property
    def running(self) -> bool:
        """Whether it can still be asked."""
        return self._ended.alive and self._process.poll() is None

    def exchange(self, text: bytes, count: int, timeout: float, on_line: Callable[[bytes], None]) -> None:
        """Send `text` and pass on `count` lines as they come. Raises Trouble when a line is late, or one too many."""
        if early := self._more(0.0):
            # After a line that nobody asked for, nobody knows which answer belonged to which turn.
            raise Trouble(UNASKED, f"{early[:80]!r}{self._last_words()}")
        self._unsent.put(text)
        for _ in range(count):
            # Each answer is a sign of life, so the clock starts again.
            try:
                line = self._next_line(timeout)
            except TimeoutError:
                problem = f"no line in {timeout:g} seconds (is each one flushed?){self._last_words()}"
                raise Trouble(HUNG, problem) from None
            if line is None:
                self._listener.join(_LEAVE)  # its last messages
                raise Trouble(DIED, f"{self._how_it_ended()}{self._last_words()}")
            if len(line) > _LONGEST_LINE:
                raise Trouble(GARBAGE, f"a line of more than {_LONGEST_LINE >> 20} megabytes")
            on_line(line)
        if self._more(_AFTERTHOUGHT):
            raise Trouble(TOO_MANY, f"more than were asked for{self._last_words()}")

    def close(self, *, at_once: bool = False) -> None:
        """End it: by closing its input, and if it does not take the hint, by force."""
        if self._ended.alive and not at_once:
            self._unsent.put(None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE)
        self._output.close()
        self._ended()

    def _next_line(self, timeout: float) -> bytes | None:
        """The next line that is not blank; None where there will be none. Raises TimeoutError when it is late."""
        deadline = time.monotonic() + timeout
        while not self._lines and len(self._rest) <= _LONGEST_LINE:
            if not self._output.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            more = self._process.stdout.read(_CHUNK) if self._process.stdout else b""
            if not more:
                return None
            *whole, self._rest = (self._rest + more).split(b"\n")
            self._lines += filter(bytes.strip, map(bytes, whole))
        return self._lines.popleft() if self._lines else bytes(self._rest)

    def _more(self, seconds: float) -> bytes:
        """What comes within so many seconds, be it a part of a line; empty where nothing does."""
        with contextlib.suppress(TimeoutError):
            if line := self._next_line(seconds):
                return line
        return bytes(self._rest.strip())

    def _last_words(self) -> str:
        """The last line of its messages, ready to be put behind a reason."""
        lines = [line for line in self._messages.decode("utf-8", "replace").splitlines() if line.strip()]
        return f"; it says: {lines[-1].strip()[:160]}" if lines else ""

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            return "the program closed its output"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"the program was ended by {signal.Signals(-code).name}"
        return f"the program ended with exit status {code}"


def _send(stream: IO[bytes], unsent: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError), stream:  # it may no longer listen; that its answers stop tells the rest
        while (text := unsent.get()) is not None:
            rest = memoryview(text)
            while rest:
                rest = rest[stream.write(rest) :]


def _read_messages(stream: IO[bytes], messages: bytearray) -> None:
    with stream:
        while more := stream.read(_CHUNK):
            messages += more
            del messages[:-_KEPT]


def _kill(
    process: subprocess.Popen[bytes], guard: subprocess.Popen[bytes], unsent: queue.SimpleQueue[bytes | None]
) -> None:
    unsent.put(None)
    guard.kill()
    guard.communicate()
    # Also what the program has started: a shell's own end would leave its children behind.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()
