"""How plots are drawn: one palette, two layouts, and SVG whose colours follow the page's light or dark mode.

Plots are drawn in a palette that is safe for colour-blind readers (after Okabe and Ito). In a page every colour of the
palette becomes a CSS variable with that colour as its fallback; an exported file keeps the colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left")

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
_LETTERS = re.compile(r"<a [^>]*>(<text.*?</text>)</a>")
"""Letters in a cell, which has the link."""
_MARK = re.compile(
    r'<(path|line|rect) aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"([^>]*)/>'
)
_EMPTY = re.compile(r'<g([^>]*?) role="graphics-symbol"[^>]*/>')
"""A layer that has no mark here, such as that of differences beyond chance: a symbol that says nothing."""
_UNPAINTED = re.compile(r'<path class="(?:back|fore)ground" aria-hidden="true" d="[^"]*"(?: [a-z-]+="none")*/>')
_DEFAULT = re.compile(r' (?:(?:stroke-width|opacity)="1"|[xy]2="0"|pointer-events="none")')
_PLACE = re.compile(r'(?<= )((?:transform|d|width|height|[xy]2?)=")([^"]*)')
_LONG = re.compile(r"\d+\.\d{3,}")
_RESOURCES = re.compile(rb"(?:^ +/[a-z]+\d+ \d+ 0 R\n){2,}", re.MULTILINE)
_FONTS = re.compile(rb"/FontName /\w+\+(\S+)")
_TRIES = 100
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

    def colors(self, field: str, colors: Mapping[str, str], label: str = "") -> Chart:
        """The colour of each value of a field, with a legend above the plot, where it fits on every screen."""
        alt = altair()
        columns = {"columns": 1 if self.narrow and label else 8, "columnPadding": 28}
        legend = alt.Legend(orient="top", title=None, **columns, **({"labelExpr": label} if label else {}))
        scale = alt.Scale(domain=list(colors), range=list(colors.values()))
        return alt.Color(f"{field}:N", scale=scale, title=None, legend=legend)

    def columns(self, panels: int, most: int = 2) -> int:
        """How many of several panels stand side by side."""
        return 1 if self.narrow else min(most, panels)

    def panel(self, panels: int, most: int = 2, gap: int = 10) -> Layout:
        """The room that one of several panels has."""
        columns = self.columns(panels, most)
        return self if columns == 1 else self._replace(width=self.width // columns - gap)

    @property
    def height(self) -> Chart:
        """The height of a plot that has a row for each name."""
        return altair().Step(self.step)


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


def marks_of(rows: Rows, *, in_panels: bool = False, **encoding: Any) -> Chart:
    """What all marks of a plot share; each says what it shows, where the rows do. Panels get their rows by `facet`."""
    alt = altair()
    chart = alt.Chart() if in_panels else alt.Chart(alt.Data(values=rows))
    return chart.encode(**encoding, **({"description": f"{ABOUT}:N"} if rows and ABOUT in rows[0] else {}))


def system_marks(names: Sequence[str], layout: Layout) -> dict[str, Chart]:
    """How systems are told apart in every plot: a colour and a shape each, from the ninth on once more."""
    alt = altair()
    marks = [(SERIES[n % len(SERIES)], _SHAPES[n % len(_SHAPES)]) for n in range(len(names))]
    colors, shapes = (alt.Scale(domain=list(names), range=list(values)) for values in zip(*marks, strict=True))
    legend = alt.Legend(orient="top", title=None, columns=2 if layout.narrow else 5, symbolOpacity=1)
    return {
        "color": alt.Color("system:N", scale=colors, legend=legend),
        "shape": alt.Shape("system:N", scale=shapes, legend=legend),
    }


def zero_line(axis: str) -> Chart:
    """A dashed line at 0 of an axis."""
    alt = altair()
    line = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=MUTED, strokeDash=[3, 3], aria=False)
    return line.encode(**{axis: "zero:Q"})


def mean_line(field: str) -> Chart:
    """A dashed line down a panel, at the mean of a field."""
    return altair().Chart().mark_rule(color=INK, strokeDash=[4, 3], aria=False).encode(x=f"mean({field}):Q")


def free_scale() -> Chart:
    """A scale that need not have 0 on it."""
    return altair().Scale(zero=False, nice=True)


def dot(base: Chart, size: int, **options: Any) -> Chart:
    """A full point for each row."""
    return base.mark_point(size=size, filled=True, opacity=1, **options)


def facet(chart: Chart, field: str, values: Sequence[str], rows: Rows, layout: Layout, most: int = 2) -> Chart:
    """A panel for each value of a field, in this order."""
    alt = altair()
    header = alt.Facet(f"{field}:N", sort=list(values), title=None, header=alt.Header(labelAnchor="start"))
    return chart.facet(header, data=alt.Data(values=rows), columns=layout.columns(len(values), most))


class Plot(NamedTuple):
    """A plot: what it is called as a file, what it shows, and its chart for a layout."""

    name: str
    title: str
    chart: Callable[[Layout], Chart]


WIDE = Layout(False, 640, 24, 240)
NARROW = Layout(True, 200, 26, 118)


def draw_svg(plot: Plot) -> str:
    """The plot as SVG, in the palette's own colours."""
    spec, version = _spec(plot, WIDE)
    # A file is cut at its edges, and where there is no Arial its labels are wider than measured.
    spec["padding"] = {"left": 30, "right": 30, "top": 5, "bottom": 5}
    return str(import_module("vl_convert").vegalite_to_svg(spec, vl_version=version))


