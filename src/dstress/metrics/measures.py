"""What the name of any measure says of it: which way is better, and in what it is measured."""

from __future__ import annotations

from typing import NamedTuple

from dstress.metrics import metrics, pair_metrics, variant_metrics
from dstress.metrics.base import PERCENT
from dstress.spec import parse

_OF_VERSIONS = ("-v1-5", "-orig")
"""What a metric's name ends with where it is of several versions together, or of the original among them."""


class Measure(NamedTuple):
    """Which way is better, and the unit; `%` are fractions, shown in percent, anything else is shown as it is."""

    higher_is_better: bool = True
    unit: str = PERCENT

    @property
    def is_share(self) -> bool:
        """Whether it lies between 0 and 1, and more is better, so that it can be drawn as an accuracy."""
        return self.higher_is_better and self.unit == PERCENT


def measure_of(metric: str) -> Measure:
    """What is known of a metric by its name; of one that is not installed any more, what holds for most."""
    for ending in _OF_VERSIONS:
        metric = metric.removesuffix(ending)
    name = parse(metric).name
    if name in metrics or ":" in name:
        found = metrics.get(name)
        return Measure(found.higher_is_better, found.unit)
    if name in pair_metrics or name in variant_metrics:
        over = pair_metrics.get(name) if name in pair_metrics else variant_metrics.get(name)
        return Measure(over.higher_is_better, over.unit)
    return Measure()
