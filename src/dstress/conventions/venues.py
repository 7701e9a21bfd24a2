"""Which places and trains of a database fit a state or a goal, as mwzeval's script looks them up.

A name, a food or a station need only be alike, a time may be earlier or later, what the database does not know (`?`)
fits everything, and everything else must be equal in canonical form. Each distinct value is compared with each distinct
value of its column once, and each distinct query is asked once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from dstress.conventions.fuzzy import partial_ratio
from dstress.conventions.mwzeval import MwzEval
from dstress.corpora.database import Database
from dstress.dialogue import DONTCARE
from dstress.text.placeholders import NAME, TRAIN_ID

BOOKING = "book "
"""What slots that only a booking needs begin with."""
_UNNAMED = frozenset({"taxi", "police", "hospital"})
"""Services whose database offers no choice: nothing needs to be named."""
_ALIKE = 90
_ALIKE_COLUMNS = {"restaurant": {"name", "food"}, "train": {"departure", "destination"}}
_EARLIEST, _LATEST = "leaveat", "arriveby"
_NOT_ASKED = frozenset({"openhours", "takesbookings", "introduction", "signature", "location"})
_OPEN = frozenset({"dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care"})
_UNKNOWN = "?"
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2,})")


class Venues:
    """The database's rows by what identifies them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._canonical = MwzEval().canonical
        self._accepted = cache(self._accept)
        self._ids: dict[tuple[str, frozenset[tuple[str, str]]], frozenset[str]] = {}

    def placeholder(self, service: str) -> str:
        """The kind of placeholder that offers a row of a service; empty where none needs to be offered."""
        rows = self.database.tables.get(service, ())
        if not rows or service in _UNNAMED:
            return ""
        return TRAIN_ID if "trainid" in rows[0] else NAME

    def find(self, service: str, constraints: Mapping[str, str]) -> frozenset[str]:
        """The ids of the rows that fit; constraints are by column."""
        key = service, frozenset(constraints.items())
        if key not in self._ids:
            accepted = {column: self._accepted(service, column, value) for column, value in self.asked(constraints)}
            self._ids[key] = frozenset(map(identify, self.database.query(service, accepted)))
        return self._ids[key]

    def asked(self, constraints: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The constraints that count, in canonical form."""
        for column, value in constraints.items():
            if column not in _NOT_ASKED and value not in _OPEN:
                yield column, self._canonical(column, value)

    def fits(self, service: str, column: str, stored: str, value: str) -> bool:
        """Whether a value of the database fits a wanted one."""
        if stored == _UNKNOWN:
            return True
        if column == _LATEST:
            return _minutes(stored) <= _minutes(value)
        if column == _EARLIEST:
            return _minutes(stored) >= _minutes(value)
        if column in _ALIKE_COLUMNS.get(service, {"name"}):
            return partial_ratio(stored.casefold(), value) >= _ALIKE
        return self._canonical(column, stored) == value

    def _accept(self, service: str, column: str, value: str) -> frozenset[str]:
        stored = self.database.values(service, column)
        return frozenset(other for other in stored if self.fits(service, column, other, value))


def constraints_of(state: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What a state looks for in the database: by service and column, in canonical form; bookings look for nothing."""
    canonical, constraints = MwzEval(), dict[str, dict[str, str]]()
    for slot, value in state.items():
        service, _, name = slot.partition("-")
        constraint = canonical.predicted(slot, value)
        if constraint and constraint != DONTCARE and not name.startswith(BOOKING):
            constraints.setdefault(service, {})[name.casefold().replace(" ", "")] = constraint
    return constraints


def identify(row: Mapping[str, str]) -> str:
    """What stands for a row; trains of several days that share an id are one."""
    return row.get("trainid") or row.get("id") or row.get("name") or str(sorted(row.items()))


@cache
def _minutes(time: str) -> int:
    """Since midnight; what is no time is midnight."""
    clock = _CLOCK.match(time)
    return int(clock[1]) * 60 + int(clock[2]) if clock else 0
