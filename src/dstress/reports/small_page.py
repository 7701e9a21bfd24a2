"""A small page that opens offline and runs no script: a plot, tables and marked-up examples, in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from dstress.reports.charts import NARROW, WIDE, Plot, draw_adaptive_svg
from dstress.reports.tables import Table, html
from dstress.storage.atomic import replacing


class Part(NamedTuple):
    """A stretch of an utterance: as it was, left out, or added."""

    kind: Literal["same", "gone", "new"]
    text: str


class MarkedUtterance(NamedTuple):
    """An utterance with its edits marked, and how the stressor had left it."""

    who: str
    parts: Sequence[Part]
    stressed: str


class Example(NamedTuple):
    """An example: what it is called, how it went, its utterances, and what is wrong then."""

    title: str
    about: str
    utterances: Sequence[MarkedUtterance]
    wrong: Sequence[str]


class SmallPage(NamedTuple):
    """What stands on the page, from above."""

    title: str
    about: Sequence[str] = ()
    plot: Plot | None = None
    tables: Sequence[Table] = ()
    examples: Sequence[Example] = ()

    def write(self, path: Path) -> None:
        """Write the page, whole or not at all. All text is escaped by the template."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("dstress.reports", "page"),
            autoescape=True,
            trim_blocks=True,
            undefined=StrictUndefined,
        )
        environment.filters["html"] = html
        drawn = {"wide": WIDE, "narrow": NARROW} if self.plot else {}
        page = environment.get_template("small.html.j2").render(
            title=self.title,
            about=self.about,
            drawn={name: draw_adaptive_svg(self.plot, layout) for name, layout in drawn.items() if self.plot},
            tables=self.tables,
            examples=self.examples,
            style=files(__package__).joinpath("page", "small.css").read_text(encoding="utf-8"),
        )
        with replacing(path) as out:
            out.write(page.encode("utf-8", "replace"))
