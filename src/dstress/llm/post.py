"""Ask a server that may be busy, broken or gone, and say in a word or two what went wrong.

What passes by itself is tried again with growing waits: 429 and 5xx answers, closed connections, silence. Every limit
and timeout is set here: httpx's own (five seconds to connect, and to wait for a free connection) end long runs early.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx
import msgspec

from dstress.errors import DstressError, SpecError
from dstress.llm.deadline import deadline, limit
from dstress.storage.secrets import fill_in, has_secret, redact, redact_text

BUSY, BROKEN, CLOSED = "busy", "server error", "closed connection"
TIMEOUT, UNREACHABLE, REFUSED = "timeout", "unreachable", "refused"

FIRST_WAIT = 0.5
"""Seconds before the first retry; each further one waits twice as long."""
_LONGEST_WAIT = 60.0
_LONGEST_REQUESTED_WAIT = 300.0
"""A server that asks for more patience than this gets another try all the same."""
_CONNECT = 20.0
_LARGEST = 64 << 20
"""Bytes of an answer: one without an end must not fill the memory."""
_LONGEST_DETAIL = 160
_HOPELESS = 8
"""Refusals in a row, with never an answer, after which the fault is the request's and not the turn's."""
_NOT_ALLOWED = frozenset({401, 403})
_WRONG_ADDRESS = frozenset({301, 302, 303, 307, 308, 404, 405})

T = TypeVar("T")


class Unanswered(Exception):
    """A request that got no answer. `category` is what failures are counted by."""

    def __init__(self, category: str, detail: str = "", status: int = 0) -> None:
        self.category, self.detail, self.status = category, detail, status
        super().__init__(category, detail, status)

    def __str__(self) -> str:
        return f"{self.category}: {self.detail}" if self.detail else self.category


class NotNow(Unanswered):
    """No answer, for a reason that may pass. `wait` is how many seconds the server asks for."""

    def __init__(self, category: str, detail: str, status: int = 0, wait: float = 0.0) -> None:
        super().__init__(category, detail, status)
        self.wait = wait


def retry(attempt: Callable[[], T], tries: int, pause: Callable[[float], None]) -> T:
    """What `attempt` returns; while it raises NotNow, it is made again, `tries` times in all.

    Each wait is twice the one before, but never shorter than the server asks for. `pause` does the waiting, so that it
    can be cut short: what it raises ends the retries.
    """
    for retries in range(tries - 1):
        try:
            return attempt()
        except NotNow as trouble:
            pause(max(trouble.wait, min(_LONGEST_WAIT, FIRST_WAIT * 2**retries)))
    return attempt()


def read_retry_after(header: str) -> float:
    """The seconds that a `Retry-After` asks for, be it a number or a date; 0 if it says nothing that can be read."""
    header = header.strip()
    try:
        seconds = float(header)
    except ValueError:
        try:
            until = parsedate_to_datetime(header)
        except ValueError:
            return 0.0
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_REQUESTED_WAIT) if seconds == seconds else 0.0


def checked_url(owner: str, url: str) -> str:
    """The address, if it is one, and one that may be written down: it becomes part of a run's record."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise SpecError(f"{owner}: {url!r} is no address: {error}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise SpecError(f"{owner}: {url!r} is no address", fix='write it in quotes, as "http://localhost:8000/track"')
    if has_secret(url):
        raise SpecError(
            "an address with a password or a key would be stored with the run",
            where=owner,  # and not the whole spec
            fix="put the secret into the environment and its name into the address, as ...?api_key=${MY_KEY}",
        )
    fill_in(url)
    return url


def open_client(url: str, timeout: float, connections: int = 1) -> httpx.Client:
    """Connections to a server, for `exchange`."""
    client = httpx.Client(
        # We never ask for more connections than there are, so nobody waits for a free one.
        timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT), pool=None),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        # A proxy has no way to this machine.
        trust_env=httpx.URL(url).host not in ("localhost", "127.0.0.1", "::1"),
    )
    limit(client)
    return client


@contextmanager
def exchange(client: httpx.Client, timeout: float, method: str, url: str, **request: Any) -> Iterator[httpx.Response]:
    """The answer to a request. From the connection to the last byte that is read here, all takes no longer."""
    try:
        with deadline(timeout), client.stream(method, url, **request) as answer:
            yield answer
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NotNow(UNREACHABLE, _shorten(str(error))) from None
    except httpx.TimeoutException:
        raise NotNow(TIMEOUT, f"no whole answer in {timeout:g} seconds") from None
    except httpx.RequestError as error:
        raise NotNow(CLOSED, _shorten(str(error))) from None


def read_pieces(answer: httpx.Response, largest: int = _LARGEST) -> Iterator[bytes]:
    """An answer's body as it comes; Unanswered where it is larger than that many bytes."""
    size = 0
    for piece in answer.iter_bytes():
        size += len(piece)
        if size > largest:
            raise Unanswered(REFUSED, f"an answer of more than {largest >> 20} megabytes")
        yield piece


