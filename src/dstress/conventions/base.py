"""The contract of a convention: what counts as the same value.

A convention prepares each gold and each predicted value on its own, and compares the two. It never sees a whole
corpus, so values can be prepared and compared once per distinct pair, however large the data.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal

from dstress.conventions.calls import Check, equal_values
from dstress.dialogue import Slot, State, service_of

Unit = Literal["turn", "frame"]
UNKNOWN_SLOT = Slot("")
"""What a slot counts as that no schema describes: not categorical."""
INFORMED = "§§"
"""Marks a predicted value that the tracker took over from the system's words or another slot (TripPy).

The value follows, and then, after another mark each, the forms that gold accepted in the turn of taking over.
"""


def without_gold(value: str) -> str:
    """A predicted value without marks and what they add."""
    return value.split(INFORMED)[1] if value.startswith(INFORMED) else value


class Convention(ABC):
    """A named bundle: how values are normalised, when two are the same, and over what accuracy is joint.

    A subclass overrides only where its script departs from plain equality.
    """

    name: ClassVar[str]
    unit: ClassVar[Unit] = "turn"
    """Joint over all services of a turn, or over each frame (one service in one turn) by itself."""
    reflexive: ClassVar[bool] = True
    """Gold scored against itself is always 1. False where the official script changes only one of the two sides."""
    within_schema: ClassVar[bool] = False
    """Slots outside the schema, and services without a gold frame in the turn, are never looked at."""

    reads_informed: ClassVar[bool] = False
    """Predicted values keep TripPy's mark for "taken over", with the gold of that turn (see `INFORMED`)."""

    about_calls: ClassVar[bool] = False
    """It is one of calls, and says nothing of its own of states: `--conventions all` leaves it out."""
    credits_unparsed: bool = False
    """Where nothing may be called, an answer from which no call could be read counts as calling nothing."""

    def argument(self, accepted: Sequence[Any], parameter: Mapping[str, Any]) -> Check:
        """What checks an argument of a call, of a parameter with this JSON schema."""
        return equal_values(accepted, parameter)

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        """The accepted forms of a gold value; none left means that the slot counts as inactive."""
        return values

    def predicted(self, slot: str, value: str) -> str | None:
        """The predicted value as it is compared; None means that the slot counts as inactive."""
        return value

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        """How right `predicted` is, from 0 to 1. `kind` is the schema's entry for the slot."""
        return float(predicted in accepted)

    def considers(self, slot: str, services: Collection[str], schema: Collection[str]) -> bool:
        """Whether a slot is looked at in a turn with frames of these services, under a schema with these slots."""
        by_frame = self.within_schema or self.unit == "frame"
        return not (by_frame and service_of(slot) not in services) and not (self.within_schema and slot not in schema)

    def ignores(self, slot: str, gold: Collection[str], listed: Collection[str] | None = None) -> bool:
        """Whether a predicted slot counts for nothing, beside a gold state with these slots.

        `listed` are all slots that gold names, empty ones included, where the file says so.
        """
        return False

    def score(self, gold: State, predicted: dict[str, str], slots: dict[str, Slot] | None = None) -> float:
        """Joint accuracy of one unit: the product of its slots' similarities. Short and slow, the plain definition."""
        if self.within_schema and slots is not None:
            gold = {slot: values for slot, values in gold.items() if slot in slots}
            predicted = {slot: value for slot, value in predicted.items() if slot in slots}
        active = {slot: accepted for slot, values in gold.items() if (accepted := self.gold(slot, values))}
        prepared = {slot: self.predicted(slot, value) for slot, value in predicted.items()}
        result = 1.0
        for slot, value in prepared.items():
            if slot not in active and value is not None and not self.ignores(slot, active):
                return 0.0
        for slot, accepted in active.items():
            value = prepared.get(slot)
            if value is None:
                return 0.0
            result *= self.similarity(slot, accepted, value, (slots or {}).get(slot, UNKNOWN_SLOT))
        return result
