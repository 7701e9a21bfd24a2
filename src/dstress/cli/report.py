"""`dstress report`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from click.core import ParameterSource
from rich.markup import escape

from dstress.cli.output import (
    PLOTS,
    OutputFiles,
    OutputPath,
    console,
    json_option,
    print_notes,
    print_table,
    table_options,
)
from dstress.cli.progress import waiting
from dstress.reports.charts import Plot, export
from dstress.reports.curves import make_curves
from dstress.reports.explanation import explain_run
from dstress.reports.findings import Finding
from dstress.reports.html import write_html
from dstress.reports.many_runs import ManyRuns, study_runs, write_many_html
from dstress.reports.many_tables import PAIRS
from dstress.reports.original_names import scores_by_original_names
from dstress.reports.plots import make_plots
from dstress.reports.score_tables import run_tables
from dstress.reports.tables import Table
from dstress.reports.variant_names import variant_names
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors
from dstress.scoring.score import COMPARING

MANY = "compared.html"


@click.command("report")
@click.argument("run_folders", metavar="RUN [RUN]...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--html",
    metavar="FILE",
    type=OutputPath(),
    help=f"the page; default: RUN/report.html, of several runs {MANY}",
)
@click.option("--plots", "plots_folder", metavar="DIR", type=PLOTS, help="SVG, PNG and Vega-Lite")
@click.option("--after", multiple=True, metavar="RUN", type=click.Path(path_type=Path), help="an earlier checkpoint's")
@click.option("--seeds", is_flag=True, help="the runs are seeds of systems (copy-1 copy-2 ...): median, standard error")
@click.option("--along", default="", metavar="LABEL", help="the runs are points on a line: steps, training sizes ...")
@click.option("--metric", default="", help="what several systems are ranked by; default: jga")
@click.option(
    "--resamples", default=COMPARING.resamples, show_default=True, type=click.IntRange(min=1), help="of several runs"
)
@table_options
@json_option
def command(
    run_folders: tuple[Path, ...],
    html: Path | None,
    plots_folder: Path | None,
    after: tuple[Path, ...],
    seeds: bool,
    along: str,
    metric: str,
    resamples: int,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Report a RUN, or several side by side: tables and findings here, and a page with every number, plot and example.

    The page is one file that opens offline. With --markdown, --latex, --csv, --plots or --json only what is named is
    written. Several runs must be of the same dialogues: trackers are ranked and tested pair by pair; with --seeds, runs
    that are called alike but for a number are one system; with --along, that number is the place of a run on a line.
    Name the runs of earlier checkpoints with --after, oldest first, to see one run's measures grow over training.

    \b
    Examples
      dstress report runs/quick
      dstress report runs/quick --latex table.tex --plots figures
      dstress report runs/rules runs/copy runs/causal --html compared.html
      dstress report --seeds runs/copy-1 runs/copy-2 runs/causal-1 runs/causal-2
      dstress report --along "training dialogues" runs/copy-10 runs/copy-100 runs/copy-1000
      dstress report runs/epoch3 --after runs/epoch1 --after runs/epoch2
    """
    files = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    runs = [RunFolder.open(folder) for folder in run_folders]
    if len(runs) == 1:
        given = click.get_current_context().get_parameter_source("resamples")
        if seeds or along or metric or given == ParameterSource.COMMANDLINE:
            raise click.UsageError("--seeds, --along, --metric and --resamples are for several runs")
        _report_one(runs[0], [RunFolder.open(folder) for folder in after], files, html, plots_folder)
        return
    if after or sum(map(bool, (seeds, along, metric))) > 1:
        raise click.UsageError("several runs take one of --seeds, --along and --metric; --after is for a single run")
    with waiting("comparing"):
        options = msgspec.structs.replace(COMPARING, resamples=resamples)
        study = study_runs(runs, seeds=seeds, along=along, metric=metric or "jga", options=options)
    _report_many(study, files, html, plots_folder)


def _report_one(
    run: RunFolder, earlier: list[RunFolder], files: OutputFiles, html: Path | None, plots_folder: Path | None
) -> None:
    scores = scores_by_original_names(run)
    errors = find_errors(run)
    tables, told = run_tables(run.manifest, scores), explain_run(run, errors)
    content = {"findings": told.opening, "evidence": told.evidence, "scores": run.scores}
    only_files = files.write(content, tables, data=run.tables) or bool(plots_folder)
    if plots_folder:
        plots = make_plots(scores, variant_names(run.manifest.suite)), make_curves([*earlier, run]) if earlier else {}
        _draw([plot for some in plots for plot in some.values()], plots_folder)
    if html or not only_files:
        with waiting("writing the page"):
            page = write_html(run, errors, html, earlier)
    if not only_files:
        _show(tables, told.opening, scores.notes, page)


def _report_many(study: ManyRuns, files: OutputFiles, html: Path | None, plots_folder: Path | None) -> None:
    tables = study.tables()
    shown = [table for name, table in tables.items() if name != PAIRS]
    remarks = [*(f"note: {note}" for note in study.notes), *(f"{one.title}. {one.text}" for one in study.findings)]
    only_files = files.write(study.content, shown, remarks, tables) or bool(plots_folder)
    if plots_folder:
        _draw(list(study.plots.values()), plots_folder)
    if html or not only_files:
        with waiting("writing the page"):
            page = write_many_html(study, html or Path(MANY))
    if not only_files:
        _show(shown, study.findings, study.notes, page)


def _draw(plots: list[Plot], folder: Path) -> None:
    with waiting("drawing"):
        written = [file for plot in plots for file in export(plot, folder)]
    click.echo(f"{len(written)} files in {folder}", err=True)


def _show(tables: list[Table], found: list[Finding], notes: list[str], page: Path) -> None:
    for table in tables:
        print_table(table)
    print_findings(found)
    print_notes(notes)
    console().print(f"the page: {page}", markup=False)


def print_findings(found: list[Finding]) -> None:
    """The findings, numbered, in words."""
    for number, finding in enumerate(found, start=1):
        console().print(f"[bold]{number}. {escape(finding.title)}.[/bold] {escape(finding.text)}")
