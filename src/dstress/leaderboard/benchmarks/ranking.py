"""A leaderboard: systems in order, and whether each differs from the one above it by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isfinite, isnan, nan
from typing import NamedTuple

import numpy as np

from dstress.leaderboard.benchmarks.results import Result, Statistics, View, make_metric
from dstress.runs.folder import Cell
from dstress.runs.suites.base import Column
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.significance import evenly_weighed, holm, paired_test_of_totals

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Entry:
    """A submission on a board: its name there, its numbers, and its statistics, all under one convention."""

    key: int
    result: Result
    statistics: Statistics


class Row(NamedTuple):
    """An entry in its place. `p` compares it with the one above, after Holm's correction over the board."""

    rank: int
    entry: Entry
    cells: list[Cell | None]
    p: float

    @property
    def tied(self) -> bool:
        """Whether it is not significantly different from the one above."""
        return self.p > ALPHA


@lru_cache(maxsize=200)
def rank(entries: tuple[Entry, ...], view: View, label: str) -> list[Row]:
    """The entries by one column of a view, the best first; those without a score in it come last."""
    # 1 where more is better; averages are of points, of which more is always better.
    columns = view.behind(label)
    better = measure_of(columns[0].metric).sign if len(columns) == 1 and columns[0].name == label else 1

    def place(entry: Entry) -> tuple[bool, float, int]:
        value = _value(entry, view, label)
        return not isfinite(value), -better * value if isfinite(value) else 0.0, entry.key

    ordered = sorted(entries, key=place)
    tests = [_p_value(upper, lower, view, label) for upper, lower in pairwise(ordered)]
    by_holm = iter(holm([p for p in tests if not isnan(p)]))
    corrected = [nan, *(p if isnan(p) else next(by_holm) for p in tests)]
    return [
        Row(number, entry, [entry.result.cell(view.name, name) for name in view.labels], p)
        for number, (entry, p) in enumerate(zip(ordered, corrected, strict=False), start=1)
    ]


def _value(entry: Entry, view: View, label: str) -> float:
    cell = entry.result.cell(view.name, label)
    return cell.score.value if cell is not None and cell.score is not None else nan


def _p_value(upper: Entry, lower: Entry, view: View, label: str) -> float:
    """The paired test of two entries in one column; nan where there is nothing to pair, or not the same columns."""
    if not isfinite(_value(lower, view, label)):
        return nan
    columns = tuple(column for column in view.behind(label) if _is_there(upper, column) or _is_there(lower, column))
    if not columns or not all(_is_there(entry, column) for entry in (upper, lower) for column in columns):
        return nan
    return _tested(upper, lower, tuple((column.variant, column.metric) for column in columns))


def _is_there(entry: Entry, column: Column) -> bool:
    """Whether an entry has statistics of a column; those of a slice are not kept."""
    return column.slice is None and column.metric in entry.statistics.get(column.variant, {})


@lru_cache(maxsize=4096)
def _tested(upper: Entry, lower: Entry, columns: tuple[tuple[str, str], ...]) -> float:
    """Known again for the same entries: a board that changes in one place asks for all the others once more."""
    metrics = [make_metric(metric) for _, metric in columns]
    scales = [measure_of(metric).scale for _, metric in columns]
    blocks = [
        evenly_weighed(upper.statistics[place][name], lower.statistics[place][name], metric.count)
        for (place, name), metric in zip(columns, metrics, strict=True)
    ]
    ends = np.cumsum([ours.shape[1] for ours, _ in blocks])

    def mean(sums: Floats) -> Floats:
        parts = np.split(sums, ends[:-1], axis=-1)
        values = [scale * metric.value(part) for scale, metric, part in zip(scales, metrics, parts, strict=True)]
        return np.asarray(np.mean(values, axis=0), np.float64)

    ours, theirs = (np.hstack(sides) for sides in zip(*blocks, strict=True))
    return paired_test_of_totals(ours, theirs, mean, None).p
