"""The means over a suite's tasks, RADDLE's Avg. and Avg.c: of the columns that there are, and what they are without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan

import numpy as np

from dstress.runs.folder import Cell
from dstress.runs.suites.base import Average
from dstress.scoring.metrics.measures import AVERAGE, measure_of
from dstress.scoring.resampling import interval
from dstress.scoring.scorecard import Score, signature_text
from dstress.scoring.tally import Tally


def average_cells(
    average: Average, cells: Sequence[Cell], tallies: Mapping[str, Tally], signature: dict[str, str], level: float
) -> Cell:
    """The mean of the columns that have a score, in points; `n` is how many they are.

    A column that a system does not answer is absent, and never 0. The interval resamples dialogues, the same ones in
    every column; there is none where a column is more than a metric of a variant.
    """
    scored = [(cell, cell.score) for cell in cells if cell.task and cell.task not in average.without and cell.score]
    columns = [(cell, measure_of(cell.metric).scale, score.value) for cell, score in scored if isfinite(score.value)]
    if not columns:
        return Cell(average.column, "", AVERAGE, None, "none of its columns has a score")
    low = high = nan
    details = signature | {"columns": str(len(columns))}
    if all(cell.variant in tallies and cell.metric in tallies[cell.variant].metrics for cell, *_ in columns):
        resampled = {name: tally.resampled() for name, tally in tallies.items()}
        draws = [
            scale * tallies[cell.variant].metrics[cell.metric].value(resampled[cell.variant][cell.metric])
            for cell, scale, _ in columns
        ]
        means = np.mean(draws, axis=0)[:, None]
        low, high = interval(None, lambda: means, lambda sums: sums[..., 0], level, "percentile", None)
        details["ci"] = f"percentile.{next(iter(tallies.values())).resamples}"
    value = float(np.mean([scale * value for _, scale, value in columns]))
    return Cell(average.column, "", AVERAGE, Score(value, low, high, len(columns), signature_text(AVERAGE, details)))


def absent_columns(averages: Sequence[Cell], cells: Sequence[Cell]) -> list[str]:
    """A note of what the averages are without."""
    absent = [cell.column for cell in cells if cell.task and not cell.score]
    if not averages or not absent:
        return []
    names = " and ".join(average.column for average in averages)
    return [
        f"{names}: means without {', '.join(absent)}, which has no score; they compare with means of the same columns"
    ]
