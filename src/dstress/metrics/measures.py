"""What the name of any measure says of it: which way is better, and in what it is measured."""

from __future__ import annotations

from typing import NamedTuple

from dstress.metrics import metrics, pair_metrics, variant_metrics
from dstress.metrics.base import PERCENT
from dstress.spec import parse

OVER_VARIANTS = "-v1-5"


class Measure(NamedTuple):
    """Which way is better, the unit (`%` are fractions, shown in percent, anything else is shown as it is), and
    whether 0 and 1 are its ends."""

    higher_is_better: bool = True
    unit: str = PERCENT
    bounded: bool = True

    @property
    def is_share(self) -> bool:
        """Whether it lies between 0 and 1, and more is better, so that it can be drawn as an accuracy."""
        return self.higher_is_better and self.bounded


def measure_of(metric: str) -> Measure:
    """What is known of a metric by its name; of one that is not installed any more, what holds for most."""
    name = parse(metric.removesuffix(OVER_VARIANTS)).name
    if name in metrics or ":" in name:
        found = metrics.get(name)
        return Measure(found.higher_is_better, found.unit, found.unit == PERCENT)
    if name in pair_metrics or name in variant_metrics:
        over = pair_metrics.get(name) if name in pair_metrics else variant_metrics.get(name)
        return Measure(over.higher_is_better, over.unit, over.bounded)
    return Measure()
