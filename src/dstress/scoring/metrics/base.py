"""The contract of a metric: statistics of every unit, and the value of their sums.

Because the two are apart, sums over shards, slices, dialogues and bootstrap resamples are all made the same way, once,
for every metric: a metric never averages by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dstress.scoring.alignment.cells import Alignment

Floats = npt.NDArray[np.float64]

PERCENT = "%"
"""The unit of fractions between 0 and 1, which people read in percent."""

POINTS = "points"
"""The unit of numbers of 100 that are never fractions: the field's response scores, and means of several measures."""


class Metric(ABC):
    """A number over units, by default a ratio: `statistics` has two columns, what is right and out of how much."""

    name: ClassVar[str]
    width: ClassVar[int] = 2
    """How many columns its statistics have."""
    by_turn: ClassVar[bool] = False
    """Statistics are per turn even where the convention's unit is the frame: the metric looks at whole turns."""
    by_dialogue: ClassVar[bool] = False
    """It judges whole dialogues: only the sum over a dialogue's turns says anything. Such a metric is `by_turn`."""
    reads_responses: ClassVar[bool] = False
    """It is about what the system says, not about its states."""
    on_request: ClassVar[bool] = False
    """Computed only if asked for by name, or with `all`: it takes longer than the others, or is for a special use."""
    needs_states: ClassVar[bool] = True
    """Says nothing where gold has no state in any turn."""
    restrictable: ClassVar[bool] = True
    """Has a meaning for the slots of one service alone."""
    higher_is_better: ClassVar[bool] = True
    """Which way the gate, the findings and the plots call better."""
    of_data: ClassVar[bool] = False
    """Describes what a stressor did to the data: no answer plays in, and neither more nor less is better."""
    unit: ClassVar[str] = PERCENT
    """What it is measured in, such as `slots`; only percent are multiplied by 100 for people to read."""
    remark: ClassVar[str] = ""
    """What tables that show it should say, such as that gold itself is below 100."""
    ceiling: ClassVar[float | None] = None
    """The highest value there may be, where it is measured from 0 in something else than percent, which end at 1."""

    @property
    def highest(self) -> float | None:
        """The highest value there may be, the lowest being 0; None where it has no such ends."""
        return 1.0 if self.unit == PERCENT else self.ceiling

    def missing(self, alignment: Alignment) -> str:
        """Why the metric cannot be computed here ("the predictions have no intents"); empty where it can."""
        return ""

    @abstractmethod
    def statistics(self, alignment: Alignment) -> Floats:
        """A row of numbers for each unit (or turn). Only their sums matter."""

    def value(self, sums: Floats) -> Floats:
        """The metric for sums of statistics, along the last axis; nan where it is undefined."""
        return ratio(sums[..., 0], sums[..., 1])

    def count(self, sums: Floats) -> float:
        """How many units (or slots, or changes) the value stands on."""
        return float(sums[..., 1])


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> Floats:
    """part / whole, nan where there is nothing."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    nothing = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.asarray(np.divide(part, whole, out=nothing, where=whole != 0), np.float64)


def over_units(numerator: Floats, counted: npt.ArrayLike | None = None) -> Floats:
    """Statistics of a mean over units: the number, and whether the unit counts at all."""
    counts = np.ones(len(numerator)) if counted is None else np.asarray(counted, np.float64)
    return np.column_stack((np.where(counts > 0, numerator, 0.0), counts))
