"""Try again what may pass by itself, with growing waits: the one retry loop of the house."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

_LONGEST_ASKED_WAIT = 300.0
"""A server that asks for more patience than this gets another try all the same."""

T = TypeVar("T")


class Passing(Exception):
    """Trouble that may pass. `wait` is how many seconds the server asks for."""

    wait: float = 0.0


def retry(
    attempt: Callable[[], T], tries: int, *, pause: Callable[[float], None], first_wait: float, longest_wait: float
) -> T:
    """What `attempt` returns; while it raises Passing, it is made again, `tries` times in all.

    Each wait is twice the one before, from `first_wait` to `longest_wait` seconds, but never shorter than the server
    asks for. `pause` does the waiting, so that it can be cut short: what it raises ends the retries.
    """
    for retries in range(tries - 1):
        try:
            return attempt()
        except Passing as trouble:
            pause(max(trouble.wait, min(longest_wait, first_wait * 2**retries)))
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
    return min(max(seconds, 0.0), _LONGEST_ASKED_WAIT) if seconds == seconds else 0.0
