"""A platform as programs see it: its API over HTTP, with its problems as ours."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import httpx
import msgspec

from dstress.errors import UNREADABLE_JSON, DstressError
from dstress.llm.post import Unanswered, bearer, exchange, open_client, read_pieces
from dstress.storage.atomic import replacing
from dstress.storage.secrets import has_secret, hide_too, redact

_TIMEOUT, _TRANSFER_TIMEOUT = 120.0, 3600.0
"""Seconds for a whole request, and for one in which a file goes along."""
_LARGEST_FILE = 8 << 30
_LONGEST_PROBLEM = 4000
_POLL, _LONGEST_POLL = 0.5, 10.0
_ADDRESS = re.compile(r"(?P<server>https?://[^/]+(?:/.*?)?)/benchmarks/(?P<slug>[a-z0-9-]+)/?")


def parse_address(text: str) -> tuple[str, str]:
    """The server and the benchmark's name of `https://board.example.org/benchmarks/winter`."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise DstressError(f"{text!r} is no benchmark's address", fix="such as https://host/benchmarks/name")
    return match["server"], match["slug"]


class Facts(TypedDict):
    """A benchmark. Here as below: what commands read of it, and the server may say more."""

    slug: str
    title: str
    corpus: str
    licence: str
    state: str
    is_open: bool
    dialogues: int
    turns: int
    layouts: list[str]
    views: list[str]


class Handed(TypedDict):
    """A submission."""

    id: int
    state: str
    problem: str
    notes: list[str]


class _Score(TypedDict):
    value: float | None
    low: float | None
    high: float | None
    signature: str


class _Cell(TypedDict):
    column: str
    metric: str
    score: _Score | None


class Scored(TypedDict):
    """What a submission has reached, in each view."""

    cells: dict[str, list[_Cell]]
    floors: NotRequired[dict[str, dict[str, float]]]
    """View -> column -> what a system scores there that understands nothing."""


class _System(TypedDict):
    rank: int
    system: str
    team: str
    differs_from_above: bool | None
    scores: dict[str, _Score | None]


class Ranked(TypedDict, total=False):
    """A leaderboard; nothing while its benchmark is being made."""

    columns: list[str]
    floors: dict[str, float]
    systems: list[_System]


class _Refusal(msgspec.Struct):
    problem: str = ""
    fix: str = ""


class Platform:
    """A server, asked with a person's token; what anybody may know needs none."""

    def __init__(self, server: str, token: str = "") -> None:
        try:
            address = httpx.URL(server)
        except (httpx.InvalidURL, UnicodeError):
            address = httpx.URL()
        if address.scheme not in ("http", "https") or not address.host:
            raise DstressError(f"{server!r} is no server's address", fix="such as https://board.example.org")
        if has_secret(server):
            raise DstressError(
                "an address with a password or a key would be shown with each message",
                fix="leave it out; who you are is said by DSTRESS_TOKEN",
            )
        hide_too(frozenset({token}))
        self.address = f"{server.rstrip('/')}/api/v1"
        self.headers = bearer(token)

    def ask(self, method: str, path: str, shape: Any = Any, **request: Any) -> Any:
        """What the server answers, decoded and of this shape; what it refuses is an error in its own words."""
        timeout = _TRANSFER_TIMEOUT if "files" in request else _TIMEOUT
        with self._exchange(timeout, method, path, **request) as answer:
            content = redact(b"".join(read_pieces(answer)))
        try:
            data = msgspec.json.decode(content)
            msgspec.convert(data, shape)
        except (*UNREADABLE_JSON, ValueError, OverflowError) as error:
            raise DstressError(
                f"the answer is none of a platform: {error}",
                where=self.address,
                fix="check the address, and the server",
            ) from None
        return data

    def download(self, path: str, to: Path) -> None:
        """A file, whole or not at all."""
        with self._exchange(_TRANSFER_TIMEOUT, "GET", path) as answer, replacing(to) as out:
            for piece in read_pieces(answer, _LARGEST_FILE):
                out.write(piece)

    @contextmanager
    def _exchange(self, timeout: float, method: str, path: str, **request: Any) -> Iterator[httpx.Response]:
        """A good answer, to be read; whatever goes wrong is one clear error."""
        url = self.address + path
        try:
            with (
                open_client(url, timeout) as client,
                exchange(client, timeout, method, url, headers=self.headers, **request) as answer,
            ):
                if not answer.is_success:
                    raise self._refusal(answer.status_code, redact(b"".join(read_pieces(answer))))
                yield answer
        except Unanswered as problem:
            raise DstressError(f"the server does not answer: {problem}", where=self.address) from None

    def _refusal(self, status: int, content: bytes) -> DstressError:
        try:
            refusal = msgspec.json.decode(content, type=_Refusal)
        except UNREADABLE_JSON:
            refusal = _Refusal()
        fix = refusal.fix[:_LONGEST_PROBLEM]
        if status == 401:
            fix = "make a token on the page Tokens of your account, and put it into DSTRESS_TOKEN"
        problem = refusal.problem[:_LONGEST_PROBLEM] or f"the server answers {status}"
        return DstressError(problem, where=self.address, fix=fix)

    def await_submission(self, submission: int, seconds: float) -> Any:
        """The submission once it is scored, or has failed."""
        pause, end = _POLL, time.monotonic() + seconds
        while (facts := self.ask("GET", f"/submissions/{submission}", Handed))["state"] == "waiting":
            if time.monotonic() + pause > end:
                raise DstressError(
                    f"it is not scored after {seconds:g} seconds; its scores will be on its page",
                    where=f"{self.address.removesuffix('/api/v1')}/submissions/{submission}",
                    fix="look there later, or wait longer: --timeout SECONDS",
                )
            time.sleep(pause)
            pause = min(pause * 1.3, _LONGEST_POLL)
        return facts
