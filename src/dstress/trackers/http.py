"""A tracker behind HTTP: a server of any kind, anywhere, that answers contexts with states."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from dstress.errors import SpecError
from dstress.llm.post import TIMEOUT, UNREACHABLE, Poster, Unanswered, checked_url
from dstress.trackers.base import Answer, Context, Failed, Tracker
from dstress.trackers.wire import MALFORMED, Unreadable, context_data, read_answer, schema_data


class Http(Tracker):
    """A server: POST {schema, contexts: [...]} to `url`, answered by {answers: [{state: {...}}, ...]}.

    A request that is answered with 429 or 5xx, that is cut off, or not answered within `timeout` seconds is sent again
    up to `retries` times. A batch that still fails is split, so that the turn which breaks it fails alone. With
    `sequential` each context carries the server's own previous answer. `version` says which model is behind the
    address: give another when you change it, or a run goes on with the answers of the old one.
    """

    def __init__(
        self,
        url: str,
        batch: int = 32,
        timeout: float = 60.0,
        retries: int = 3,
        sequential: bool = False,
        version: str = "",
    ) -> None:
        if batch < 1 or timeout <= 0 or retries < 0:
            raise SpecError("http: batch must be 1 or more, timeout above 0, retries 0 or more")
        self.url, self.batch, self.timeout, self.retries = checked_url("http", url), batch, timeout, retries
        self.sequential, self.version = sequential, version
        self._poster: Poster | None = None
        self._requests = self._retried = 0

    def __getstate__(self) -> dict[str, Any]:
        """Connections stay behind when it is sent to another process."""
        return self.__dict__ | {"_poster": None}

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The server's answers to a batch, of one schema."""
        return self._settle(contexts, self._request(contexts))

    def fingerprint(self) -> str:
        """The address and the version; patience and batch size change no answer."""
        made_of = msgspec.json.encode(["http", self.url, self.sequential, self.version])
        return hashlib.sha256(made_of).hexdigest()[:16]

    def usage(self) -> dict[str, float]:
        """Requests, and how many of them were sent again."""
        retried = self._retried + (self._poster.take_retries() if self._poster else 0)
        usage = {"requests": float(self._requests + retried), "retries": float(retried)}
        self._requests = self._retried = 0
        return usage

    def close(self) -> None:
        """Close the connections."""
        if self._poster is not None:
            self._retried += self._poster.take_retries()
            self._poster.close()
            self._poster = None

    def _request(self, contexts: Sequence[Context], tries: int | None = None) -> list[Answer] | Unanswered:
        """The server's answers, or why there are none."""
        if self._poster is None:
            self._poster = Poster(self.url, self.timeout, self.retries)
        self._requests += 1
        body = {
            "schema": schema_data(contexts[0].schema),
            "contexts": [context_data(context, previous=self.sequential) for context in contexts],
        }
        try:
            return _read_answers(self._poster.post(msgspec.json.encode(body), tries=tries), contexts)
        except Unanswered as problem:
            return problem

    def _settle(self, contexts: Sequence[Context], outcome: list[Answer] | Unanswered) -> list[Answer]:
        """The answers; a batch without is asked for again in halves, as long as that helps."""
        if isinstance(outcome, list):
            return outcome
        if len(contexts) == 1 or outcome.category == UNREACHABLE:
            return [Failed(str(outcome)) for _ in contexts]
        middle = len(contexts) // 2
        halves = [contexts[:middle], contexts[middle:]]
        outcomes = [self._request(half, tries=1) for half in halves]
        if all(isinstance(again, Unanswered) and again.category == TIMEOUT for again in outcomes):
            # Not one turn hangs but the server: asking for ever smaller parts would take hours.
            return [Failed(str(outcome)) for _ in contexts]
        return [answer for half, again in zip(halves, outcomes, strict=True) for answer in self._settle(half, again)]


def _read_answers(content: bytes, contexts: Sequence[Context]) -> list[Answer]:
    try:
        data = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unanswered(MALFORMED, f"no JSON ({error}): {content[:60]!r}") from None
    answers = data.get("answers") if isinstance(data, dict) else None
    if not isinstance(answers, list):
        raise Unanswered(MALFORMED, f"no list of answers: {content[:60]!r}")
    if len(answers) != len(contexts):
        raise Unanswered(MALFORMED, f"{len(answers)} answers to {len(contexts)} turns")
    read: list[Answer] = []
    for answer, context in zip(answers, contexts, strict=True):
        try:
            read.append(read_answer(answer, context))
        except Unreadable as problem:
            read.append(Failed(f"{MALFORMED}: {problem}"))
    return read
