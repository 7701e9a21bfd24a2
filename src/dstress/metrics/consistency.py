"""Metrics over several runs of one tracker, and CheckDST's two: right on a sample and on its perturbed copy.

A run leaves one number per unit. Runs pair unit by unit, by name, into a table (units, runs); a metric over runs is
then what every metric is, statistics of each row and the value of their sums, so that dialogues can be resampled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dstress.metrics.base import Floats, over_units, ratio

Names = npt.NDArray[np.str_]


class PairedUnits(NamedTuple):
    """The units that every run has, in the order of their names, and how many have no partner somewhere."""

    names: Names
    table: Floats
    left_out: int


class OverRuns(ABC):
    """A number over the table (units, runs) of several runs, by default a ratio of two columns of statistics."""

    name: str

    @abstractmethod
    def statistics(self, table: Floats) -> Floats:
        """A row of numbers for each unit. Only their sums matter."""

    def value(self, sums: Floats) -> Floats:
        """The metric for sums of statistics, along the last axis; nan where it is undefined."""
        return ratio(sums[..., 0], sums[..., 1])

    def count(self, sums: Floats) -> float:
        """How many units the value stands on."""
        return float(sums[..., 1])


class Cjga(OverRuns):
    """Conditional JGA: both right, over the pairs of which either is (CheckDST, section 2.1, equation 3).

    The official class calls it `conditional_jga`. Undefined where nothing is right on either side. Under a fuzzy
    convention a unit is right when its joint accuracy is 1: the paper's f is 0 or 1.
    """

    name = "cjga"

    def statistics(self, table: Floats) -> Floats:
        right = _right(table)
        return np.column_stack((right.all(axis=1), right.any(axis=1))).astype(np.float64)


class ConsistentJga(OverRuns):
    """Consistent JGA: both right, over all pairs. The official class, after the paper, calls this one `cjga`."""

    name = "consistent-jga"

    def statistics(self, table: Floats) -> Floats:
        return over_units(np.asarray(_right(table).all(axis=1), np.float64))


def paired(names: Sequence[Names], values: Sequence[Floats]) -> PairedUnits:
    """Bring runs together by the names of their units. What any run lacks is left out, and counted."""
    for run, measured in zip(names, values, strict=True):
        if len(run) != len(measured) or len(np.unique(run)) != len(run):
            raise ValueError("a run has one value for each unit, and a name of its own for each")
    shared = reduce(np.intersect1d, names)
    table = np.column_stack([_at(shared, *run) for run in zip(names, values, strict=True)])
    return PairedUnits(shared, table, len(reduce(np.union1d, names)) - len(shared))


def _at(wanted: Names, names: Names, values: Floats) -> Floats:
    """The values of the wanted units, in that order."""
    order = np.argsort(names)
    return np.asarray(values, np.float64)[order[np.searchsorted(names, wanted, sorter=order)]]


def _right(table: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(table >= 1.0, np.bool_)
