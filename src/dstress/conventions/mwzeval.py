"""The state tracking part of mwzeval (Nekvinda and Dusek's MultiWOZ_Evaluation): canonical forms, then fuzzy."""

from __future__ import annotations

from typing import Literal

from dstress.conventions.base import UNKNOWN_SLOT, Convention
from dstress.conventions.clock import on_the_clock
from dstress.conventions.fuzzy import partial_ratio
from dstress.conventions.labels import bare, tables, turned
from dstress.dialogue import DONTCARE, Slot

_ENOUGH = 95
_NAMES = frozenset({"name", "destination", "departure"})
_TIMES = frozenset({"arrive", "leave", "arriveby", "leaveat", "time"})
_SWITCHES = frozenset({"parking", "internet"})
_BOOK = "book"


class MwzEval(Convention):
    """The first gold value and the prediction, both in canonical form, match if `partial_ratio` is above 95.

    So a part of a name is as good as the name. Gold `dontcare` is deleted when gold is read, but predicted `dontcare`
    is not: it is always wrong, and gold does not score 1 against itself. The fuzzy match is fuzzywuzzy's with
    python-Levenshtein, which the package requires.

    Systems call the booking slots `time`, `people` ..., gold `booktime`, `bookpeople`; `book` says what becomes of it.
    `stripped` renames gold's after each side was prepared under its own name, so only predicted times are put on the
    clock; `prefixed` leaves the names apart, as the package does with its own gold: no booking slot matches; `same` is
    for systems that write `booktime`; `dropped` takes gold's away.
    """

    name = "mwzeval"
    reflexive = False

    def __init__(self, book: Literal["stripped", "prefixed", "same", "dropped"] = "stripped") -> None:
        self.book = book
        known = tables("mwzeval")
        self._maps = {kind: turned(known[kind]) for kind in ("names", "foods", "types", "times")}
        self._openings = turned(known["time_openings"])

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        if DONTCARE in values or (self.book == "dropped" and _is_booking(slot)):
            return ()
        return tuple(self.canonical(_name(slot), value) for value in values[:1])

    def predicted(self, slot: str, value: str) -> str | None:
        name = _name(slot)
        return self.canonical(name if self.book == "same" else name.removeprefix(_BOOK), value)

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        if self.book == "prefixed" and _is_booking(slot):
            return 0.0
        return float(partial_ratio(predicted, accepted[0]) > _ENOUGH)

    def canonical(self, name: str, value: str) -> str:
        """The script's form of a value, by the bare slot name. `booktime` is none of its times, and stays as it is."""
        if name in _NAMES:
            plain = value.strip().lower().replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
            return self._maps["names"].get(plain, plain)
        if name in _TIMES:
            return self._time(value.strip().lower())
        if name == "type":
            return self._maps["types"].get(value, value)
        if name == "food":
            return self._maps["foods"].get(value.strip().lower(), value.strip().lower())
        return "yes" if name in _SWITCHES and value == "free" else value

    def _time(self, time: str) -> str:
        if time in self._maps["times"]:
            return self._maps["times"][time]
        for opening, canonical in self._openings.items():
            if time.startswith(opening):
                return canonical
        return on_the_clock(time)


def _name(slot: str) -> str:
    return bare(slot).lower().replace(" ", "")


def _is_booking(slot: str) -> bool:
    return _name(slot).startswith(_BOOK)