def bearer(key: str) -> dict[str, str]:
    """The header that a key is sent in; nothing where there is none."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise DstressError("the API key has characters that no key has", fix="set it again")
    return {"Authorization": f"Bearer {key}"} if key else {}


class Poster:
    """One address and the connections to it. Several threads may post at once.

    `timeout` holds for each whole request, from the connection to the last byte. `key` gives a secret that is sent as a
    bearer token; it is read each time and kept nowhere. Whatever the server says loses our secrets here, before
    anybody quotes the first letters of it: half a secret would be found by nobody.
    """

    def __init__(
        self, url: str, timeout: float, retries: int, connections: int = 1, key: Callable[[], str] = str
    ) -> None:
        self.url, self.timeout, self.retries, self._key = url, timeout, retries, key
        self.answered = False
        self._retried = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._hold_until = 0.0
        self._gone = False
        self._refusals = 0
        self._client = open_client(url, timeout, connections)

    def post(self, body: bytes, *, tries: int | None = None) -> bytes:
        """The body of a good answer. Raises Unanswered, or DstressError where no request can ever succeed."""
        # A server that was gone for all the tries of a request has had its patience: one try until it is back.
        tries = 1 if self._gone else tries or self.retries + 1
        try:
            answer = retry(lambda: self._attempt(body), tries, self._wait_for_retry)
        except Unanswered as problem:
            raise self._final(problem) from None
        self.answered, self._gone = True, False
        return answer

    def take_retries(self) -> int:
        """How many requests were sent again since the last call."""
        with self._lock:
            taken, self._retried = self._retried, 0
        return taken

    def stop(self) -> None:
        """Post no more; whoever waits for another try gives up."""
        self._stopped.set()

    def close(self) -> None:
        """Close the connections, once nobody posts any more."""
        self.stop()
        self._client.close()

    def _wait_for_retry(self, seconds: float) -> None:
        with self._lock:
            self._retried += 1
        self._pause(seconds)

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(max(0.0, seconds)):
            raise Unanswered(CLOSED, "we were told to stop")

    def _attempt(self, body: bytes) -> bytes:
        """One try. Where the server asks for a wait, all threads wait: it has had enough of all of them."""
        self._pause(self._hold_until - time.monotonic())
        try:
            return self._send(body)
        except NotNow as trouble:
            if trouble.wait:
                self._hold_until = max(self._hold_until, time.monotonic() + trouble.wait)
            raise

    def _send(self, request: bytes) -> bytes:
        headers = {"Content-Type": "application/json"} | bearer(self._key())
        url = fill_in(self.url)
        with exchange(self._client, self.timeout, "POST", url, content=request, headers=headers) as answer:
            content = b"".join(read_pieces(answer))
        body, status = redact(content), answer.status_code
        if answer.is_success:
            return body
        detail = _shorten(f"{status} {read_error(body) or answer.reason_phrase}")
        wait = read_retry_after(answer.headers.get("retry-after", ""))
        if status in (408, 425, 429):
            raise NotNow(BUSY, detail, status, wait)
        if status >= 500:
            raise NotNow(BROKEN, detail, status, wait)
        raise Unanswered(REFUSED, detail, status)

    def _final(self, problem: Unanswered) -> Exception:
        """The problem, or, if there was never an answer, an error that stops the run: nothing here can work."""
        with self._lock:
            self._gone = problem.category == UNREACHABLE
            self._refusals += problem.category == REFUSED
        if self.answered:
            return problem
        if problem.category == UNREACHABLE:
            return DstressError(
                f"nobody answers: {problem.detail}", where=self.url, fix="start the server, or correct the address"
            )
        if problem.status in _NOT_ALLOWED:
            return DstressError(
                f"we are not let in: {problem.detail}", where=self.url, fix="check the key, and what it is good for"
            )
        if problem.status in _WRONG_ADDRESS:
            return DstressError(f"a wrong address: {problem.detail}", where=self.url, fix="correct the address")
        if self._refusals >= _HOPELESS:
            return DstressError(
                f"{self._refusals} requests refused and none answered; the last: {problem.detail}", where=self.url
            )
        return problem


def _shorten(text: str) -> str:
    """One line, not too long, without our secrets."""
    return " ".join(redact_text(text).split())[:_LONGEST_DETAIL]


def read_error(content: bytes) -> str:
    """The words of an error answer: OpenAI's `error.message`, FastAPI's `detail`, or whatever was sent."""
    try:
        data = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return content[: 4 * _LONGEST_DETAIL].decode("utf-8", "replace")
    error = data
    if isinstance(data, dict):
        error = data.get("error") or data.get("detail") or data.get("message") or data
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        error = error["message"]
    return error if isinstance(error, str) else msgspec.json.encode(error).decode()