def draw_adaptive_svg(plot: Plot, layout: Layout, *, is_linked: bool = True) -> str:
    """The plot as SVG for the page: its colours follow the page's, it shrinks where it must, and its marks tell what
    they are and, on a page with examples, lead to their turns.
    """
    return adapt(draw(plot, layout, is_linked=is_linked))


def adapt(drawn: str) -> str:
    """A drawn plot for the page.

    Marks are no stops of the tab key, which would be hundreds: the page's tables have the same links.
    """
    drawn = _shorten(drawn)
    drawn = _COLOR.sub(lambda match: f"var(--plot-{_VARIABLES[match[0]]}, {match[0]})", drawn)
    drawn = _EMPTY.sub(r"<g\1/>", drawn)
    drawn = _LETTERS.sub(r"\1", drawn)
    drawn = _LINK.sub(r'<a href="\1" tabindex="-1">', _SIZE.sub(r"\1", drawn, count=1))
    return _MARK.sub(r"<\1\3><title>\2</title></\1>", drawn)


def draw(plot: Plot, layout: Layout, *, is_linked: bool = False) -> str:
    """The plot as SVG for a layout, in the palette's own colours; linked, its marks lead to their turns."""
    spec, version = _spec(plot, layout)
    if is_linked:
        _add_links(spec)
    return str(import_module("vl_convert").vegalite_to_svg(spec, vl_version=version))


def _shorten(drawn: str) -> str:
    """The same drawing in fewer bytes: without what paints nothing or is the default, and with short numbers."""
    font = f' font-family="{_FONT}"'
    drawn = _DEFAULT.sub("", _UNPAINTED.sub("", drawn)).replace(font, "").replace("<svg", f"<svg{font}", 1)
    return _PLACE.sub(lambda place: place[1] + _LONG.sub(lambda number: f"{float(number[0]):.4g}", place[2]), drawn)


def to_pdf(drawn: str) -> bytes:
    """A drawn plot as PDF, with its fonts.

    The converter writes fonts and resources in any order, and the same plot must be the same file: resources are
    sorted, and of several fonts the order by name is waited for.
    """
    for _ in range(_TRIES):
        pdf = bytes(import_module("vl_convert").svg_to_pdf(drawn))
        if (fonts := _FONTS.findall(pdf)) == sorted(fonts):
            break
    return _RESOURCES.sub(lambda lines: b"".join(sorted(lines[0].splitlines(keepends=True))), pdf)


def _add_links(part: Any) -> None:
    """Let every mark that says what it is lead to its turns."""
    if isinstance(part, dict) and part.get("description", {}) == {"field": ABOUT, "type": "nominal"}:
        part["href"] = {"field": SEE, "type": "nominal"}
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _add_links(inner)


def export(plot: Plot, folder: Path) -> list[Path]:
    """Write the plot as SVG, PNG, PDF and as its Vega-Lite specification."""
    spec, version = _spec(plot, WIDE)
    files = {
        ".svg": draw_svg(plot).encode(),
        ".png": bytes(import_module("vl_convert").vegalite_to_png(spec, vl_version=version, scale=_PNG_SCALE)),
        ".pdf": to_pdf(draw(plot, WIDE)),
        ".vl.json": msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n",
    }
    for suffix, data in files.items():
        with replacing(folder / f"{plot.name}{suffix}") as out:
            out.write(data)
    return [folder / f"{plot.name}{suffix}" for suffix in files]


def _spec(plot: Plot, layout: Layout) -> tuple[dict[str, Any], str]:
    """The plot's specification in our theme, and the version of Vega-Lite that it is written for."""
    text = {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 400}
    lines = {"gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    theme = {
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {**text, **lines, "titlePadding": 10, "labelPadding": 6, "ticks": False, "labelFlush": False},
        "legend": {**text, "symbolType": "circle"},
        "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": 600},
        "text": {"color": INK, "fontSize": 12},
        "facet": {"spacing": 24},
    }
    # Checking a specification takes longer than drawing it; the tests check them all.
    spec = plot.chart(layout).configure(**theme).properties(background=SURFACE).to_dict(validate=False)
    return spec, ".".join(altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])
