"""Heat maps of what stressors cost: a row a service or a slot, a column a stressor, in colours with a legend.

The scale's steps grow with the loss, so that -20 and -78 look as different as -2 and -10; a gain has a hue of its own.
"""

from __future__ import annotations

from dstress.reports.charts import ABOUT, HEAT, INK, SURFACE, Chart, Layout, Rows, altair, in_two_lines
from dstress.reports.numbers import PAGE

STEPS = (-60, -40, -20, -10, -5, 0, 1, 5, 20)
"""Where a colour ends and the next begins, in whole points, as cells show them: equal numbers have equal colours."""

_STRONG = STEPS[2], STEPS[8]
"""Beyond these a cell is so dark that its number must be light."""

_LETTER, _NUMBER, _WIDEST = 6.5, 30, 110
"""Pixels: how wide a letter of a label is, the least cell that a number fits into, and the widest cell."""

_MOST_LETTERS = 20


def heat_chart(rows: Rows, field: str, layout: Layout) -> Chart:
    """Cells of `change`, in points: `field` down, those that lose most on top, and stressors across."""
    alt = altair()
    across = list(dict.fromkeys(row["stressor"] for row in rows))
    width = min(layout.width, _WIDEST * len(across))
    cell = width / len(across)
    fits = max(map(len, across)) * _LETTER < cell
    angle = 0 if fits else -90 if cell < _NUMBER else -40
    lines = in_two_lines(across, _MOST_LETTERS) if cell >= _NUMBER else {}
    labels = {"labelAngle": angle, "labelLimit": 150, "labelPadding": 16 if lines else 6, **lines}
    axis = alt.Axis(orient="top", title=None, domain=False, grid=False, **labels)
    names, sort = [row[field] for row in rows], alt.EncodingSortField("change", op="mean")
    shown = [
        row | {"change": float(f"{row['change']:.0f}"), "shown": PAGE.points(row["change"] / 100, 0)} for row in rows
    ]
    base = alt.Chart(alt.Data(values=shown)).encode(
        x=alt.X("stressor:N", sort=across, axis=axis),
        y=layout.names_axis(f"{field}:N", names, sort, grid=False),
        description=f"{ABOUT}:N",
    )
    scale = alt.Scale(type="threshold", domain=list(STEPS), range=list(HEAT))
    size = {"gradientLength": layout.width, "gradientThickness": 10}
    legend = alt.Legend(orient="top", type="gradient", title="change, points", **size)
    color = alt.Color("change:Q", scale=scale, legend=legend)
    cells = base.mark_rect(stroke=SURFACE, strokeWidth=2).encode(color=color)
    if cell >= _NUMBER:
        strong = (alt.datum.change < _STRONG[0]) | (alt.datum.change >= _STRONG[1])
        color = alt.condition(strong, alt.value(SURFACE), alt.value(INK))
        cells += base.mark_text(fontSize=10.5, aria=False).encode(text="shown:N", color=color)
    return cells.properties(width=width, height=alt.Step(layout.step))
