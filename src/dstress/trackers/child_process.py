"""A program that stays open and answers lines with lines, and may die, hang or babble.

One loop writes to the program and reads from it at once, so that neither waits for the other for ever, however long
the lines are. Its messages (standard error) are read too, and the last of them kept: they say why it died.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Sequence

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
        self._guard = subprocess.Popen(
            ["sh", "-c", 'read line; kill -s KILL -- "-$1"', "sh", str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._ended = weakref.finalize(self, _kill, self._process, self._guard)
        self._rest = bytearray()
        self._messages = b""
        self._streams = selectors.DefaultSelector()
        streams = (self._process.stdout, self._process.stderr, self._process.stdin)
        self._out, self._err, self._in = (stream.fileno() if stream else -1 for stream in streams)
        for number in (self._out, self._err, self._in):
            os.set_blocking(number, False)
        for number in (self._out, self._err):
            self._streams.register(number, selectors.EVENT_READ)

    @property
    def running(self) -> bool:
        """Whether it can still be asked."""
        return self._ended.alive and self._process.poll() is None

    def exchange(self, text: bytes, count: int, timeout: float, on_line: Callable[[bytes], None]) -> None:
        """Send `text` and pass on `count` lines as they come. Raises Trouble when a line is late, or one too many."""
        if self._has_more(0.0):
            # After a line that nobody asked for, nobody knows which answer belonged to which turn.
            raise Trouble(UNASKED, f"{bytes(self._rest[:80])!r}{self.last_words()}")
        unsent = memoryview(text)
        if unsent:
            self._streams.register(self._in, selectors.EVENT_WRITE)
        deadline = time.monotonic() + timeout
        try:
            while count:
                ready = {key.fd for key, _ in self._streams.select(max(0.0, deadline - time.monotonic()))}
                if self._in in ready:
                    unsent = self._send(unsent)
                if self._err in ready:
                    self._read_messages()
                if self._out in ready:
                    lines = self._lines()
                    for line in lines[:count]:
                        on_line(line)
                        # Each answer is a sign of life, so the clock starts again.
                        deadline = time.monotonic() + timeout
                    if len(lines) > count:
                        raise Trouble(TOO_MANY, f"{len(lines) - count} more than were asked for{self.last_words()}")
                    count -= len(lines)
                if count and time.monotonic() >= deadline:
                    raise Trouble(HUNG, f"no line in {timeout:g} seconds (is each one flushed?){self.last_words()}")
        finally:
            with contextlib.suppress(KeyError):
                self._streams.unregister(self._in)
        if self._has_more(_AFTERTHOUGHT):
            raise Trouble(TOO_MANY, f"more than were asked for{self.last_words()}")

    def last_words(self) -> str:
        """The last line of its messages, ready to be put behind a reason."""
        with contextlib.suppress(BlockingIOError, KeyError, ValueError):
            self._read_messages()
        lines = [line for line in self._messages.decode("utf-8", "replace").splitlines() if line.strip()]
        return f"; it says: {lines[-1].strip()[:160]}" if lines else ""

    def close(self, *, at_once: bool = False) -> None:
        """End it: by closing its input, and if it does not take the hint, by force."""
        if not self._ended.alive:
            return
        if not at_once and self._process.stdin is not None:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE)
        self._streams.close()
        self._ended()

    def _has_more(self, seconds: float) -> bool:
        """Whether there is more than blank lines, now or within so many seconds."""
        deadline = time.monotonic() + seconds
        while not self._rest.strip():
            ready = {key.fd for key, _ in self._streams.select(max(0.0, deadline - time.monotonic()))}
            if self._err in ready:
                self._read_messages()
            if self._out in ready:
                more = os.read(self._out, _CHUNK)
                if not more:
                    return False  # it has ended, and said nothing
                self._rest += more
            elif time.monotonic() >= deadline:
                self._rest.clear()
                return False
        return True

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            sent = os.write(self._in, unsent[:_CHUNK])
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            sent = len(unsent)  # it no longer listens; that its answers stop tells the rest
        if sent == len(unsent):
            self._streams.unregister(self._in)
        return unsent[sent:]

    def _read_messages(self) -> None:
        more = os.read(self._err, _CHUNK)
        if not more:
            self._streams.unregister(self._err)
        self._messages = (self._messages + more)[-_KEPT:]

    def _lines(self) -> list[bytes]:
        more = os.read(self._out, _CHUNK)
        if not more:
            raise Trouble(DIED, f"{self._end()}{self.last_words()}")
        self._rest += more
        if len(self._rest) > _LONGEST_LINE and b"\n" not in self._rest:
            raise Trouble(GARBAGE, f"a line of more than {_LONGEST_LINE >> 20} megabytes")
        *whole, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        return [bytes(line) for line in whole if line.strip()]

    def _end(self) -> str:
        try:
            code = self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            return "the program closed its output"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"the program was ended by {signal.Signals(-code).name}"
        return f"the program ended with exit status {code}"


def _kill(process: subprocess.Popen[bytes], guard: subprocess.Popen[bytes]) -> None:
    guard.kill()
    guard.wait()
    # Also what the program has started: a shell's own end would leave its children behind.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr, guard.stdin):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
