"""`dstress analyse bias|laws`: what metrics reward, and what moves them that should not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from dstress.analysis.laws import CASES, LAWS, METRICS, Verdict, judge_laws
from dstress.analysis.mistakes import BiasStudy, study_bias
from dstress.analysis.systems import open_systems
from dstress.cli.output import (
    PLOTS,
    SEEDS,
    OutputFiles,
    OutputPath,
    console,
    json_option,
    print_notes,
    print_table,
    table_options,
)
from dstress.cli.progress import counting, waiting
from dstress.reports.bias import (
    conclusions,
    correlation_table,
    difference_table,
    disagreement_table,
    render_bias_page,
    trait_plots,
)
from dstress.reports.charts import export
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL
from dstress.spec import parse_list
from dstress.storage.atomic import replacing

_METRICS = "jga,sa,aga,rsa,fga,gca"
"""Those that the GCA paper compares."""


@click.group("analyse")
def command() -> None:
    """Study metrics: what moves them that should not, and what each rewards and ignores.

    \b
    Examples
      dstress analyse bias runs/mine
      dstress analyse laws
    """


@command.command("bias")
@click.argument("systems", nargs=-1, required=True, metavar="RUN_OR_FILE...")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right, of files that do not carry their gold")
@click.option("--convention", default="", help="what counts as the same value; without it, the usual one")
@click.option("--format", "format_", default="", help="the format of the files, where it is not found by itself")
@click.option("--variant", default=ORIGINAL, show_default=True, help="of runs: which variant's answers")
@click.option("--metrics", default=_METRICS, show_default=True, metavar="A,B")
@click.option(
    "--against", default="gca", show_default=True, metavar="METRIC", help="whose correlations to compare with"
)
@click.option("--versus", default="fga", show_default=True, metavar="METRIC", help="which to plot and list beside it")
@click.option("--most", default=20, show_default=True, type=click.IntRange(min=1), help="dialogues to list")
@click.option("--html", metavar="FILE", type=OutputPath(), help="write all of it as one page")
@click.option("--plots", "plots_folder", metavar="DIR", type=PLOTS, help="SVG, PNG and Vega-Lite")
@table_options
@json_option
def bias(
    systems: tuple[str, ...],
    gold: str | None,
    convention: str,
    format_: str,
    variant: str,
    metrics: str,
    against: str,
    versus: str,
    most: int,
    html: Path | None,
    plots_folder: Path | None,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Correlate metrics with where in a dialogue the mistakes lie, as section 5.2 of the GCA paper does.

    Tail-orientation is above 0 where mistakes are made late, non-uniformity is high where few turns make all of them.
    A metric of how many mistakes there are should go with neither. The dialogues on which two metrics disagree most
    are listed, which is where to look for the reason.

    \b
    Examples
      dstress analyse bias runs/mine
      dstress analyse bias trade_result.json som_result.json --html bias.html
      dstress analyse bias preds.jsonl --gold multiwoz21:test --metrics "jga,fga(lambda=0.75),gca"
      dstress analyse bias preds.json --against jga --versus gca --plots figures
    """
    if against == versus:
        raise click.UsageError(f"--against and --versus are both {against}, which has nothing to be compared with")
    wanted = list(dict.fromkeys((*parse_list(metrics), versus, against)))
    with counting("systems") as on_progress:
        studies = []
        for place, system in enumerate(open_systems(systems, gold, convention, format_)):
            on_progress(system.name, place, len(systems))
            studies.append(study_bias(system, wanted, against, variant))
    tables = {
        "correlations": correlation_table(studies),
        "differences": difference_table(studies),
        "disagreements": disagreement_table(studies, versus, against, most),
    }
    said = conclusions(studies)
    content = {"conclusions": said, "studies": studies} | {name: table.records for name, table in tables.items()}
    files = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    only_files = files.write(content, list(tables.values()), data=tables)
    _draw(studies, (versus, against), most, html, plots_folder)
    if only_files or plots_folder or html:
        return
    for table in tables.values():
        print_table(table)
    for line in said:
        console().print(line, markup=False)
    print_notes(note for study in studies for note in study.notes)


def _draw(
    studies: Sequence[BiasStudy], pair: tuple[str, str], most: int, html: Path | None, plots_folder: Path | None
) -> None:
    """Figures 4a and 4b as files, and the page, where they are asked for."""
    if plots_folder:
        with waiting("drawing"):
            plots = [plot for study in studies for plot in trait_plots(study, *pair)]
            written = [file for plot in plots for file in export(plot, plots_folder)]
        click.echo(f"{len(written)} files in {plots_folder}", err=True)
    if html:
        with waiting("writing the page"), replacing(html) as out:
            out.write(render_bias_page(studies, *pair, most).encode("utf-8", "replace"))
        click.echo(f"the page: {html}", err=True)


@command.command("laws")
@click.option("--metrics", default=",".join(METRICS), show_default=True, metavar="A,B")
@click.option("--cases", default=CASES, show_default=True, type=click.IntRange(min=1), help="dialogues for each law")
@click.option("--seed", default=1, show_default=True, type=SEEDS, help="of the dialogues")
@table_options
@json_option
def laws(
    metrics: str,
    cases: int,
    seed: int,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Show what metrics reward and ignore: one thing of an answer is changed, in made-up dialogues, and measured.

    Of one metric, how many dialogues went which way is shown as well, and an example.

    \b
    Examples
      dstress analyse laws
      dstress analyse laws --metrics fga
      dstress analyse laws --metrics "gca,gca(partial=true),slot-precision" --json
    """
    chosen = parse_list(metrics)
    with waiting("judging"):
        verdicts = judge_laws(chosen, cases, seed)
    tables = [_law_matrix(verdicts, chosen)] if len(chosen) > 1 else [_law_table(verdicts)]
    content = [
        {"law": one.law, "metric": one.metric, "way": one.word, "up": one.up, "same": one.same, "down": one.down}
        | {"change": one.change, "example": one.example, "weakness": _weakness(one.law)}
        for one in verdicts
    ]
    if not OutputFiles(json_file, markdown_file, latex_file, csv_file).write({"laws": content}, tables):
        for table in tables:
            print_table(table)


def _weakness(name: str) -> str:
    return next(law.weakness for law in LAWS if law.name == name)


def _law_matrix(verdicts: Sequence[Verdict], metrics: Sequence[str]) -> Table:
    words = {(one.law, one.metric): one.word for one in verdicts}
    rows = [(law.name, law.weakness, *(words[law.name, metric] for metric in metrics)) for law in LAWS]
    caption = f"which way each metric goes, of {_cases(verdicts[0]):,} made-up dialogues for each law"
    return Table(("what changes", "weakness", *metrics), rows, caption)


def _law_table(verdicts: Sequence[Verdict]) -> Table:
    """One metric, law by law."""
    rows = []
    for one in verdicts:
        counts = (f"{number:,}" for number in (one.up, one.same, one.down))
        before, after = (PLAIN.percent(value) for value in one.example)
        rows.append((one.law, one.word, *counts, PLAIN.points(one.change), f"{before} > {after}"))
    columns = ("what changes", f"{verdicts[0].metric} goes", "#up", "#same", "#down", "#mean change", "#example")
    caption = f"of {_cases(verdicts[0]):,} made-up dialogues for each law; values in percent, changes in points"
    return Table(columns, rows, caption)


def _cases(verdict: Verdict) -> int:
    return verdict.up + verdict.same + verdict.down
