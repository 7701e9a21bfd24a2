"""How plots are drawn: one palette, two layouts, and SVG whose colours follow the page's light or dark mode.

Plots are drawn in a palette that is safe for colour-blind readers (after Okabe and Ito). In a page every colour of the
palette becomes a CSS variable with that colour as its fallback; an exported file keeps the colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from dstress.storage.atomic import replacing

INK, MUTED, GRID, SURFACE = "#1b1f24", "#6a737d", "#d9dde2", "#fefefe"
ACCENT, LOSS = "#0067a5", "#c8500a"
HEAT = (
    *("#5c1f02", "#8f3303", "#c24e10", "#e67e3c", "#f5b184", "#fbe0cd"),
    "#f1f3f5",
    *("#d3e6f5", "#8cbfe3", "#1f6ea8"),
)
"""From a great loss, over nothing, to a great gain."""
SERIES = ("#0067a6", "#c8510a", "#00795c", "#a8427f", "#8a6100", "#3a7fc1", "#7b4fb5", "#5b6470")
"""Systems side by side; they have shapes too, for whoever cannot tell the colours apart."""

ABOUT, SEE = "about", "see"
"""Fields of a plot's rows: what a mark says when it is pointed at, and where in the page its turns are."""

_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    SURFACE: "surface",
    ACCENT: "accent",
    LOSS: "loss",
    **{color: f"heat{number}" for number, color in enumerate(HEAT)},
    **{color: f"series{number}" for number, color in enumerate(SERIES)},
}
_COLOR = re.compile("|".join(_VARIABLES))
# The renderer measures text in Liberation Sans, which is as wide as Arial: so labels fit in a browser too.
_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
_SIZE = re.compile(r'(<svg[^>]*?) width="[\d.]+" height="[\d.]+"')
_LINK = re.compile(r'<a xlink:href="[^"#]*(#[^"]*)">')
_MARK = re.compile(
    r'<(path|line|rect) aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"([^>]*)/>'
)
_EMPTY = re.compile(r'<g([^>]*?) role="graphics-symbol"[^>]*/>')
"""A layer that has no mark here, such as that of differences beyond chance: a symbol that says nothing."""
_PNG_SCALE = 2
_SMALL = 400


_LETTER = 6.5
"""How wide a letter of a label is, in pixels, more or less."""

Chart = Any
"""A chart of Altair's, or a part of one."""

Rows = list[dict[str, Any]]
"""What a plot shows."""


def explorer_link(stressor: str, **filters: str) -> str:
    """Where the page's explorer shows the turns of a stressor, of all for none, that the filters leave."""
    return f"#explore?{urlencode({'stressor': stressor, **filters}, quote_via=quote)}"


def altair() -> Any:
    """Vega-Altair, when the first plot is made: importing it takes half a second, and checking its types far more."""
    return import_module("altair")


def _converter() -> Any:
    return import_module("vl_convert")


class Layout(NamedTuple):
    """How much room a plot has: its inner width, a row's height, and how long names may be, in pixels."""

    narrow: bool
    width: int
    step: int
    names: int

    def ticks(self) -> Chart:
        """An axis of numbers with a few of them."""
        return altair().Axis(tickCount=4 if self.width < _SMALL else 7)

    def names_axis(self, field: str, names: Iterable[str], sort: Any, *, grid: bool = True) -> Chart:
        """An axis of names down the side, in two lines where one is too short."""
        alt, lines = altair(), in_two_lines(names, int(self.names / _LETTER))
        if lines:
            lines |= {"labelOffset": -5}  # the first of two lines is the one that is set to the row
        axis = alt.Axis(labelLimit=self.names, domain=False, grid=grid, **lines)
        return alt.Y(field, sort=sort, title=None, axis=axis)

    def legend(self, title: str | None = None, label: str | None = None) -> Chart:
        """The legend above the plot, where it fits on every screen."""
        columns = 1 if self.narrow and label else 8
        return altair().Legend(
            orient="top", title=title, columns=columns, columnPadding=28, **({"labelExpr": label} if label else {})
        )


