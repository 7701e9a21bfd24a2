"""A benchmark of several tasks, each with a model and a run of its own, as one row: RADDLE's table 2 over four domains.

The runs of one row lie in one folder, `runs/soloist-1/hotel`, `runs/soloist-1/train` ...; folders whose names differ in
a number at the end are draws of one system. A column is the mean over the tasks that have it, whatever their sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from dstress.errors import DstressError
from dstress.reports.systems import SEED
from dstress.reports.tables import Table
from dstress.runs.folder import RunFolder
from dstress.scoring.metrics.measures import AVERAGE, measure_of


class _Mean(NamedTuple):
    value: float
    tasks: int
    unit: str


def task_table(runs: Sequence[RunFolder]) -> Table:
    """A row for each column of the runs' tables, and a column for each system: mean and deviation over its draws."""
    folders: dict[Path, list[RunFolder]] = {}
    for run in runs:
        folders.setdefault(run.path.resolve().parent, []).append(run)
    systems: dict[str, list[dict[str, _Mean]]] = {}
    sizes: dict[str, tuple[int, Path]] = {}
    for folder, own in folders.items():
        means = _mean_over_tasks(folder, own)
        for column, mean in means.items():
            tasks, other = sizes.setdefault(column, (mean.tasks, folder))
            if tasks != mean.tasks:
                raise DstressError(
                    f"{column} is of {mean.tasks} tasks here and of {tasks} in {other}",
                    where=str(folder),
                    fix="give the runs of the same tasks for every system and draw",
                )
        systems.setdefault(SEED.sub("", folder.name) or folder.name, []).append(means)
    rows, records = [], []
    for column, (tasks, _) in sizes.items():
        cells = []
        for name, draws in systems.items():
            values = [draw[column].value for draw in draws if column in draw]
            if len(values) < len(draws):
                cells.append("-")
                continue
            deviation = stdev(values) if len(values) > 1 else math.nan
            cells.append(f"{fmean(values):.2f}" + (f" ± {deviation:.2f}" if len(values) > 1 else ""))
            spread = {"deviation": deviation, "draws": len(values), "tasks": tasks, "unit": draws[0][column].unit}
            records.append({"measure": column, "system": name, "value": fmean(values)} | spread)
        rows.append((column, *cells, str(tasks)))
    caption = "mean over tasks, each counted once; of several draws the mean ± standard deviation"
    heads = [f"#{name}" + (f" ({len(draws)} draws)" if len(draws) > 1 else "") for name, draws in systems.items()]
    return Table(("measure", *heads, "#tasks"), rows, caption, records)


def _mean_over_tasks(folder: Path, runs: Sequence[RunFolder]) -> dict[str, _Mean]:
    """Every column of the runs of one folder, and of these the suites' averages, RADDLE's Avg. and Avg.c."""
    seen: dict[tuple[str, str], Path] = {}
    values: dict[str, list[float]] = {}
    tasks, units = {}, {}
    for run in runs:
        task = run.manifest.tracked, run.manifest.suite.title
        if task in seen:
            problem = f"{seen[task].name} and {run.path.name} are of the same task, {task[0]}"
            raise DstressError(problem, where=str(folder), fix="give one run of each task")
        seen[task] = run.path
        for cell in run.scores.table:
            if cell.metric != AVERAGE and cell.score and math.isfinite(cell.score.value):
                measure = measure_of(cell.metric)
                values.setdefault(cell.column, []).append(measure.scale * cell.score.value)
                tasks[cell.column], units[cell.column] = cell.task, measure.unit
    means = {column: _Mean(fmean(each), len(each), units[column]) for column, each in values.items()}
    averages = {}
    for average in dict.fromkeys(average for run in runs for average in run.manifest.suite.average):
        of = [mean.value for column, mean in means.items() if tasks[column] and tasks[column] not in average.without]
        if of:
            averages[average.column] = _Mean(fmean(of), len(seen), measure_of(AVERAGE).unit)
    return averages | means
