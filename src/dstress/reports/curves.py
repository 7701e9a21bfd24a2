"""How a tracker's robustness comes about: the suite's measures over runs of its checkpoints (CheckDST, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from dstress.errors import DstressError
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.charts import ACCENT, Chart, Layout, Plot, altair
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import RunFolder

CURVES = "curves"


def make_curves(runs: Sequence[RunFolder]) -> Plot:
    """Every column of the suite's table, from the first checkpoint's run to the last; runs go by their folders."""
    _check(runs)
    rows = []
    for run in runs:
        for cell in run.scores.table:
            if cell.score is not None and isfinite(cell.score.value):
                unit = measure_of(cell.metric).unit
                scale = 100 if unit == PERCENT else 1
                ends = {end: scale * getattr(cell.score, end) for end in ("value", "low", "high")}
                rows.append({"measure": f"{cell.column}, {unit}", "run": run.path.name, **ends})
    measures = list(dict.fromkeys(str(row["measure"]) for row in rows))
    order = [run.path.name for run in runs]
    return Plot(CURVES, "Over training", lambda layout: _chart(rows, measures, order, layout))


def _check(runs: Sequence[RunFolder]) -> None:
    require_comparable([runs[-1], *runs[:-1]])
    if other := next((run for run in runs if run.manifest.suite != runs[-1].manifest.suite), None):
        fix = "curves need runs of one suite, with other checkpoints of the tracker"
        raise DstressError(f"it has another suite than {runs[-1].path}", where=str(other.path), fix=fix)
    names = [run.path.name for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DstressError(f"two of the runs are called {twice}", fix="curves are marked by the names of run folders")


def _chart(rows: list[dict[str, Any]], measures: list[str], order: list[str], layout: Layout) -> Chart:
    alt = altair()
    columns = 1 if layout.narrow else min(2, len(measures))
    width = layout.width if columns == 1 else layout.width // 2 - 10
    base = alt.Chart().encode(x=alt.X("run:N", sort=order, title=None, axis=alt.Axis(labelAngle=-35, grid=False)))
    y = alt.Y("low:Q", title=None, scale=alt.Scale(zero=False, nice=True))
    reach = base.mark_rule(color=ACCENT, strokeWidth=2).encode(y=y, y2="high:Q")
    line = base.mark_line(color=ACCENT, opacity=0.5).encode(y="value:Q")
    point = base.mark_point(color=ACCENT, size=45, filled=True, opacity=1).encode(y="value:Q")
    layered = alt.layer(line, reach, point).properties(width=width, height=130)
    facet = alt.Facet("measure:N", sort=measures, title=None, header=alt.Header(labelAnchor="start"))
    return layered.facet(facet, data=alt.Data(values=rows), columns=columns).resolve_scale(y="independent")
