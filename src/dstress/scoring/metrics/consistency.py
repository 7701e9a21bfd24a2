"""Metrics over several runs of one tracker, and CheckDST's two: right on a sample and on its perturbed copy.

A run leaves one number per unit. Runs pair unit by unit, by name, into a table (units, runs); a metric over runs is
then what every metric is, statistics of each row and the value of their sums, so that dialogues can be resampled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dstress.scoring.metrics.base import PERCENT, Floats, over_units, ratio

Names = npt.NDArray[np.str_]


class PairedUnits(NamedTuple):
    """The units that every run has, in the order of their names, and how many have no partner somewhere."""

    names: Names
    table: Floats
    left_out: int


class OverRuns(ABC):
    """A number over the table (units, runs) of several runs, by default a ratio of two columns of statistics."""

    name: str
    higher_is_better: ClassVar[bool] = True
    unit: ClassVar[str] = PERCENT
    bounded: ClassVar[bool] = True
    """Whether it lies between 0 and 1."""

    @abstractmethod
    def statistics(self, table: Floats) -> Floats:
        """A row of numbers for each unit. Only their sums matter."""

    def value(self, sums: Floats) -> Floats:
        """The metric for sums of statistics, along the last axis; nan where it is undefined."""
        return ratio(sums[..., 0], sums[..., 1])

    def count(self, sums: Floats) -> float:
        """How many units the value stands on."""
        return float(sums[..., 1])


class OverPairs(OverRuns):
    """A number over pairs: the original in the first column, its stressed copy in the second.

    CheckDST leaves out pairs that were not perturbed, and so does every metric of pairs; `over=all` keeps them.
    """

    base_name: ClassVar[str]

    def __init__(self, over: Literal["changed", "all"] = "changed") -> None:
        self.over = over
        self.name = self.base_name if over == "changed" else f"{self.base_name}(over={over})"


class Cjga(OverPairs):
    """Conditional JGA: both right, over the changed pairs of which either is (CheckDST, section 2.1, equation 3).

    The official class calls it `conditional_jga`. Undefined where nothing is right on either side. Under a fuzzy
    convention a unit is right when its joint accuracy is 1: the paper's f is 0 or 1.
    """

    base_name = "cjga"

    def statistics(self, table: Floats) -> Floats:
        right = _right(table)
        return np.column_stack((right.all(axis=1), right.any(axis=1))).astype(np.float64)


class ConsistentJga(OverPairs):
    """Consistent JGA: both right, over changed pairs. The official class, after the paper, calls this `cjga`."""

    base_name = "consistent-jga"

    def statistics(self, table: Floats) -> Floats:
        return over_units(np.asarray(_right(table).all(axis=1), np.float64))


class NewlyWrong(OverPairs):
    """Of the changed pairs that are right on the original, the share that is wrong on the copy."""

    base_name = "newly-wrong"
    higher_is_better = False

    def statistics(self, table: Floats) -> Floats:
        before, after = _right(table).T
        return over_units(np.asarray(before & ~after, np.float64), before)


class NewlyRight(OverPairs):
    """Of the changed pairs that are wrong on the original, the share that is right on the copy."""

    base_name = "newly-right"

    def statistics(self, table: Floats) -> Floats:
        before, after = _right(table).T
        return over_units(np.asarray(~before & after, np.float64), ~before)


class AlwaysWrong(OverPairs):
    """Share of the changed pairs that are wrong on both sides: what neither breaks nor varies, as it never worked."""

    base_name = "always-wrong"
    higher_is_better = False

    def statistics(self, table: Floats) -> Floats:
        return over_units(np.asarray(~_right(table).any(axis=1), np.float64))


def paired(names: Sequence[Names], values: Sequence[Floats]) -> PairedUnits:
    """Bring runs together by the names of their units. What any run lacks is left out, and counted."""
    for run, measured in zip(names, values, strict=True):
        if len(run) != len(measured) or len(np.unique(run)) != len(run):
            raise ValueError("a run has one value for each unit, and a name of its own for each")
    shared = reduce(np.intersect1d, names)
    runs = zip(names, values, strict=True)
    table = np.column_stack([np.asarray(measured, np.float64)[places_of(shared, run)] for run, measured in runs])
    return PairedUnits(shared, table, len(reduce(np.union1d, names)) - len(shared))


def places_of(units: Names, names: Names) -> npt.NDArray[np.int64]:
    """Where the wanted units are among a run's, in the wanted order."""
    order = np.argsort(names)
    return np.asarray(order[np.searchsorted(names, units, sorter=order)], np.int64)


def _right(table: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(table >= 1.0, np.bool_)
