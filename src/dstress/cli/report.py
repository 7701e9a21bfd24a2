"""`dstress report`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from dstress.cli.output import OutputFiles, console, json_option, print_notes, print_table, table_options
from dstress.cli.progress import waiting
from dstress.reports.charts import export
from dstress.reports.curves import make_curves
from dstress.reports.findings import Finding, findings
from dstress.reports.html import write_html
from dstress.reports.original_names import scores_by_original_names
from dstress.reports.plots import make_plots
from dstress.reports.score_tables import run_tables
from dstress.reports.variant_names import variant_names
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors


@click.command("report")
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="the page; default: RUN/report.html")
@click.option("--plots", "plots_folder", metavar="DIR", type=click.Path(path_type=Path), help="SVG, PNG and Vega-Lite")
@click.option("--after", multiple=True, metavar="RUN", type=click.Path(path_type=Path), help="an earlier checkpoint's")
@table_options
@json_option
def command(
    run_folder: Path,
    html: Path | None,
    plots_folder: Path | None,
    after: tuple[Path, ...],
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
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
    scores = scores_by_original_names(run)
    earlier = [RunFolder.open(folder) for folder in after]
    tables, found = run_tables(run.manifest, scores), findings(scores)
    files = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    only_files = files.write({"findings": found, "scores": run.scores}, tables, data=run.tables) or bool(plots_folder)
    if plots_folder:
        with waiting("drawing"):
            drawn = [
                *make_plots(scores, variant_names(run.manifest.suite)).values(),
                *(make_curves([*earlier, run]).values() if earlier else []),
            ]
            written = [file for plot in drawn for file in export(plot, plots_folder)]
        click.echo(f"{len(written)} files in {plots_folder}", err=True)
    if html or not only_files:
        with waiting("writing the page"):
            page = write_html(run, find_errors(run), html, earlier)
    if not only_files:
        for table in tables:
            print_table(table)
        print_findings(found)
        print_notes(scores.notes)
        console().print(f"the page: {page}", markup=False)


def print_findings(found: list[Finding]) -> None:
    """The findings, numbered, in words."""
    for number, finding in enumerate(found, start=1):
        console().print(f"[bold]{number}. {escape(finding.title)}.[/bold] {escape(finding.text)}")
