"""The state tracking part of mwzeval (Nekvinda and Dusek's MultiWOZ_Evaluation): canonical forms, then fuzzy."""

from __future__ import annotations

from typing import Literal

from dstress.conventions.base import UNKNOWN_SLOT, Convention
from dstress.conventions.fuzzy import partial_ratio
from dstress.conventions.labels import bare_slot, invert
from dstress.dialogue import DONTCARE, Slot
from dstress.text.tables import read_table

_ENOUGH = 95
_NAMES = frozenset({"name", "destination", "departure"})
_TIMES = frozenset({"arrive", "leave", "arriveby", "leaveat", "time"})
_SWITCHES = frozenset({"parking", "internet"})
_BOOK = "book"
_MORNING, _AFTERNOON = ("am", "a.m."), ("pm", "p.m.")
_LONGEST = 4_000
"""Python turns no more digits than 4,300 into a number; where they are more, the script stops with an error."""


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
        tables = read_table(__package__, "mwzeval.toml")
        self._maps = {kind: invert(tables[kind]) for kind in ("names", "foods", "types", "times")}
        self._openings = invert(tables["time_openings"])

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
            time = value.strip().lower()
            if time in self._maps["times"]:
                return self._maps["times"][time]
            openings = (canonical for opening, canonical in self._openings.items() if time.startswith(opening))
            return next(openings, None) or to_clock(time)
        if name == "type":
            return self._maps["types"].get(value, value)
        if name == "food":
            return self._maps["foods"].get(value.strip().lower(), value.strip().lower())
        return "yes" if name in _SWITCHES and value == "free" else value


def _name(slot: str) -> str:
    return bare_slot(slot).lower().replace(" ", "")


def _is_booking(slot: str) -> bool:
    return _name(slot).startswith(_BOOK)


def to_clock(time: str) -> str:
    """A time in lower case as HH:MM, as far as the script gets: `by 5:15 pm` -> `17:15`, `9` -> `09:00`.

    This repeats the script expression for expression, misreadings included (noon becomes 24:00); what people mean by a
    time, `dstress.text.times` reads. Where a p.m. hour is no number the script stops with an error; the text stays.
    """
    time = time[3:] if time.startswith("by") else time
    for word in ("after", "afer"):
        time = time[len(word) :].strip() if time.startswith(word) else time
    time = _without_ending(time, _MORNING)
    if time.endswith(_AFTERNOON):
        time = _without_ending(time, _AFTERNOON)
        hour, colon, minutes = time.partition(":")
        if ":" not in minutes and hour.strip().isdecimal() and len(hour) <= _LONGEST:
            return f"{int(hour) + 12}:{minutes if colon else '00'}"
    if not time:
        return "00:00"
    time = time[:-1] if time[-1] in ".,?" else time
    if time.isdigit():
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = "".join(time.split(" "))
    if len(time) == 4 and time[1] == ":":
        hour, minutes = time.split(":")[:2]
        return f"{hour.zfill(2)}:{minutes}"
    return time


def _without_ending(time: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        time = time.removesuffix(ending).strip() if time.endswith(ending) else time
    return time
