"""Runs along a line: checkpoints of trainings (CheckDST, figure 2), or more and more training data (GCA, figure 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from math import isfinite
from typing import NamedTuple

from dstress.errors import DstressError
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.charts import ACCENT, LOSS, Chart, Layout, Plot, Rows, altair
from dstress.reports.many_plots import colors
from dstress.reports.systems import Systems
from dstress.runs.folder import ORIGINAL, RunFolder

_PLACE = re.compile(r"[-_.]?(\d+(?:\.\d+)?)\D*$")
_GCA = "gca"
_WIDE_RANGE = 30
"""From so many times the smallest on, places are shown on a logarithmic scale."""


class Place(NamedTuple):
    """A run's line, and where it is on it."""

    line: str
    at: float


def place_of(run: RunFolder) -> Place:
    """The last number in a folder's name is its place, the rest is the line: `copy-100` is `copy` at 100.

    A folder that is nothing but a number, as those of checkpoints are, is on the line of the folder around it.
    """
    found = _PLACE.search(run.path.name)
    if not found:
        raise DstressError(
            "the name has no number, which would be its place on the line",
            where=str(run.path),
            fix="name runs by their step or training size: runs/copy-10 runs/copy-100 ...",
        )
    return Place(run.path.name[: found.start()] or run.path.resolve().parent.name, float(found[1]))


def make_line_plots(systems: Systems, along: str) -> dict[str, Plot]:
    """Every measure of the table along the line; and how far the other metrics are from GCA there."""
    plots = [*_measures(systems, along), *_gaps(systems, along)]
    return {plot.name: plot for plot in plots}


def _measures(systems: Systems, along: str) -> Iterator[Plot]:
    rows: Rows = []
    for cell, scores in systems.measures():
        measure = measure_of(cell.metric)
        for system, score in zip(systems.every, scores, strict=True):
            place = place_of(system.runs[0])
            ends = {end: measure.scale * getattr(score, end) for end in ("value", "low", "high")} if score else {}
            if ends and all(map(isfinite, ends.values())):
                rows.append({"measure": f"{cell.column}, {measure.unit}", "system": place.line, "at": place.at} | ends)
    if rows:
        yield Plot("along", f"Measures over {along}", partial(_line_chart, rows, along))


def _x(rows: Rows, along: str) -> Chart:
    alt = altair()
    places = sorted({row["at"] for row in rows})
    kind = "log" if places[0] > 0 and places[-1] / places[0] >= _WIDE_RANGE else "linear"
    axis = alt.Axis(grid=False, values=places if len(places) <= 6 else None, tickCount=5, labelFlush=True)
    return alt.X("at:Q", title=along, scale=alt.Scale(type=kind, zero=False, nice=False, padding=12), axis=axis)


def _line_chart(rows: Rows, along: str, layout: Layout) -> Chart:
    alt = altair()
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    lines = list(dict.fromkeys(row["system"] for row in rows))
    columns = 1 if layout.narrow else min(2, len(measures))
    width = layout.width if columns == 1 else layout.width // 2 - 20
    base, marks = alt.Chart().encode(x=_x(rows, along)), colors(lines, layout)
    scale = alt.Scale(zero=False, nice=True)
    reach = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
        y=alt.Y("low:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5)), y2="high:Q", color=marks["color"]
    )
    line = base.mark_line(strokeWidth=2).encode(y="value:Q", color=marks["color"])
    point = base.mark_point(size=45, filled=True, opacity=1).encode(y="value:Q", **marks)
    layered = alt.layer(reach, line, point).properties(width=width, height=130)
    facet = alt.Facet("measure:N", sort=measures, title=None, header=alt.Header(labelAnchor="start"))
    return layered.facet(facet, data=alt.Data(values=rows), columns=columns).resolve_scale(y="independent")


def _gaps(systems: Systems, along: str) -> Iterator[Plot]:
    """How far each metric is from GCA at every place, in points, and whether that shrinks or grows along the line."""
    metrics = [name for name in systems.metrics() if name != _GCA and measure_of(name).unit == PERCENT]
    if _GCA not in systems.metrics() or not metrics:
        return
    rows: Rows = []
    for system in sorted(systems.every, key=lambda system: place_of(system.runs[0])):
        place, gca = place_of(system.runs[0]), system.score(ORIGINAL, _GCA)
        for metric in metrics:
            score = system.score(ORIGINAL, metric)
            if gca and score:
                gap = 100 * abs(gca.value - score.value)
                rows.append({"system": place.line, "metric": metric, "at": place.at, "gap": gap})
    ends: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        ends.setdefault((row["system"], row["metric"]), []).append(row["gap"])
    if any(len(gaps) > 1 for gaps in ends.values()):
        for row in rows:
            gaps = ends[row["system"], row["metric"]]
            row["kind"] = "shrinks" if gaps[-1] < gaps[0] else "grows"
        yield Plot("gaps", f"Distance of each metric to GCA over {along}", partial(_gap_chart, rows, along))


def _gap_chart(rows: Rows, along: str, layout: Layout) -> Chart:
    alt = altair()
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    columns = 1 if layout.narrow else min(3, len(metrics))
    width = layout.width // columns - (0 if columns == 1 else 26)
    color = alt.Color(
        "kind:N", scale=alt.Scale(domain=["shrinks", "grows"], range=[LOSS, ACCENT]), title=None, legend=layout.legend()
    )
    dash = {"strokeDash": alt.StrokeDash("system:N", title=None)} if len({row["system"] for row in rows}) > 1 else {}
    base = alt.Chart().encode(x=_x(rows, along), y=alt.Y("gap:Q", title=None, axis=alt.Axis(tickCount=4)), color=color)
    line, point = base.mark_line(strokeWidth=2).encode(**dash), base.mark_point(size=36, filled=True, opacity=1)
    layered = alt.layer(line, point.encode(detail="system:N")).properties(width=width, height=110)
    facet = alt.Facet("metric:N", sort=metrics, title=None, header=alt.Header(labelAnchor="start"))
    return layered.facet(facet, data=alt.Data(values=rows), columns=columns)
