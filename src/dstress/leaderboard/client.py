"""A platform as programs see it: its API over HTTP, with its problems as ours."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from dstress.errors import DstressError
from dstress.storage.atomic import replacing

_TIMEOUT = httpx.Timeout(30, read=600, write=600)
_POLL, _LONGEST_POLL = 0.5, 10.0
_ADDRESS = re.compile(r"(?P<server>https?://[^/]+(?:/.*?)?)/benchmarks/(?P<slug>[a-z0-9-]+)/?")


class BenchmarkAddress(NamedTuple):
    """Where a benchmark is."""

    server: str
    slug: str


def parse_address(text: str) -> BenchmarkAddress:
    """`https://board.example.org/benchmarks/winter` in its two parts."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise DstressError(f"{text!r} is no benchmark's address", fix="such as https://host/benchmarks/name")
    return BenchmarkAddress(found["server"], found["slug"])


class Platform:
    """A server, asked with a person's token; what anybody may know needs none."""

    def __init__(self, server: str, token: str = "") -> None:
        if urlsplit(server).scheme not in ("http", "https"):
            raise DstressError(f"{server!r} is no server's address", fix="such as https://board.example.org")
        self.address = f"{server.rstrip('/')}/api/v1"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, headers=self.headers, timeout=_TIMEOUT)

    def ask(self, method: str, path: str, **given: Any) -> Any:
        """What the server answers, decoded; what it refuses is an error in its own words."""
        try:
            with self._client() as client:
                answer = client.request(method, path, **given)
        except httpx.HTTPError as error:
            problem = f"the server does not answer: {error or type(error).__name__}"
            raise DstressError(problem, where=self.address) from None
        if not answer.is_success:
            raise self._refusal(answer)
        return answer.json()

    def _refusal(self, answer: httpx.Response) -> DstressError:
        try:
            said = answer.json()
        except ValueError:
            said = {}
        problem = said.get("problem") or f"the server answers {answer.status_code}"
        fix = said.get("fix", "")
        if answer.status_code == 401:
            fix = "make a token on the page Tokens of your account, and put it into DSTRESS_TOKEN"
        return DstressError(problem, where=self.address, fix=fix)

    def download(self, path: str, to: Path) -> None:
        """A file, whole or not at all."""
        try:
            with self._client() as client, client.stream("GET", path) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._refusal(answer)
                with replacing(to) as out:
                    for piece in answer.iter_bytes():
                        out.write(piece)
        except httpx.HTTPError as error:
            raise DstressError(f"the download broke off: {error}", where=path) from None

    def await_submission(self, submission: int, on_progress: Callable[[str], None] = lambda state: None) -> Any:
        """The submission once it is scored, or has failed."""
        pause = _POLL
        while (found := self.ask("GET", f"/submissions/{submission}"))["state"] == "waiting":
            on_progress(found["state"])
            time.sleep(pause)
            pause = min(pause * 1.3, _LONGEST_POLL)
        return found
