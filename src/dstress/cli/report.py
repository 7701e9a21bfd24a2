"""`dstress report`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from click.core import ParameterSource
from rich.markup import escape

from dstress.cli.names import METRIC
from dstress.cli.options import PATH, argument, option, plots_option, resamples_option, verb
from dstress.cli.output import OutputFiles, OutputPath, console, draw_plots, print_all, print_notes, table_options
from dstress.cli.progress import waiting
from dstress.reports.curves import make_curves
from dstress.reports.explanation import explain_run
from dstress.reports.findings import Finding
from dstress.reports.html import write_html
from dstress.reports.label import write_label
from dstress.reports.many_runs import ManyRuns, study_runs, write_many_html
from dstress.reports.many_tables import PAIRS
from dstress.reports.plots import make_plots
from dstress.reports.score_tables import run_tables
from dstress.reports.tables import Table
from dstress.reports.task_means import task_table
from dstress.reports.variant_names import scores_by_original_names, variant_names
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors
from dstress.scoring.score import COMPARING

MANY = "compared.html"


@verb("report")
def command(
    run_folders: tuple[Path, ...] = argument(metavar="RUN [RUN]...", nargs=-1, required=True, type=PATH),
    html: Path | None = option(
        metavar="FILE", type=OutputPath(), help=f"the report page; default: RUN/report.html, for several runs {MANY}"
    ),
    label: Path | None = option(
        metavar="FILE", type=OutputPath(), help="a small card with what each stressor costs: .svg, .png or .html"
    ),
    plots_folder: Path | None = plots_option,
    after: tuple[Path, ...] = option(multiple=True, metavar="RUN", type=PATH, help="run of an earlier checkpoint"),
    seeds: bool = option(
        is_flag=True, help="the runs are seeds of systems (copy-1 copy-2 ...): median, standard error"
    ),
    tasks: bool = option(
        is_flag=True, help="the runs are tasks of one benchmark; those in one folder are averaged into one row"
    ),
    along: str = option(default="", metavar="LABEL", help="plot the runs along this axis: steps, training sizes ..."),
    metric: str = option(type=METRIC, default="", help="metric that ranks several systems; default: jga"),
    resamples: int = resamples_option(COMPARING.resamples, least=1),
    files: OutputFiles = table_options,
) -> None:
    """Report one RUN or compare several: print tables and findings, write a page with every number, plot and example.

    The page is one file that works offline. With --markdown, --latex, --csv, --plots, --label or --json, only these
    files are written. Several runs must be of the same dialogues; their trackers are ranked and tested in pairs. With
    --seeds, runs whose names differ only in a number are seeds of one system. With --along, that number is the run's
    position on the axis. With --tasks, the runs of one folder are tasks with a model each, and their columns are
    averaged, as in RADDLE's table 2; folders whose names differ only in a number are draws of one system. To see how
    a run's measures changed during training, name the runs of earlier checkpoints with --after, oldest first.

    \b
    Examples
      dstress report runs/quick
      dstress report runs/quick --latex table.tex --plots figures
      dstress report runs/quick --label robustness.svg
      dstress report runs/rules runs/copy runs/causal --html compared.html
      dstress report --seeds runs/copy-1 runs/copy-2 runs/causal-1 runs/causal-2
      dstress report --along "training dialogues" runs/copy-10 runs/copy-100 runs/copy-1000
      dstress report --tasks runs/gpt2-1/hotel runs/gpt2-1/train runs/soloist-1/hotel runs/soloist-1/train
      dstress report runs/epoch3 --after runs/epoch1 --after runs/epoch2
    """
    runs = [RunFolder.open(folder) for folder in run_folders]
    if tasks:
        if seeds or along or metric or after or label or html or plots_folder:
            raise click.UsageError("--tasks makes one table; it goes with --markdown, --latex, --csv and --json alone")
        table = task_table(runs)
        files.show(table.data, [table])
        return
    if len(runs) == 1:
        source = click.get_current_context().get_parameter_source("resamples")
        if seeds or along or metric or source == ParameterSource.COMMANDLINE:
            raise click.UsageError("--seeds, --along, --metric and --resamples are for several runs")
        _report_one(runs[0], [RunFolder.open(folder) for folder in after], files, html, plots_folder, label)
        return
    if label:
        raise click.UsageError("--label is for a single run")
    if after or sum(map(bool, (seeds, along, metric))) > 1:
        raise click.UsageError("several runs take one of --seeds, --along and --metric; --after is for a single run")
    with waiting("comparing"):
        options = msgspec.structs.replace(COMPARING, resamples=resamples)
        study = study_runs(runs, seeds=seeds, along=along, metric=metric or "jga", options=options)
    _report_many(study, files, html, plots_folder)


def _report_one(
    run: RunFolder,
    earlier: list[RunFolder],
    files: OutputFiles,
    html: Path | None,
    plots_folder: Path | None,
    label: Path | None,
) -> None:
    scores = scores_by_original_names(run)
    errors = find_errors(run)
    tables, explanation = run_tables(run.manifest, scores), explain_run(run, errors)
    content = {"findings": explanation.opening, "evidence": explanation.evidence, "scores": run.scores}
    only_files = files.write(content, tables, data=run.tables) or bool(plots_folder or label)
    if label:
        write_label(run, label)
    if plots_folder:
        plots = make_plots(scores, variant_names(run.manifest.suite)), make_curves([*earlier, run]) if earlier else {}
        draw_plots([plot for some in plots for plot in some.values()], plots_folder)
    if html or not only_files:
        with waiting("writing the page"):
            page = write_html(run, errors, html, earlier)
    if not only_files:
        _show(tables, explanation.opening, scores.notes, page)


def _report_many(study: ManyRuns, files: OutputFiles, html: Path | None, plots_folder: Path | None) -> None:
    tables = study.tables()
    shown = [table for name, table in tables.items() if name != PAIRS]
    remarks = [
        *(f"note: {note}" for note in study.notes),
        *(f"{finding.title}. {finding.text}" for finding in study.findings),
    ]
    only_files = files.write(study.content, shown, remarks, tables) or bool(plots_folder)
    if plots_folder:
        draw_plots(list(study.plots.values()), plots_folder)
    if html or not only_files:
        with waiting("writing the page"):
            page = write_many_html(study, html or Path(MANY))
    if not only_files:
        _show(shown, study.findings, study.notes, page)


def _show(tables: list[Table], findings: list[Finding], notes: list[str], page: Path) -> None:
    print_all(tables)
    print_findings(findings)
    print_notes(notes)
    console().print(f"the page: {page}", markup=False)


def print_findings(findings: list[Finding]) -> None:
    """The findings, numbered, in words."""
    for number, finding in enumerate(findings, start=1):
        console().print(f"[bold]{number}. {escape(finding.title)}.[/bold] {escape(finding.text)}")
