"""`dstress report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from dstress.cli.output import console, json_option, print_notes, print_table, table_options, write_json, write_tables
from dstress.cli.progress import waiting
from dstress.cli.run import tables
from dstress.reports.charts import Plot, export
from dstress.reports.curves import curves
from dstress.reports.findings import Finding, findings
from dstress.reports.html import write_html
from dstress.reports.original_names import aligned
from dstress.reports.plots import plots
from dstress.runs.folder import RunFolder, Scores
from dstress.runs.scores import find_errors


@click.command("report")
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="the page; default: RUN/report.html")
@click.option("--plots", "plots_folder", metavar="DIR", type=click.Path(path_type=Path), help="SVG, PNG and Vega-Lite")
@click.option("--after", multiple=True, metavar="RUN", type=click.Path(path_type=Path), help="an earlier checkpoint's")
@table_options
@json_option
def command(run_folder: Path, html: Path | None, plots_folder: Path | None, **given: Any) -> None:
    """Report a RUN: its tables and findings here, and a page with every number, plot and example.

    The page is one file that opens offline. With --markdown, --latex, --plots or --json only what is named is written.
    Name the runs of earlier checkpoints with --after, oldest first, to see each measure grow over training.

    \b
    Examples
      dstress report runs/quick
      dstress report runs/quick --html quick.html
      dstress report runs/quick --latex table.tex --plots figures
      dstress report runs/epoch3 --after runs/epoch1 --after runs/epoch2
    """
    run = RunFolder.open(run_folder)
    scores = aligned(run)
    earlier = [RunFolder.open(folder) for folder in given["after"]]
    asked = write_tables(tables(run, scores), given["markdown"], given["latex"])
    if given["json_file"]:
        write_json({"findings": findings(scores), "scores": run.scores}, given["json_file"])
    if plots_folder:
        _write_plots([*plots(scores).values(), *([curves([*earlier, run])] if earlier else [])], plots_folder)
    asked = asked or bool(given["json_file"] or plots_folder)
    if html or not asked:
        with waiting("writing the page"):
            page = write_html(run, find_errors(run), html, earlier)
    if not asked:
        _show(run, scores)
        console().print(f"the page: {page}", markup=False)


def _write_plots(shown: list[Plot], folder: Path) -> None:
    with waiting("drawing"):
        files = [file for plot in shown for file in export(plot, folder)]
    click.echo(f"{len(files)} files in {folder}", err=True)


def _show(run: RunFolder, scores: Scores) -> None:
    for table in tables(run, scores):
        print_table(table)
    print_findings(findings(scores))
    print_notes(scores.notes)


def print_findings(found: list[Finding]) -> None:
    """The findings, numbered, in words."""
    for number, finding in enumerate(found, start=1):
        console().print(f"[bold]{number}. {escape(finding.title)}.[/bold] {escape(finding.text)}")
