"""A tracker's robustness as it is trained: measures over runs of its checkpoints (CheckDST, figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from dstress.errors import DstressError
from dstress.metrics.base import PERCENT
from dstress.metrics.measures import measure_of
from dstress.reports.charts import ABOUT, ACCENT, INK, LOSS, MUTED, Chart, Layout, Plot, Rows, altair
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import RunFolder

CURVES = "curves"


def make_curves(runs: Sequence[RunFolder]) -> dict[str, Plot]:
    """Over runs of checkpoints, the first one first, which go by their folders: a folder's name may be its step.

    Every column of the suite's table (figure 2); what each gained and lost from the first to the last (figure 3); and
    each beside the first column, which is where a tracker may win the one and lose the other.
    """
    _check(runs)
    rows = [
        {
            "measure": f"{cell.column}, {unit}",
            "run": run.path.name,
            "step": int(run.path.name) if run.path.name.isdigit() else None,
            "place": place,
            "sign": measure_of(cell.metric).sign,
            **{end: (100 if unit == PERCENT else 1) * getattr(cell.score, end) for end in ("value", "low", "high")},
            ABOUT: f"{cell.column} of {run.path.name}: {PLAIN.measured(cell.score.value, unit)} {unit} "
            f"{PLAIN.measured_interval(cell.score.low, cell.score.high, unit)}",
        }
        for place, run in enumerate(runs)
        for cell in run.scores.table
        if cell.score is not None and isfinite(cell.score.value)
        for unit in [measure_of(cell.metric).unit]
    ]
    measures = list(dict.fromkeys(str(row["measure"]) for row in reversed(rows)))[::-1]
    plots = [
        Plot(CURVES, "Over training", lambda layout: _curve_chart(rows, measures, layout)),
        Plot("gains", "From the first checkpoint to the last", lambda layout: _gain_chart(rows, measures, layout)),
        Plot("paths", "Against the first measure", lambda layout: _path_chart(rows, measures, layout)),
    ]
    return {plot.name: plot for plot in plots if plot.name != "paths" or len(measures) > 1}


def curve_table(runs: Sequence[RunFolder]) -> Table:
    """The suite's table, a row a checkpoint."""
    columns = [(cell.column, measure_of(cell.metric).unit) for cell in runs[-1].scores.table]
    cells = [[cell.score.value if cell.score else None for cell in run.scores.table] for run in runs]
    rows = [
        (run.path.name, *(PLAIN.measured(value, unit) for value, (_, unit) in zip(values, columns, strict=True)))
        for run, values in zip(runs, cells, strict=True)
    ]
    names = [column for column, _ in columns]
    records = [
        {"run": run.path.name, **dict(zip(names, values, strict=True))} for run, values in zip(runs, cells, strict=True)
    ]
    heads = [f"#{column} {unit}" for column, unit in columns]
    return Table(
        ("checkpoint", *heads), rows, f"{runs[-1].manifest.suite_name} on {runs[-1].manifest.tracked}", records
    )


def _check(runs: Sequence[RunFolder]) -> None:
    require_comparable([runs[-1], *runs[:-1]])
    if other := next((run for run in runs if run.manifest.suite != runs[-1].manifest.suite), None):
        fix = "curves need runs of one suite, with other checkpoints of the tracker"
        raise DstressError(f"it has another suite than {runs[-1].path}", where=str(other.path), fix=fix)
    names = [run.path.name for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DstressError(f"two of the runs are called {twice}", fix="curves are marked by the names of run folders")


def _facets(measures: list[str], layout: Layout) -> tuple[int, int, Chart]:
    """Columns, the width of each, and the measures as facets."""
    columns = 1 if layout.narrow else min(2, len(measures))
    facet = altair().Facet("measure:N", sort=measures, title=None, header=altair().Header(labelAnchor="start"))
    return columns, layout.width if columns == 1 else layout.width // 2 - 10, facet


def _curve_chart(rows: Rows, measures: list[str], layout: Layout) -> Chart:
    alt = altair()
    columns, width, facet = _facets(measures, layout)
    order = list(dict.fromkeys(row["run"] for row in rows))
    x = alt.X("run:N", sort=order, title=None, axis=alt.Axis(labelAngle=-35, grid=False))
    if all(row["step"] is not None for row in rows):
        x = alt.X(
            "step:Q", title="step", axis=alt.Axis(tickCount=5, grid=False), scale=alt.Scale(zero=False, nice=True)
        )
    base = alt.Chart().encode(x=x, description=f"{ABOUT}:N")
    y = alt.Y("low:Q", title=None, scale=alt.Scale(zero=False, nice=True))
    reach = base.mark_rule(color=ACCENT, strokeWidth=2).encode(y=y, y2="high:Q")
    line = base.mark_line(color=ACCENT, opacity=0.5, aria=False).encode(y="value:Q")
    point = base.mark_point(color=ACCENT, size=45, filled=True, opacity=1).encode(y="value:Q")
    layered = alt.layer(line, reach, point).properties(width=width, height=130)
    return layered.facet(facet, data=alt.Data(values=rows), columns=columns).resolve_scale(y="independent")


def _gain_chart(rows: Rows, measures: list[str], layout: Layout) -> Chart:
    alt = altair()
    changes: Rows = []
    for measure in measures:
        own = [row for row in rows if row["measure"] == measure]
        change = own[-1]["value"] - own[0]["value"]
        kind = "better" if own[-1]["sign"] * change >= 0 else "worse"
        about = f"{measure}: {change:+.2f}, {kind}"
        changes.append({"measure": measure, "change": change, "kind": kind, ABOUT: about})
    color = alt.Color(
        "kind:N", scale=alt.Scale(domain=["better", "worse"], range=[ACCENT, LOSS]), title=None, legend=layout.legend()
    )
    names = alt.Y("measure:N", sort=measures, title=None, axis=alt.Axis(labelLimit=layout.names, domain=False))
    x = alt.X("change:Q", title="the last less the first", axis=layout.ticks())
    chart = alt.Chart(alt.Data(values=changes)).mark_bar().encode(x=x, y=names, color=color, description=f"{ABOUT}:N")
    return chart.properties(width=layout.width, height=alt.Step(layout.step))


def _path_chart(rows: Rows, measures: list[str], layout: Layout) -> Chart:
    alt = altair()
    first, *others = measures
    columns, width, facet = _facets(others, layout)
    across = {row["place"]: row["value"] for row in rows if row["measure"] == first}
    paired = [
        row | {"across": across[row["place"]]} for row in rows if row["measure"] != first and row["place"] in across
    ]
    base = alt.Chart().encode(
        x=alt.X("across:Q", title=first, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, nice=True)),
        order="place:O",
        description=f"{ABOUT}:N",
    )
    ends = (alt.datum.place == 0) | (alt.datum.place == max(across))
    words = base.transform_filter(ends).mark_text(dy=-10, color=INK, fontSize=11, aria=False).encode(text="run:N")
    line = base.mark_line(color=MUTED, strokeWidth=1.5, aria=False)
    point = base.mark_point(color=ACCENT, size=45, filled=True, opacity=1)
    layered = alt.layer(line, point, words).properties(width=width, height=130)
    return layered.facet(facet, data=alt.Data(values=paired), columns=columns).resolve_scale(y="independent")
