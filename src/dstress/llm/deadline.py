"""A time limit for a whole request: those of httpx are for each single wait, and drops without end never break them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

_CHUNK = 1 << 16
_now = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """What this thread waits for on a limited client, all of it together, takes no longer."""
    _now.deadline = time.monotonic() + seconds
    try:
        yield
    finally:
        del _now.deadline


def limit(client: httpx.Client) -> None:
    """Hold every connection that the client will open to the deadline of the thread that uses it."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            transport._pool._network_backend = _Backend(transport._pool._network_backend)


def _left(timeout: float | None, error: type[Exception]) -> float | None:
    """How long one wait may take."""
    until = getattr(_now, "deadline", None)
    if until is None:
        return timeout
    left: float = until - time.monotonic()
    if left <= 0:
        raise error("the time for the whole request is over")
    return left if timeout is None else min(timeout, left)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend) -> None:
        self.inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        timeout = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self.inner.connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self.inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _CHUNK):
            self.inner.write(buffer[start : start + _CHUNK], _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self.inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self.inner.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self.inner.get_extra_info(info)
