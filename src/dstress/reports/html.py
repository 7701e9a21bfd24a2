"""The HTML report: one file that opens offline, with every number, every plot and the examples behind them.

Nothing is fetched, and nothing but the page's own script may run: a policy in the page names that script by its hash,
so that no dialogue, value or slot name can bring one along. All text is escaped by the template.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dstress.alignment.errors import TurnErrors
from dstress.reports import views
from dstress.reports.charts import NARROW, WIDE, Plot, draw_adaptive_svg
from dstress.reports.curves import make_curves
from dstress.reports.downloads import frequent_confusions, make_downloads
from dstress.reports.explanation import explain_run
from dstress.reports.explorer import Explored, explore
from dstress.reports.findings import Finding
from dstress.reports.numbers import PAGE
from dstress.reports.original_names import scores_by_original_names
from dstress.reports.plots import make_plots
from dstress.reports.variant_names import variant_names
from dstress.runs.folder import ORIGINAL, RunFolder, Scores
from dstress.scoring.garbage import without_collection
from dstress.storage.atomic import replacing

if TYPE_CHECKING:
    from dstress.analysis.forgetting import ForgottenTurn

REPORT = "report.html"
_MOST_FORGOTTEN = 50
"""Turns that were right once, on the page."""


def write_html(
    run: RunFolder, errors: Mapping[str, TurnErrors], path: Path | None = None, earlier: Sequence[RunFolder] = ()
) -> Path:
    """Write a run's report, into the run folder where nothing else is said.

    `errors` are what the answers to each variant have wrong. `earlier` are runs of earlier checkpoints of the tracker,
    in order: then the page shows how each measure grew.
    """
    path = path or run.path / REPORT
    content = render_html(run, errors, earlier).encode("utf-8", "replace")
    with replacing(path) as out:
        out.write(content)
    return path


def render_html(run: RunFolder, errors: Mapping[str, TurnErrors], earlier: Sequence[RunFolder] = ()) -> str:
    """The page as text. Plots are drawn while the examples are read: both take a few seconds for a large run."""
    scores = scores_by_original_names(run)
    names = variant_names(run.manifest.suite)
    plots = make_plots(scores, names) | (make_curves([*earlier, run]) if earlier else {})
    forgotten: Sequence[ForgottenTurn] = ()
    if earlier:
        from dstress.analysis.forgetting import find_forgotten  # it judges answers, which a plain page need not

        forgotten = find_forgotten([*earlier, run])
    with ThreadPoolExecutor(1) as pool, without_collection():
        drawn = pool.submit(draw_plots, plots)
        explored, told = explore(run, errors), explain_run(run, errors).opening
        return _fill_template(run, scores, explored, drawn.result(), forgotten, told)


def draw_plots(plots: Mapping[str, Plot]) -> dict[str, dict[str, str]]:
    """Every plot for a screen and for a phone, with its title."""
    return {
        name: {"title": plot.title, "wide": draw_adaptive_svg(plot, WIDE), "narrow": draw_adaptive_svg(plot, NARROW)}
        for name, plot in plots.items()
    }


def _fill_template(
    run: RunFolder,
    scores: Scores,
    explored: Explored,
    drawn: dict[str, dict[str, str]],
    forgotten: Sequence[ForgottenTurn],
    told: Sequence[Finding],
) -> str:
    script = "".join(map(page_file, ("report.js", "confusions.js", "explorer.js")))
    names = variant_names(run.manifest.suite)
    notes = [f"{names[variant]}: {note}" for variant, card in scores.variants.items() for note in card.notes]
    stressors, left_out = views.stressors(run), sum(packet.left_out for packet in explored.packets)
    filled: str = open_template("report.html.j2").render(
        manifest=run.manifest,
        scores=scores,
        convention=scores.convention,
        names=names,
        dialogue_count=explored.dialogues,
        turn_count=explored.turns,
        cards=views.cards(scores, names),
        limits=views.limits(run.manifest, scores, left_out),
        findings=told,
        headline=views.headline(scores),
        tasks=views.tasks(scores),
        costs=views.costs(run, scores),
        recoverable=views.recoverable(scores),
        repeats=views.repeats(scores),
        services=views.services(scores),
        slots=views.slots(scores),
        stressors=stressors,
        failures=views.failures(explored.failures),
        notes=list(dict.fromkeys([*scores.notes, *notes])),
        command=views.command(run.manifest),
        signatures=list(views.signatures(scores)),
        plots=drawn,
        forgotten=forgotten[:_MOST_FORGOTTEN],
        all_forgotten=len(forgotten),
        packets=explored.packets,
        left_out=left_out,
        downloads=make_downloads(run, scores, explored.confusions, stressors),
        confused=any(explored.confusions.values()),
        confusions=json_in_script(frequent_confusions(explored.confusions)),
        meta=json_in_script(_meta(scores, explored, names)),
        style=page_file("report.css"),
        script=script,
        script_hash=hash_script(script),
    )
    return filled


def open_template(name: str) -> Any:
    """A page's template. All text that it is filled with is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dstress.reports", "page"),
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
    return environment.get_template(name)


def hash_script(script: str) -> str:
    """What a page's policy knows its only script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _breakable(spec: str) -> Any:
    """A spec that may go on in the next line behind a `+`, a bracket or a comma."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([+(,])", r"\1<wbr>", str(escape(spec))))


def page_file(name: str) -> str:
    """A part of a page: its template, style or script."""
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _meta(scores: Scores, explored: Explored, names: Mapping[str, str]) -> dict[str, Any]:
    """What the explorer's script must know before any packet is opened."""
    drops = scores.drops
    stressed = [packet.variant for packet in explored.packets if packet.variant != ORIGINAL]
    costly = min(stressed, key=lambda variant: drops[variant].difference if variant in drops else 1.0, default=ORIGINAL)
    packets = [
        {"variant": packet.variant, "name": names[packet.variant]}
        | {"examples": packet.examples, "left_out": packet.left_out}
        for packet in explored.packets
    ]
    return {"original": ORIGINAL, "first": costly, "pair": " → ", "packets": packets}


def json_in_script(content: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or starts a comment."""
    return msgspec.json.encode(content).decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
