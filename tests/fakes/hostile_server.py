"""A server that takes a request and answers with whatever bytes, at whatever pace: the hostile ones of http and llm."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat

OK = b"HTTP/1.1 200 OK\r\n"
PAUSE = 0.05
"""Seconds between drops, which is far less than any time-out."""


def body(content: bytes, *headers: bytes) -> bytes:
    length = b"Content-Length: %d" % len(content)
    return OK + b"".join(header + b"\r\n" for header in (length, *headers)) + b"\r\n" + content


ENDLESS: dict[str, Iterable[bytes]] = {
    "status in drops": chain([OK[:5]], repeat(b" ")),
    "headers in drops": chain([OK], repeat(b"a: b\r\n")),
    "one header in drops": chain([OK, b"a: "], repeat(b"b")),
    "body in drops": chain([OK, b"Content-Length: 100000\r\n\r\n"], repeat(b" ")),
    "chunks without end": chain([OK, b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"1\r\n \r\n")),
    "100 Continue": repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "103 Early Hints": repeat(b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n"),
    "silence": repeat(b""),
}
"""Answers that never end, each drop in time."""

BROKEN: dict[str, Iterable[bytes]] = {
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
def hostile(answer: Iterable[bytes]) -> Iterator[str]:
    """The address of a server that answers every request so."""
    server = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1 << 16)
            pieces = answer if isinstance(answer, list) else iter(answer)
            for piece in pieces:
                connection.sendall(piece)
                if stopped.is_set():
                    return
                if not isinstance(answer, list):
                    time.sleep(PAUSE)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
    finally:
        stopped.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
