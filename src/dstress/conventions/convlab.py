"""ConvLab-3's evaluation on its unified data format."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from dstress.conventions.base import UNKNOWN_SLOT, Convention
from dstress.dialogue import Slot, service_of


class ConvLab(Convention):
    """Equality without white space and letter case; `|` joins alternatives on either side, and any may match.

    The script walks through the slots that the gold state lists, empty ones included, and never sees other predicted
    slots. `listed` says which slots those are: `file` takes them from the gold in the prediction file and, without one,
    does as `active`, which takes the domains that have a value. With `all` every slot counts and nothing is ignored.
    """

    name = "convlab"

    def __init__(self, listed: Literal["file", "active", "all"] = "file") -> None:
        self.listed = listed

    def gold(self, slot: str, values: tuple[str, ...]) -> tuple[str, ...]:
        if not values or not values[0].strip():
            return ()
        return tuple(dict.fromkeys(form for value in values for form in _squeezed(value).split("|")))

    def predicted(self, slot: str, value: str) -> str | None:
        return _squeezed(value) or None

    def similarity(self, slot: str, accepted: tuple[str, ...], predicted: str, kind: Slot = UNKNOWN_SLOT) -> float:
        return float(any(form in accepted for form in predicted.split("|")))

    def ignores(self, slot: str, gold: Collection[str], listed: Collection[str] | None = None) -> bool:
        if self.listed == "file" and listed is not None:
            return slot not in listed
        return self.listed != "all" and service_of(slot) not in {service_of(other) for other in gold}


def _squeezed(value: str) -> str:
    return "".join(value.split()).lower()
