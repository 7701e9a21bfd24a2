"""What every HTML page of ours is made with: one kind of Jinja environment, its filters, styles, scripts and plots.

A page opens offline, and a policy in it names its only script by its hash, so that no dialogue, value or slot name can
bring another one along. All text is escaped by the templates.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dstress.reports.charts import NARROW, WIDE, Plot, adapt, draw, to_pdf
from dstress.reports.numbers import PAGE
from dstress.storage.atomic import replacing

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates(package: str = __package__, folder: str = "page") -> Environment:
    """The templates of a package's folder. Everything is escaped, and a name that is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # most commands write no page

    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "percent": PAGE.percent,
        "points": PAGE.points,
        "count": "{:,}".format,
        "breakable": _breakable,
    }
    return environment


def _breakable(spec: str) -> Any:
    """A spec that may go on in the next line after a `+`, a bracket or a comma."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([+(,])", r"\1<wbr>", str(escape(spec))))


def page_file(name: str) -> str:
    """A style or a script of a page."""
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def render_page(template: str, styles: Iterable[str], scripts: Iterable[str] = (), **content: Any) -> str:
    """Render a page of ours, with all that it needs inside it."""
    style, script = ("".join(map(page_file, names)) for names in (styles, scripts))
    shared = {"style": style, "script": script, "script_hash": hash_script(script), "PAGE": PAGE}
    page: str = templates().get_template(template).render(content | shared)
    return page


def write_page(path: Path, page: str) -> Path:
    """Write a page, whole or not at all."""
    with replacing(path) as out:
        out.write(page.encode("utf-8", "replace"))
    return path


def hash_script(script: str) -> str:
    """The hash by which a page's policy allows its only script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def json_in_script(content: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or starts a comment."""
    text = msgspec.json.encode(content).decode("utf-8", "replace")
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def draw_plots(plots: Mapping[str, Plot], *, is_linked: bool = False) -> dict[str, dict[str, str]]:
    """Draw every plot for a wide and for a narrow screen, with its title and as an address that holds it as PDF."""
    drawn = {}
    for name, plot in plots.items():
        wide, narrow = (draw(plot, layout, is_linked=is_linked) for layout in (WIDE, NARROW))
        pdf = f"data:application/pdf;base64,{base64.b64encode(to_pdf(wide)).decode()}"
        drawn[name] = {"title": plot.title, "wide": adapt(wide), "narrow": adapt(narrow), "pdf": pdf}
    return drawn
