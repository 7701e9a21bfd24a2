"""How often something may be done: counted in the database, so that all processes of a server count together."""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple

from sqlalchemy import delete
from sqlalchemy.orm import Session

from dstress.leaderboard.database import upsert_into
from dstress.leaderboard.tables import RateLimit
from dstress.leaderboard.web.security import digest

_KEPT = 2 * 24 * 3600
"""Seconds after which a window is forgotten; no limit is over a longer time."""


class Limit(NamedTuple):
    """At most `times` in a window of `seconds`."""

    times: int
    seconds: int


class TooOften(Exception):
    """Something was done more often than it may be; `wait` is in seconds."""

    def __init__(self, wait: int) -> None:
        self.wait = wait
        super().__init__(f"too many tries; wait {wait} seconds")


def count(db: Session, key: str, limit: Limit) -> None:
    """Count one more; raises TooOften over the limit. Commits, since a try counts even if it fails: call it first."""
    present = int(time.time())
    window = present - present % limit.seconds
    statement = (
        upsert_into(db, RateLimit)
        .values(key=digest(f"{key}/{limit.seconds}"), window=window, count=1)
        .on_conflict_do_update(index_elements=["key", "window"], set_={"count": RateLimit.count + 1})
        .returning(RateLimit.count)
    )
    counted = db.execute(statement).scalar_one()
    if counted == 1:  # a new window: a time to forget those that have long closed
        db.execute(delete(RateLimit).where(RateLimit.window < present - _KEPT))
    db.commit()
    if counted > limit.times:
        raise TooOften(window + limit.seconds - present)


def address_block(address: str) -> str:
    """What one person may hold of addresses: the /64 of an IPv6 address, since whoever has one has all of them."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else address
