"""How plots are drawn: one palette, two layouts, and SVG whose colours follow the page's light or dark mode.

Plots are drawn in a palette that is safe for colour-blind readers (after Okabe and Ito). In a page every colour of the
palette becomes a CSS variable with that colour as its fallback; an exported file keeps the colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dstress.storage.atomic import replacing

INK, MUTED, GRID, SURFACE = "#1b1f24", "#6a737d", "#d9dde2", "#fefefe"
ACCENT, LOSS = "#0067a5", "#c8500a"
HEAT = ("#a33c03", "#d9661f", "#f09a5c", "#f8c9a4", "#fce8d8", "#f1f3f5", "#bfdcf0")
"""From a great loss, over nothing, to a gain."""
SERIES = ("#0067a6", "#c8510a", "#00795c", "#a8427f", "#8a6100", "#3a7fc1", "#7b4fb5", "#5b6470")
"""Systems side by side; they have shapes too, for whoever cannot tell the colours apart."""

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
_PNG_SCALE = 2
_SMALL = 400


Chart = Any
"""A chart of Altair's, or a part of one."""


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

    def legend(self, title: str | None = None, label: str | None = None) -> Chart:
        """The legend above the plot, where it fits on every screen."""
        columns = 1 if self.narrow and label else 8
        return altair().Legend(orient="top", title=title, columns=columns, **({"labelExpr": label} if label else {}))


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
    return str(_converter().vegalite_to_svg(spec, vl_version=version))


def draw_adaptive_svg(plot: Plot, layout: Layout) -> str:
    """The plot as SVG for the page: its colours follow the page's, and it shrinks where it must."""
    drawn = _COLOR.sub(lambda match: f"var(--plot-{_VARIABLES[match[0]]}, {match[0]})", draw_svg(plot, layout))
    return _SIZE.sub(r"\1", drawn, count=1)


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
