"""Runs of trackers trained with several seeds: median and standard error, best and worst (CheckDST, table 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median, stdev
from typing import NamedTuple

from dstress.errors import DstressError
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.tables import Table
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import RunFolder

_SEED = re.compile(r"[-_.]?(?:seed)?[-_.]?\d+$")
BEST, WORST = "best", "worst"


class Summary(NamedTuple):
    """A measure over the seeds of a system."""

    median: float
    error: float
    """The standard error of the mean over seeds; 0 with a single seed."""
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Of one value a seed."""
        error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(median(values), error, min(values), max(values))

    def overlaps(self, other: Summary) -> bool:
        """Whether the ranges of median plus and minus error touch: then the difference is no finding."""
        return abs(self.median - other.median) <= self.error + other.error


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
    rows, records = [], []
    for cell in runs[0].scores.table:
        measure = measure_of(cell.metric)
        found = {name: _summarise(own, cell.column) for name, own in systems.items()}
        known = {name: summary for name, summary in found.items() if summary}
        marks = _marks(known, measure.sign) if len(systems) > 1 else {}
        rows.append((cell.column, *(_shown(found[name], measure.unit, marks.get(name, "")) for name in systems)))
        records += [
            {"measure": cell.column, "system": name, "seeds": len(systems[name]), **summary._asdict()}
            | {"mark": marks.get(name, "")}
            for name, summary in known.items()
        ]
    heads = [f"#{name} ({len(own)} seeds)" for name, own in systems.items()]
    caption = "median ± standard error over seeds [lowest, highest]"
    if len(systems) > 1:
        caption += "; best and worst with all that they overlap"
    return Table(("measure", *heads), rows, caption, records)


def _summarise(runs: Sequence[RunFolder], column: str) -> Summary | None:
    cells = [cell for run in runs for cell in run.scores.table if cell.column == column]
    values = [cell.score.value for cell in cells if cell.score is not None and math.isfinite(cell.score.value)]
    return Summary.of(values) if len(values) == len(runs) else None


def _marks(found: Mapping[str, Summary], sign: int) -> dict[str, str]:
    """Who is best, who is worst; whoever overlaps with both is neither."""
    if not found:
        return {}
    order = sorted(found, key=lambda name: sign * found[name].median)
    near = {
        mark: {name for name in found if found[name].overlaps(found[end])}
        for mark, end in ((BEST, order[-1]), (WORST, order[0]))
    }
    return {
        name: mark for mark, names in near.items() for name in names if (name in near[BEST]) != (name in near[WORST])
    }


def _shown(summary: Summary | None, unit: str, mark: str) -> str:
    if summary is None:
        return "-"
    scale = 100 if unit == PERCENT else 1
    middle, error, lowest, highest = (f"{scale * value:.2f}" for value in summary)
    return f"{middle} ± {error} [{lowest}, {highest}]{f' {mark}' if mark else ''}"
