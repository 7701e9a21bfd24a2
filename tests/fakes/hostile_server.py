"""A server that takes a request and answers with whatever bytes, at whatever pace: the hostile ones of the web."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat

OK = b"HTTP/1.1 200 OK\r\n"
TLS = b"\x16"
"""How a client begins that speaks TLS."""
PAUSE = 0.05
"""Seconds between drops, which is far less than any time-out."""


def body(content: bytes, *headers: bytes) -> bytes:
    length = b"Content-Length: %d" % len(content)
    return OK + b"".join(header + b"\r\n" for header in (length, *headers)) + b"\r\n" + content


ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "status in drops": (OK[:5], b" "),
    "headers in drops": (OK, b"a: b\r\n"),
    "one header in drops": (OK + b"a: ", b"b"),
    "body in drops": (OK + b"Content-Length: 100000\r\n\r\n", b" "),
    "chunks without end": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "103 Early Hints": (b"", b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n"),
    "silence": (b"", b""),
    "TLS in drops": (b"\x16\x03\x03\x40\x00", b"\x02"),
}
"""Answers that never end, each drop in time: how they begin, and the drop."""

BROKEN: dict[str, list[bytes]] = {
    "nothing": [b""],
    "cut off in the status": [OK[:9]],
    "cut off in the headers": [OK + b"a: b\r\n"],
    "cut off in the body": [OK + b'Content-Length: 1000\r\n\r\n{"answers": ['],
    "a length too short": [OK + b'Content-Length: 3\r\n\r\n{"answers": []}'],
    "a length that is none": [OK + b"Content-Length: many\r\n\r\n{}"],
    "two lengths": [OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
    "no HTTP": [b"SSH-2.0-OpenSSH_9.6\r\n"],
    "zeros": [b"\0" * 5000],
    "headers without end": [OK + b"a: " + b"b" * (1 << 20)],
    "a redirect to itself": [b"HTTP/1.1 307 x\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"],
    "no UTF-8": [body(b'{"answers": "\xff\xfe"}')],
    "deep nesting": [body(b"[" * 100_000)],
    "deep objects": [body(b'{"answers":' * 100_000)],
    "a number of 5000 digits": [body(b'{"answers": [{"state": {"hotel-area": ' + b"1" * 5000 + b"}}]}")],
    "no gzip": [body(b"{}", b"Content-Encoding: gzip")],
    "a gzip bomb": [body(gzip.compress(b"\0" * (100 << 20), 1), b"Content-Encoding: gzip")],
    "a huge body": [OK + b"\r\n", *repeat(b" " * (1 << 20), 80)],
}
"""Answers that end, and are none."""


@contextmanager
def hostile(answer: list[bytes] | tuple[bytes, bytes]) -> Iterator[str]:
    """The address of a server that answers every request so."""
    server = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and not head.startswith(TLS):
                head += connection.recv(1 << 16)
            endless = isinstance(answer, tuple)
            for piece in chain(answer[:1], repeat(answer[1])) if endless else answer:
                connection.sendall(piece)
                if stopped.is_set():
                    return
                if endless:
                    time.sleep(PAUSE)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http{'s' * answer[0].startswith(TLS)}://127.0.0.1:{server.getsockname()[1]}/"
    finally:
        stopped.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