def in_two_lines(names: Iterable[str], most: int) -> dict[str, Any]:
    """What makes an axis write names that are longer than `most` letters in two lines, cut where they may be.

    What the second line cannot hold is left to tooltips.
    """
    cut = {}
    for name in names:
        if len(name) > most:
            ends = [match.end() for match in re.finditer(r"[\s,+_/-]|.(?=\()", name[:most])]
            at = ends[-1] if ends else most
            first, rest = name[:at].strip(), name[at:].strip()
            cut[name] = [first, rest if len(rest) <= most else f"{rest[: most - 1]}…"]
    lookup = f"{msgspec.json.encode(cut).decode()}[datum.label] || datum.label"
    return {"labelExpr": lookup, "labelLineHeight": 12} if cut else {}


class Plot(NamedTuple):
    """A plot: what it is called as a file, what it shows, and its chart for a layout."""

    name: str
    title: str
    chart: Callable[[Layout], Chart]


WIDE = Layout(False, 640, 24, 240)
NARROW = Layout(True, 200, 26, 118)


def draw_svg(plot: Plot, layout: Layout = WIDE) -> str:
    """The plot as SVG, in the palette's own colours."""
    spec, version = _spec(plot, layout)
    # A file is cut at its edges, and where there is no Arial its labels are wider than measured.
    spec["padding"] = {"left": 30, "right": 30, "top": 5, "bottom": 5}
    return str(_converter().vegalite_to_svg(spec, vl_version=version))


def draw_adaptive_svg(plot: Plot, layout: Layout, *, is_linked: bool = True) -> str:
    """The plot as SVG for the page: its colours follow the page's, it shrinks where it must, and its marks tell what
    they are and, on a page with examples, lead to their turns.

    Marks are no stops of the tab key, which would be hundreds: the page's tables have the same links.
    """
    spec, version = _spec(plot, layout)
    if is_linked:
        _add_links(spec)
    drawn = str(_converter().vegalite_to_svg(spec, vl_version=version))
    drawn = _COLOR.sub(lambda match: f"var(--plot-{_VARIABLES[match[0]]}, {match[0]})", drawn)
    drawn = _EMPTY.sub(r"<g\1/>", drawn)
    drawn = _LINK.sub(r'<a href="\1" tabindex="-1">', _SIZE.sub(r"\1", drawn, count=1))
    return _MARK.sub(r"<\1\3><title>\2</title></\1>", drawn)


def _add_links(part: Any) -> None:
    """Let every mark that says what it is lead to its turns."""
    if isinstance(part, dict):
        if part.get("description", {}) == {"field": ABOUT, "type": "nominal"}:
            part["href"] = {"field": SEE, "type": "nominal"}
        for inner in part.values():
            _add_links(inner)
    elif isinstance(part, list):
        for inner in part:
            _add_links(inner)


def export(plot: Plot, folder: Path) -> list[Path]:
    """Write the plot as SVG, PNG and as its Vega-Lite specification."""
    spec, version = _spec(plot, WIDE)
    files = {
        ".svg": draw_svg(plot).encode(),
        ".png": bytes(_converter().vegalite_to_png(spec, vl_version=version, scale=_PNG_SCALE)),
        ".vl.json": msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n",
    }
    for suffix, data in files.items():
        with replacing(folder / f"{plot.name}{suffix}") as out:
            out.write(data)
    return [folder / f"{plot.name}{suffix}" for suffix in files]


def _spec(plot: Plot, layout: Layout) -> tuple[dict[str, Any], str]:
    chart = plot.chart(layout)
    # Checking a specification takes longer than drawing it; the tests check them all.
    spec = chart.configure(**_theme()).properties(background=SURFACE).to_dict(validate=False)
    return spec, ".".join(altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])


def _theme() -> dict[str, Any]:
    text = {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 400}
    lines = {"gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    return {
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {**text, **lines, "titlePadding": 10, "labelPadding": 6, "ticks": False, "labelFlush": False},
        "legend": {**text, "symbolType": "circle"},
        "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": 600},
        "text": {"color": INK, "fontSize": 12},
        "facet": {"spacing": 24},
    }
