"""What the name of any measure says of it: which way is better, and in what it is measured."""

from __future__ import annotations

from typing import NamedTuple

from dstress.errors import DstressError, unknown
from dstress.scoring.metrics import metrics, pair_metrics, variant_metrics
from dstress.scoring.metrics.base import PERCENT, POINTS
from dstress.scoring.metrics.consistency import OverRuns
from dstress.scoring.metrics.sensitivity import OverVariants
from dstress.spec import parse

_OVER_VARIANTS, _ON_ORIGINAL = "-v1-5", "-orig"
"""What a metric's name ends with where it is of several versions together, or of the original among them."""


AVERAGE = "average"
"""The measure of a suite's averages over its columns."""


class Measure(NamedTuple):
    """Which way is better, the unit (`%` are fractions, shown in percent, anything else is shown as it is), whether 0
    and 1 are its ends, and whether it describes the data and no system."""

    higher_is_better: bool = True
    unit: str = PERCENT
    bounded: bool = True
    of_data: bool = False
    remark: str = ""

    @property
    def is_share(self) -> bool:
        """Whether it lies between 0 and 1, and more is better, so that it can be drawn as an accuracy."""
        return self.higher_is_better and self.bounded and not self.of_data

    @property
    def sign(self) -> int:
        """What a difference is multiplied with, so that a gain is positive."""
        return 1 if self.higher_is_better else -1

    @property
    def data_unit(self) -> str:
        """The unit of a value in data: fractions are shown in percent, and written as shares."""
        return "share" if self.unit == PERCENT else self.unit

    @property
    def scale(self) -> int:
        """What a value is multiplied with for people to read."""
        return 100 if self.unit == PERCENT else 1


def measure_of(metric: str) -> Measure:
    """What is known of a metric by its name; of one that is not installed any more, what holds for most."""
    if metric == AVERAGE:
        return Measure(unit=POINTS, bounded=False)
    for ending in (_OVER_VARIANTS, _ON_ORIGINAL):
        metric = metric.removesuffix(ending)
    name = parse(metric).name
    if name in metrics or ":" in name:
        component = metrics.get(name)
        return Measure(
            component.higher_is_better, component.unit, component.unit == PERCENT, component.of_data, component.remark
        )
    if name in pair_metrics or name in variant_metrics:
        over = pair_metrics.get(name) if name in pair_metrics else variant_metrics.get(name)
        return Measure(over.higher_is_better, over.unit, over.bounded)
    return Measure()


def over_variants(metric: str) -> OverRuns | None:
    """The metric over several variants of this name, such as `ss(jga)` or `jga-v1-5`; None where it is another kind."""
    if metric.endswith(_OVER_VARIANTS):
        return OverVariants(metric.removesuffix(_OVER_VARIANTS))
    return variant_metrics.create(metric) if parse(metric).name in variant_metrics else None


def require_metric(metric: str, *, of_one_file: bool = False) -> None:
    """Refuse a name that no kind of metric has; and, of one file, a metric that needs several versions of the data."""
    name, several = parse(metric).name, [*pair_metrics, *variant_metrics]
    if of_one_file and name in several:
        fix = "`dstress versions` computes it of files; a run has it, and so have `dstress compare RUN RUN` and `gate`"
        raise DstressError(f"{metric} is of several versions of the data, and not of one file", fix=fix)
    if name not in (*metrics, *several) and ":" not in name and not name.endswith((_OVER_VARIANTS, _ON_ORIGINAL)):
        fix = "`dstress list metrics` shows those of one file; pair_metrics and variant_metrics are listed alike"
        raise unknown("metric", name, (*metrics, *several), fix=fix)


def describe(metric: str) -> str:
    """The name for people to read beside differences: with its unit, and a warning where a plus is no gain."""
    measure = measure_of(metric)
    unit = "" if measure.unit == PERCENT else f"in {measure.unit}"
    remarks = ", ".join(filter(None, (unit, "" if measure.higher_is_better else "lower is better")))
    return f"{metric} ({remarks})" if remarks else metric
