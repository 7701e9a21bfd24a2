"""What a search found: as tables, in words, and the robustness frontier drawn, accuracy against edit size."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import asdict, astuple

from dstress.display import make_tables
from dstress.errors import DstressError
from dstress.reports.charts import ACCENT, INK, LOSS, MUTED, Chart, Layout, Plot, altair, dot, draw_svg, free_scale
from dstress.reports.numbers import PLAIN
from dstress.reports.small_page import SmallPage
from dstress.reports.tables import Table
from dstress.storage.atomic import replacing
from dstress.studies.search.search import SearchResult

_TRIED_SHOWN = 12
_LIMIT = 34
"""Characters of a composition beside its point; the tooltip has all of them."""


@make_tables.register
def search_tables(result: SearchResult) -> dict[str, Table]:
    """The frontier on held-out dialogues, and the candidates as the choosing half saw them."""
    return {"frontier": frontier_table(result), "tried": _tried_table(result)}


def frontier_table(result: SearchResult) -> Table:
    """Every reported composition, the least edits first, under the original."""
    turns = f"{result.winner.turns:,} turns of {result.winner.dialogues:,} held-out dialogues"
    original = result.original
    shown = PLAIN.percent(original.value), PLAIN.interval(original.low, original.high)
    rows = [("original", "", *shown, *[""] * 4)]
    records = []
    for point in result.frontier:
        right, drop, broken = point.accuracy, point.drop, point.broken
        name = point.spec + " *" * point.is_winner, f"{point.edited:.2f}"
        shown = PLAIN.percent(right.value), PLAIN.interval(right.low, right.high)
        change = PLAIN.points(-drop.value), PLAIN.change_interval(-drop.high, -drop.low)
        rows.append((*name, *shown, *change, f"{100 * broken.value:.1f}", PLAIN.interval(broken.low, broken.high, 1)))
        records.append(asdict(point))
        for field, own in {"accuracy": right, "drop": drop, "broken": broken}.items():
            records[-1] |= {field: own.value, f"{field}_low": own.low, f"{field}_high": own.high}
    columns = ("composition", "#edited", "#right %", "#95 % of right", "#change", "#of change", "#broken", "#of broken")
    caption = f"{turns}; edited: words per turn; change: points; broken: turns per 100 edited words; * chosen"
    return Table(columns, rows, caption, records)


def _tried_table(result: SearchResult) -> Table:
    rates = {trial.spec: trial.lost / max(1, trial.edited) for trial in result.tried}
    most_tried = sorted(result.tried, key=lambda trial: (-trial.dialogues, -rates[trial.spec]))
    rows = [
        (own.spec, f"{own.dialogues:,}", f"{own.lost:,}", f"{own.edited:,}", f"{100 * rates[own.spec]:.1f}")
        for own in most_tried[:_TRIED_SHOWN]
    ]
    counted = "candidate was" if len(result.tried) == 1 else "candidates were"
    caption = f"{len(result.tried):,} {counted} tried on the other half; these the longest"
    columns = ("candidate", "#dialogues", "#turns lost", "#edited words", "#per 100 words")
    return Table(columns, rows, caption, list(map(asdict, most_tried)))


def describe_winner(result: SearchResult) -> str:
    """What was found, in a sentence or two; that it breaks nothing, where it lost no turn on the held-out half."""
    best = result.winner
    held_out = f"on {best.dialogues:,} dialogues that did not choose it"
    sentence = (
        f"{best.spec} breaks {result.tracker} most for what it changes: {100 * best.broken.value:.1f} turns per "
        f"100 edited words {PLAIN.interval(best.broken.low, best.broken.high, 1)}, "
        f"{PLAIN.points(-best.drop.value)} points of turns right, {held_out}."
    )
    if best.drop.value <= 0:
        chosen = f"{best.spec}, the one chosen, costs no turns {held_out}"
        sentence = f"Nothing was found that breaks {result.tracker}: {chosen}."
    return f"{sentence}\n{result.asked_to_choose:,} turns were asked to choose, {result.asked_to_report:,} to report."


def frontier_plot(result: SearchResult) -> Plot:
    """Accuracy under each reported composition over its edited words per turn; the original stands at 0."""
    title = f"{result.tracker} on {result.corpus}: turns right against words edited"
    return Plot("frontier", title, lambda layout: _chart(result, layout))


def draw_frontier(result: SearchResult, path: Path) -> None:
    """Write the plot, as SVG or as a page that opens offline, by the name's ending."""
    check_frontier_name(path)
    plot = frontier_plot(result)
    if path.suffix.casefold() == ".html":
        frontier, tried = search_tables(result).values()
        tables = {"Frontier": frontier, "Candidates": tried}
        SmallPage(plot.title, describe_winner(result).splitlines(), {plot.title: plot}, tables).write(path)
        return
    with replacing(path) as out:
        out.write(draw_svg(plot).encode())


def check_frontier_name(path: Path) -> None:
    """Refuse a file that is neither: better before the search than after it."""
    if path.suffix.casefold() not in (".svg", ".html"):
        raise DstressError("the frontier is drawn as .svg or .html", where=str(path), fix="end the name with one")


def _chart(result: SearchResult, layout: Layout) -> Chart:
    alt = altair()

    def shorten(spec: str) -> str:
        return spec if len(spec) <= _LIMIT else f"{spec[: _LIMIT - 1]}…"

    rows = [
        {
            "name": point.spec,
            # A narrow plot has room for one name only.
            "shown": "" if layout.narrow and not point.is_winner else shorten(point.spec),
            "edited": point.edited,
            "right": 100 * point.accuracy.value,
            "low": 100 * point.accuracy.low,
            "high": 100 * point.accuracy.high,
            "kind": "chosen" if point.is_winner else "on the frontier",
        }
        for point in result.frontier
    ]
    start = {"name": "original", "shown": "" if layout.narrow else "original", "edited": 0.0, "kind": "original"}
    ends = zip(("right", "low", "high"), astuple(result.original), strict=True)
    rows.insert(0, start | {name: 100 * value for name, value in ends})
    reached = alt.Scale(domain=[0, 1.35 * max(float(row["edited"]) for row in rows)])  # with room for the last name
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("edited:Q", title="edited words per turn", axis=layout.ticks(), scale=reached),
        tooltip=[alt.Tooltip(f"{name}:{kind}") for name, kind in (("name", "N"), ("edited", "Q"), ("right", "Q"))],
    )
    color = layout.colors("kind", {"original": MUTED, "on the frontier": ACCENT, "chosen": LOSS})
    y = alt.Y("low:Q", title="turns right, %", scale=free_scale())
    reach = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=y, y2="high:Q", color=color)
    point = dot(base, 60).encode(y="right:Q", color=color)
    words = base.mark_text(align="left", dx=8, dy=-6, color=INK, fontSize=11).encode(y="right:Q", text="shown:N")
    return alt.layer(reach, point, words).properties(width=layout.width, height=280)
