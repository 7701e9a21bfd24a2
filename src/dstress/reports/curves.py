"""Runs along a line: the checkpoints of a training (CheckDST, figures 2 and 3), or more and more training data (GCA,
figure 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from dstress.errors import DstressError
from dstress.reports import charts
from dstress.reports.charts import ABOUT, ACCENT, INK, LOSS, MUTED, Chart, Layout, Plot, Rows, altair
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import measure_of

if TYPE_CHECKING:  # they are judged, which a plain page need not be
    from dstress.reports.systems import Systems

CURVES = "curves"
_PLACE = re.compile(r"[-_.]?(\d+(?:\.\d+)?)\D*$")
_GCA = "gca"
_WIDE_RANGE = 30
"""From so many times the smallest on, places are shown on a logarithmic scale."""


def make_curves(runs: Sequence[RunFolder]) -> dict[str, Plot]:
    """Over runs of checkpoints, the first one first, which go by their folders: a folder's name may be its step.

    Every column of the suite's table (figure 2); what each gained and lost from the first to the last (figure 3); and
    each beside the first column, which is where a tracker may win the one and lose the other.
    """
    require_comparable([runs[-1], *runs[:-1]])
    if other := next((run for run in runs if run.manifest.suite != runs[-1].manifest.suite), None):
        fix = "curves need runs of the same suite with different checkpoints of the tracker"
        raise DstressError(f"its suite differs from that of {runs[-1].path}", where=str(other.path), fix=fix)
    names = [run.path.name for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        fix = "curves are labelled with the names of run folders, so give each a different one"
        raise DstressError(f"two of the runs are called {twice}", fix=fix)
    rows: Rows = []
    for place, (name, run) in enumerate(zip(names, runs, strict=True)):
        for cell in run.scores.table:
            if cell.score and isfinite(cell.score.value):
                measure, score = measure_of(cell.metric), cell.score
                ends = PLAIN.measured_interval(score.low, score.high, measure.unit)
                about = f"{PLAIN.measured(score.value, measure.unit)} {measure.unit} {ends}"
                rows.append(
                    {"measure": f"{cell.column}, {measure.unit}", "run": name}
                    | {"step": int(name) if name.isdigit() else None, "place": place, "sign": measure.sign}
                    | {end: measure.scale * getattr(score, end) for end in ("value", "low", "high")}
                    | {ABOUT: f"{cell.column} of {name}: {about}"}
                )
    measures = list(dict.fromkeys(str(row["measure"]) for row in reversed(rows)))[::-1]

    def x() -> Chart:
        alt = altair()
        if all(row["step"] is not None for row in rows):
            return alt.X("step:Q", title="step", axis=alt.Axis(tickCount=5, grid=False), scale=charts.free_scale())
        return alt.X("run:N", sort=names, title=None, axis=alt.Axis(labelAngle=-35, grid=False))

    plots = [
        Plot(CURVES, "Over training", partial(_line_chart, rows, x, measures)),
        Plot("gains", "From the first checkpoint to the last", partial(_gain_chart, rows, measures)),
        Plot("paths", "Against the first measure", partial(_path_chart, rows, measures)),
    ]
    return {plot.name: plot for plot in plots if plot.name != "paths" or len(measures) > 1}


def curve_table(runs: Sequence[RunFolder]) -> Table:
    """The suite's table, a row a checkpoint."""
    columns = [(cell.column, measure_of(cell.metric).unit) for cell in runs[-1].scores.table]
    rows, records = [], []
    for run in runs:
        values = [cell.score.value if cell.score else None for cell in run.scores.table]
        pairs = list(zip(columns, values, strict=True))
        rows.append((run.path.name, *(PLAIN.measured(value, unit) for (_, unit), value in pairs)))
        records.append({"run": run.path.name} | {column: value for (column, _), value in pairs})
    heads = [f"#{column} {unit}" for column, unit in columns]
    manifest = runs[-1].manifest
    return Table(("checkpoint", *heads), rows, f"{manifest.suite_name} on {manifest.tracked}", records)


class Place(NamedTuple):
    """A run's line, and where it is on it."""

    line: str
    at: float


def place_of(run: RunFolder) -> Place:
    """The last number in a folder's name is its place, the rest is the line: `copy-100` is `copy` at 100.

    A folder that is nothing but a number, as those of checkpoints are, is on the line of the folder around it.
    """
    number = _PLACE.search(run.path.name)
    if not number:
        problem = "the name has no number to give its position on the axis"
        fix = "name runs by their step or training size: runs/copy-10 runs/copy-100 ..."
        raise DstressError(problem, where=str(run.path), fix=fix)
    return Place(run.path.name[: number.start()] or run.path.resolve().parent.name, float(number[1]))


def make_line_plots(systems: Systems, along: str) -> dict[str, Plot]:
    """Every measure of the table along the line; and how far the other metrics are from GCA there."""
    return {plot.name: plot for plot in (*_measures(systems, along), *_gaps(systems, along))}


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
        measures, lines = (list(dict.fromkeys(row[name] for row in rows)) for name in ("measure", "system"))
        chart = partial(_line_chart, rows, partial(_x, rows, along), measures, lines=lines)
        yield Plot("along", f"Measures over {along}", chart)


