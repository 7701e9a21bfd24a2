"""The robustness frontier, drawn: accuracy against edit size, on held-out dialogues."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dstress.errors import DstressError
from dstress.pipeline.search.search import Point, SearchResult
from dstress.pipeline.search.tables import describe_winner, search_tables
from dstress.reports.charts import ACCENT, INK, LOSS, MUTED, Chart, Layout, Plot, altair, draw_svg
from dstress.reports.small_page import SmallPage
from dstress.storage.atomic import replacing

_LIMIT = 34
"""Characters of a composition beside its point; the tooltip has all of them."""


def frontier_plot(result: SearchResult) -> Plot:
    """Accuracy under each reported composition over its edited words per turn; the original stands at 0."""
    title = f"{result.tracker} on {result.corpus}: turns right against words edited"
    return Plot("frontier", title, lambda layout: _chart(result, layout))


def draw_frontier(result: SearchResult, path: Path) -> None:
    """Write the plot, as SVG or as a page that opens offline, by the name's ending."""
    check_frontier_name(path)
    plot = frontier_plot(result)
    if path.suffix.casefold() == ".html":
        tables = list(search_tables(result).values())
        SmallPage(plot.title, describe_winner(result).splitlines(), plot, tables).write(path)
        return
    with replacing(path) as out:
        out.write(draw_svg(plot).encode())


def check_frontier_name(path: Path) -> None:
    """Refuse a file that is neither: better before the search than after it."""
    if path.suffix.casefold() not in (".svg", ".html"):
        raise DstressError("the frontier is drawn as .svg or .html", where=str(path), fix="end the name with one")


def _shown(point: Point, layout: Layout) -> str:
    """The name beside a point; a narrow plot has room for one only."""
    if layout.narrow and not point.is_winner:
        return ""
    return point.spec if len(point.spec) <= _LIMIT else f"{point.spec[: _LIMIT - 1]}…"


def _chart(result: SearchResult, layout: Layout) -> Chart:
    alt = altair()
    rows = [
        {
            "name": point.spec,
            "shown": _shown(point, layout),
            "edited": point.edited,
            "right": 100 * point.accuracy.value,
            "low": 100 * point.accuracy.low,
            "high": 100 * point.accuracy.high,
            "kind": "chosen" if point.is_winner else "on the frontier",
        }
        for point in result.frontier
    ]
    start = {"name": "original", "shown": "" if layout.narrow else "original", "edited": 0.0, "kind": "original"}
    ends = zip(("right", "low", "high"), msgspec.structs.astuple(result.original), strict=True)
    rows.insert(0, start | {name: 100 * value for name, value in ends})
    reached = alt.Scale(domain=[0, 1.35 * max(float(row["edited"]) for row in rows)])  # with room for the last name
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("edited:Q", title="edited words per turn", axis=layout.ticks(), scale=reached),
        tooltip=[alt.Tooltip(f"{name}:{kind}") for name, kind in (("name", "N"), ("edited", "Q"), ("right", "Q"))],
    )
    kinds = alt.Scale(domain=["original", "on the frontier", "chosen"], range=[MUTED, ACCENT, LOSS])
    color = alt.Color("kind:N", scale=kinds, title=None, legend=layout.legend())
    y = alt.Y("low:Q", title="turns right, %", scale=alt.Scale(zero=False, nice=True))
    reach = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=y, y2="high:Q", color=color)
    point = base.mark_point(size=60, filled=True, opacity=1).encode(y="right:Q", color=color)
    words = base.mark_text(align="left", dx=8, dy=-6, color=INK, fontSize=11).encode(y="right:Q", text="shown:N")
    return alt.layer(reach, point, words).properties(width=layout.width, height=280)
