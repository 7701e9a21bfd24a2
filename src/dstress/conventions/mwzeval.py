"""The state tracking part of mwzeval (Nekvinda and Dusek's MultiWOZ_Evaluation): canonical forms, then fuzzy."""

from __future__ import annotations

from dstress.conventions.base import UNKNOWN_SLOT, Convention
from dstress.conventions.clock import on_the_clock
from dstress.conventions.fuzzy import partial_ratio
from dstress.conventions.labels import bare, tables, turned
from dstress.dialogue import DONTCARE, Slot

_ENOUGH = 95
_NAMES = frozenset({"name", "destination", "departure"})
_TIMES = frozenset({"arrive", "leave", "arriveby", "leaveat", "time"})
_SWITCHES = frozenset({"parking", "internet"})


class MwzEval(Convention):
    """The first gold value and the prediction, both in canonical form, match if `partial_ratio` is above 95.

    So a part of a name is as good as the name. Gold `dontcare` is deleted when gold is read, but predicted `dontcare`
    is not: it is always wrong, and gold does not score 1 against itself. The fuzzy match is fuzzywuzzy's with
    python-Levenshtein, which the package requires.
    """

    name = "mwzeval"
    reflexive = False

    def __init__(self) -> None:
        known = tables("mwzeval")
        self._maps = {kind: turned(known[kind]) for kind in ("names", "foods", "types", "times")}
        self._openings = turned(known["time_openings"])

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return () if DONTCARE in values else tuple(self._canonical(slot, value) for value in values[:1])

    def predicted(self, slot: str, value: str) -> str | None:
        return self._canonical(slot, value)

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        return float(partial_ratio(predicted, accepted[0]) > _ENOUGH)

    def _canonical(self, slot: str, value: str) -> str:
        """By the bare slot name. `book time` is none of the times, in the script as well, and stays as it is."""
        name = bare(slot).lower().replace(" ", "")
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