def _x(rows: Rows, along: str) -> Chart:
    alt = altair()
    places = sorted({row["at"] for row in rows})
    kind = "log" if places[0] > 0 and places[-1] / places[0] >= _WIDE_RANGE else "linear"
    axis = alt.Axis(grid=False, values=places if len(places) <= 6 else None, tickCount=5, labelFlush=True)
    return alt.X("at:Q", title=along, scale=alt.Scale(type=kind, zero=False, nice=False, padding=12), axis=axis)


def _line_chart(
    rows: Rows, x: Callable[[], Chart], measures: Sequence[str], layout: Layout, lines: Sequence[str] = ()
) -> Chart:
    """A panel for each measure: its values with their intervals, joined by a line for each of several systems."""
    alt = altair()
    marks = charts.system_marks(lines, layout) if lines else {"color": alt.value(ACCENT)}
    base = charts.marks_of(rows, in_panels=True, x=x())
    y = alt.Y("low:Q", title=None, scale=charts.free_scale(), axis=alt.Axis(tickCount=5))
    reach = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y=y, y2="high:Q", color=marks["color"])
    line = base.mark_line(strokeWidth=2, opacity=0.7, aria=False).encode(y="value:Q", color=marks["color"])
    point = charts.dot(base, 45).encode(y="value:Q", **marks)
    room = layout.panel(len(measures), gap=20)
    layered = alt.layer(reach, line, point).properties(width=room.width, height=130)
    return charts.facet(layered, "measure", measures, rows, layout).resolve_scale(y="independent")


def _gaps(systems: Systems, along: str) -> Iterator[Plot]:
    """How far each metric is from GCA at every place, in points, and whether that shrinks or grows along the line."""
    metrics = [name for name in systems.metrics() if name != _GCA and measure_of(name).unit == PERCENT]
    rows: Rows = []
    gaps: dict[tuple[str, str], list[float]] = {}
    for system in sorted(systems.every, key=lambda system: place_of(system.runs[0])):
        place, gca = place_of(system.runs[0]), system.score(ORIGINAL, _GCA)
        for metric in metrics:
            score = system.score(ORIGINAL, metric)
            if gca and score:
                gap = 100 * abs(gca.value - score.value)
                rows.append({"system": place.line, "metric": metric, "at": place.at, "gap": gap})
                gaps.setdefault((place.line, metric), []).append(gap)
    if _GCA not in systems.metrics() or not any(len(along_line) > 1 for along_line in gaps.values()):
        return
    for row in rows:
        own = gaps[row["system"], row["metric"]]
        row["kind"] = "shrinks" if own[-1] < own[0] else "grows"

    def chart(layout: Layout) -> Chart:
        alt = altair()
        several = len({row["system"] for row in rows}) > 1
        dash = {"strokeDash": alt.StrokeDash("system:N", title=None)} if several else {}
        y = alt.Y("gap:Q", title=None, axis=alt.Axis(tickCount=4))
        color = layout.colors("kind", {"shrinks": LOSS, "grows": ACCENT})
        base = charts.marks_of(rows, in_panels=True, x=_x(rows, along), y=y, color=color)
        layers = base.mark_line(strokeWidth=2).encode(**dash), charts.dot(base, 36).encode(detail="system:N")
        width = layout.panel(len(metrics), 3, gap=26).width
        return charts.facet(alt.layer(*layers).properties(width=width, height=110), "metric", metrics, rows, layout, 3)

    yield Plot("gaps", f"Distance of each metric to GCA over {along}", chart)


def _gain_chart(rows: Rows, measures: Sequence[str], layout: Layout) -> Chart:
    """What each measure gained or lost from its first run to its last."""
    alt = altair()
    changes: Rows = []
    for measure in measures:
        own = [row for row in rows if row["measure"] == measure]
        first, last = own[0], own[-1]
        change = last["value"] - first["value"]
        kind = "better" if last["sign"] * change >= 0 else "worse"
        about = f"{measure}: {change:+.2f}, {kind}"
        changes.append({"measure": measure, "change": change, "kind": kind, ABOUT: about})
    x = alt.X("change:Q", title="the last minus the first", axis=layout.ticks())
    y = layout.names_axis("measure:N", measures, list(measures))
    color = layout.colors("kind", {"better": ACCENT, "worse": LOSS})
    bars = charts.marks_of(changes, x=x, y=y, color=color).mark_bar()
    return bars.properties(width=layout.width, height=layout.height)


def _path_chart(rows: Rows, measures: Sequence[str], layout: Layout) -> Chart:
    """Every other measure against the first, from run to run."""
    alt = altair()
    first, *others = measures
    across = {row["place"]: row["value"] for row in rows if row["measure"] == first}
    left = [row for row in rows if row["measure"] != first and row["place"] in across]
    paired = [row | {"across": across[row["place"]]} for row in left]
    x = alt.X("across:Q", title=first, scale=charts.free_scale(), axis=alt.Axis(tickCount=5))
    y = alt.Y("value:Q", title=None, scale=charts.free_scale())
    base = charts.marks_of(rows, in_panels=True, x=x, y=y, order="place:O")
    ends = (alt.datum.place == 0) | (alt.datum.place == max(across))
    words = base.transform_filter(ends).mark_text(dy=-10, color=INK, fontSize=11, aria=False).encode(text="run:N")
    layers = base.mark_line(color=MUTED, strokeWidth=1.5, aria=False), charts.dot(base, 45, color=ACCENT), words
    layered = alt.layer(*layers).properties(width=layout.panel(len(others)).width, height=130)
    return charts.facet(layered, "measure", others, paired, layout).resolve_scale(y="independent")
