"""The robustness frontier, drawn: accuracy against edit size, on held-out dialogues."""

from __future__ import annotations

from html import escape
from pathlib import Path

from dstress.errors import DstressError
from dstress.pipeline.search.search import SearchResult
from dstress.pipeline.search.tables import search_tables
from dstress.reports.charts import ACCENT, INK, LOSS, MUTED, WIDE, Chart, Layout, Plot, altair, draw_svg
from dstress.reports.tables import html
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
    drawn = draw_svg(frontier_plot(result), WIDE)
    if path.suffix.casefold() == ".html":
        drawn = _page(result, drawn)
    with replacing(path) as out:
        out.write(drawn.encode())


def check_frontier_name(path: Path) -> None:
    """Refuse a file that is neither: better before the search than after it."""
    if path.suffix.casefold() not in (".svg", ".html"):
        raise DstressError("the frontier is drawn as .svg or .html", where=str(path), fix="end the name with one")


def _page(result: SearchResult, drawn: str) -> str:
    tables = "".join(html(table) for table in search_tables(result).values())
    title = escape(frontier_plot(result).title)
    style = (
        "body{font:16px/1.5 Arial,Helvetica,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;"
        "background:#fefefe}div{overflow-x:auto}table{margin:1.5rem 0;border-collapse:collapse;font-size:14px}"
        "th{border-bottom:1px solid #d9dde2}svg{max-width:100%;height:auto}"
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style></head>'
        f"<body><h1>{title}</h1><div>{drawn}</div>"
        f"<div>{tables}</div></body></html>\n"
    )


def _chart(result: SearchResult, layout: Layout) -> Chart:
    alt = altair()
    rows = [
        {
            "name": point.spec,
            "shown": point.spec if len(point.spec) <= _LIMIT else f"{point.spec[: _LIMIT - 1]}…",
            "edited": point.edited,
            "right": 100 * point.accuracy.value,
            "low": 100 * point.accuracy.low,
            "high": 100 * point.accuracy.high,
            "kind": "chosen" if point.is_winner else "on the frontier",
        }
        for point in result.frontier
    ]
    start = result.original
    original = {"name": "original", "shown": "original", "edited": 0.0, "right": 100 * start.value, "kind": "original"}
    rows.insert(0, original | {"low": 100 * start.low, "high": 100 * start.high})
    reached = alt.Scale(domain=[0, 1.3 * max(float(row["edited"]) for row in rows)])  # with room for the last name
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
