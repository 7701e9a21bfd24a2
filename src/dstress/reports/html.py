"""The HTML report: one file that opens offline, with every number, every plot and the examples behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from dstress.reports import views
from dstress.reports.curves import make_curves
from dstress.reports.downloads import frequent_confusions, make_downloads
from dstress.reports.explanation import explain_run
from dstress.reports.explorer import explore
from dstress.reports.findings import significant
from dstress.reports.numbers import PAGE
from dstress.reports.plots import make_plots
from dstress.reports.rendering import draw_plots, json_in_script, render_page, write_page
from dstress.reports.score_tables import recoverable, repeats, tasks
from dstress.reports.variant_names import scores_by_original_names, variant_names
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.scoring.alignment.errors import TurnErrors
from dstress.scoring.garbage import without_collection

if TYPE_CHECKING:
    from dstress.reports.differences import ForgottenTurn

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
    return write_page(path or run.path / REPORT, render_html(run, errors, earlier))


def render_html(run: RunFolder, errors: Mapping[str, TurnErrors], earlier: Sequence[RunFolder] = ()) -> str:
    """The page as text. Plots are drawn while the examples are read: both take a few seconds for a large run."""
    scores = scores_by_original_names(run)
    names = variant_names(run.manifest.suite)
    plots = make_plots(scores, names) | (make_curves([*earlier, run]) if earlier else {})
    forgotten: Sequence[ForgottenTurn] = ()
    if earlier:
        from dstress.reports.differences import find_forgotten  # it judges answers, as few pages need

        forgotten = find_forgotten([*earlier, run])
    with ThreadPoolExecutor(1) as pool, without_collection():
        drawn = pool.submit(draw_plots, plots, is_linked=True)
        explored, findings = explore(run, errors), explain_run(run, errors, scores).opening

    notes = [f"{names[variant]}: {note}" for variant, card in scores.variants.items() for note in card.notes]
    stressors, left_out = views.stressors(run), sum(packet.left_out for packet in explored.packets)
    failures = {
        reason: {name: reasons[reason] for name, reasons in explored.failures.items() if reasons[reason]}
        for reason, _ in sum(explored.failures.values(), Counter[str]()).most_common()
    }
    drops = dict(sorted(scores.drops.items(), key=lambda item: item[1].difference))
    # What the explorer's script must know before any packet is opened; it begins with the costliest stressor.
    stressed = [packet.variant for packet in explored.packets if packet.variant != ORIGINAL]
    costly = min(stressed, key=lambda name: drops[name].difference if name in drops else 1.0, default=ORIGINAL)
    packets = [
        {"variant": own.variant, "name": names[own.variant], "examples": own.examples, "left_out": own.left_out}
        for own in explored.packets
    ]
    meta = {"original": ORIGINAL, "first": costly, "pair": " → ", "packets": packets}
    return render_page(
        "report.html.j2",
        ["report.css"],
        ["report.js", "figures.js", "confusions.js", "explorer.js"],
        manifest=run.manifest,
        scores=scores,
        convention=scores.convention,
        names=names,
        dialogue_count=explored.dialogues,
        turn_count=explored.turns,
        cards=views.cards(scores, names),
        limits=views.limits(run.manifest, scores, left_out),
        findings=findings,
        broken=views.find_broken_turn(run, errors, costly) if costly in drops else None,
        tasks=tasks(scores, PAGE),
        headline=list(views.headline(scores)),
        drops=drops,
        significant=significant,
        recoverable=recoverable(scores, PAGE),
        repeats=repeats(scores, PAGE),
        services=views.services(scores),
        slots=views.slots(scores),
        stressors=stressors,
        failures=failures,
        notes=list(dict.fromkeys([*scores.notes, *notes])),
        command=views.command(run.manifest),
        signatures=views.signatures(scores),
        plots=drawn.result(),
        forgotten=forgotten[:_MOST_FORGOTTEN],
        all_forgotten=len(forgotten),
        packets=explored.packets,
        left_out=left_out,
        downloads=make_downloads(run, scores, explored.confusions, stressors),
        confused=any(explored.confusions.values()),
        confusions=json_in_script(frequent_confusions(explored.confusions)),
        meta=json_in_script(meta),
    )
