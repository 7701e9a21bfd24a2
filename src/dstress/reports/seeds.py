"""Runs of trackers trained with several seeds: median and standard error, best and worst (CheckDST, table 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dstress.analysis.bias import best_and_worst, median_and_standard_error
from dstress.analysis.ranking import slack_behind_best
from dstress.errors import DstressError
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import RunFolder

_SEED = re.compile(r"[-_.]?(?:seed)?[-_.]?\d+$")
BEST, WORST, SLACK = "best", "worst", "avg-slack"


class Summary(NamedTuple):
    """A measure over the seeds of a system."""

    median: float
    error: float
    """The standard error of the mean over seeds; not a number with a single seed."""
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Of one value a seed."""
        return cls(*median_and_standard_error(values), min(values), max(values))


def group_by_seed(runs: Iterable[RunFolder]) -> dict[str, list[RunFolder]]:
    """Runs by system: their folders' names without a number at the end, so `copy-1` and `copy-seed2` are of `copy`."""
    systems: dict[str, list[RunFolder]] = {}
    for run in runs:
        systems.setdefault(_SEED.sub("", run.path.name) or run.path.name, []).append(run)
    if alone := next((name for name, own in systems.items() if len(own) < 2), None):
        raise DstressError(
            f"{alone} has a single run",
            where=str(systems[alone][0].path),
            fix="name the runs of a system's seeds alike, with a number at the end: runs/copy-1 runs/copy-2 ...",
        )
    return systems


def seed_table(systems: Mapping[str, Sequence[RunFolder]]) -> Table:
    """A row for each column of the suite's table: each system's median over its seeds, and who is best and worst."""
    runs = [run for own in systems.values() for run in own]
    require_comparable(runs)
    rows, records, medians = [], [], []
    for cell in runs[0].scores.table:
        measure = measure_of(cell.metric)
        found = {name: _summarise(own, cell.column) for name, own in systems.items()}
        known = {name: summary for name, summary in found.items() if summary}
        marks = mark_ends(known, measure.sign) if len(systems) > 1 and known else {}
        rows.append((cell.column, *(_shown(found[name], measure.unit, marks.get(name, "")) for name in systems)))
        records += [
            {"measure": cell.column, "system": name, "seeds": len(systems[name]), **summary._asdict()}
            | {"mark": marks.get(name, "")}
            for name, summary in known.items()
        ]
        if len(known) == len(systems):
            medians.append((cell.metric, [summary.median for summary in known.values()]))
    if len(systems) > 1:
        slack = slack_behind_best(medians, len(systems))
        rows.append((SLACK, *(PLAIN.percent(value) for value in slack)))
        records += [
            {"measure": SLACK, "system": name, "median": value} for name, value in zip(systems, slack, strict=True)
        ]
    heads = [f"#{name} ({len(own)} seeds)" for name, own in systems.items()]
    caption = "median ± standard error over seeds [lowest, highest]"
    if len(systems) > 1:
        caption += "; best and worst with all that they overlap; avg-slack of the medians (CheckDST, table 3)"
    return Table(("measure", *heads), rows, caption, records)


def _summarise(runs: Sequence[RunFolder], column: str) -> Summary | None:
    cells = [cell for run in runs for cell in run.scores.table if cell.column == column]
    values = [cell.score.value for cell in cells if cell.score is not None and math.isfinite(cell.score.value)]
    return Summary.of(values) if len(values) == len(runs) else None


def mark_ends(found: Mapping[str, Summary], sign: int) -> dict[str, str]:
    """Who is best, who is worst; whoever overlaps with both is neither."""
    medians, errors = ([getattr(summary, part) for summary in found.values()] for part in ("median", "error"))
    marks = best_and_worst(medians, errors, higher_is_better=sign > 0)
    return {
        name: BEST if best else WORST
        for name, best, worst in zip(found, marks.best, marks.worst, strict=True)
        if best != worst
    }


def _shown(summary: Summary | None, unit: str, mark: str) -> str:
    if summary is None:
        return "-"
    scale = 100 if unit == PERCENT else 1
    middle, error, lowest, highest = (f"{scale * value:.2f}" for value in summary)
    return f"{middle} ± {error} [{lowest}, {highest}]{f' {mark}' if mark else ''}"
