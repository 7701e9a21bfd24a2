"""`dstress analyse bias|laws`: what metrics reward, and what moves them that should not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from dstress.cli.names import METRIC
from dstress.cli.options import (
    argument,
    convention_option,
    format_option,
    gold_option,
    option,
    plots_option,
    seed_option,
    verb,
)
from dstress.cli.output import OutputFiles, OutputPath, draw_plots, print_all, table_options
from dstress.cli.progress import counting, waiting
from dstress.reports.analysis.systems import open_systems
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL
from dstress.spec import parse_list
from dstress.studies.bias import BiasStudy, study_bias
from dstress.studies.bias_page import (
    bias_page,
    conclusions,
    correlation_table,
    difference_table,
    disagreement_table,
    trait_plots,
)
from dstress.studies.laws import CASES, LAWS, METRICS, Verdict, judge_laws

_METRICS = "jga,sa,aga,rsa,fga,gca"
"""Those that the GCA paper compares."""


@click.group("analyse")
def command() -> None:
    """Study metrics: their biases, and what each rewards and ignores.

    \b
    Examples
      dstress analyse bias runs/mine
      dstress analyse laws
    """


@verb("bias", command)
def bias(
    systems: tuple[str, ...] = argument(nargs=-1, required=True, metavar="RUN_OR_FILE..."),
    gold: str | None = gold_option,
    convention: str = convention_option,
    format_: str = format_option,
    variant: str = option(default=ORIGINAL, help="for runs: the variant whose predictions to analyse"),
    metrics: str = option(type=METRIC, default=_METRICS, metavar="A,B"),
    against: str = option(default="gca", metavar="METRIC", help="metric whose correlations are the reference"),
    versus: str = option(default="fga", metavar="METRIC", help="second metric to plot and list"),
    most: int = option(default=20, type=click.IntRange(min=1), help="dialogues to list"),
    html: Path | None = option(metavar="FILE", type=OutputPath(), help="write everything as one page"),
    plots_folder: Path | None = plots_option,
    files: OutputFiles = table_options,
) -> None:
    """Correlate metrics with the positions of errors in a dialogue, as in section 5.2 of the GCA paper.

    Tail-orientation is above 0 if errors are made late; non-uniformity is high if few turns have all the errors. A
    metric of the number of errors should correlate with neither. To show why metrics differ, the dialogues on which
    two metrics disagree most are listed.

    \b
    Examples
      dstress analyse bias runs/mine
      dstress analyse bias trade_result.json som_result.json --html bias.html
      dstress analyse bias preds.jsonl --gold multiwoz21:test --metrics "jga,fga(lambda=0.75),gca"
      dstress analyse bias preds.json --against jga --versus gca --plots figures
    """
    if against == versus:
        raise click.UsageError(f"--against and --versus are both {against}, which has nothing to be compared with")
    names = list(dict.fromkeys((*parse_list(metrics), versus, against)))
    with counting("systems") as on_progress:
        studies = []
        for place, system in enumerate(open_systems(systems, gold, convention, format_)):
            on_progress(system.name, place, len(systems))
            studies.append(study_bias(system, names, against, variant))
    tables = {
        "correlations": correlation_table(studies),
        "differences": difference_table(studies),
        "disagreements": disagreement_table(studies, versus, against, most),
    }
    sentences = conclusions(studies)
    content = {"conclusions": sentences, "studies": studies} | {name: table.records for name, table in tables.items()}
    only_files = files.write(content, list(tables.values()), data=tables)
    _draw(studies, (versus, against), most, html, plots_folder)
    if only_files or plots_folder or html:
        return
    print_all(tables.values(), sentences, (note for study in studies for note in study.notes))


def _draw(
    studies: Sequence[BiasStudy], pair: tuple[str, str], most: int, html: Path | None, plots_folder: Path | None
) -> None:
    """Figures 4a and 4b as files, and the page, where they are asked for."""
    if plots_folder:
        draw_plots((plot for study in studies for plot in trait_plots(study, *pair)), plots_folder)
    if html:
        with waiting("writing the page"):
            bias_page(studies, *pair, most).write(html)
        click.echo(f"the page: {html}", err=True)


@verb("laws", command)
def laws(
    metrics: str = option(type=METRIC, default=",".join(METRICS), metavar="A,B"),
    cases: int = option(default=CASES, type=click.IntRange(1, 100_000), help="dialogues for each law"),
    seed: int = seed_option(of="of the dialogues"),
    files: OutputFiles = table_options,
) -> None:
    """Show what metrics reward and ignore, by changing one part of a prediction in synthetic dialogues.

    For a single metric, it also shows how many dialogues rose and fell, and an example.

    \b
    Examples
      dstress analyse laws
      dstress analyse laws --metrics fga
      dstress analyse laws --metrics "gca,gca(partial=true),slot-precision" --json
    """
    chosen = parse_list(metrics)
    with waiting("judging"):
        verdicts = judge_laws(chosen, cases, seed)
    weaknesses = {law.name: law.weakness for law in LAWS}
    tables = [_law_matrix(verdicts, chosen)] if len(chosen) > 1 else [_law_table(verdicts)]
    content = [
        msgspec.to_builtins(verdict) | {"way": verdict.word, "weakness": weaknesses[verdict.law]}
        for verdict in verdicts
    ]
    files.show({"laws": content}, tables)


def _law_matrix(verdicts: Sequence[Verdict], metrics: Sequence[str]) -> Table:
    words = {(verdict.law, verdict.metric): verdict.word for verdict in verdicts}
    rows = [(law.name, law.weakness, *(words[law.name, metric] for metric in metrics)) for law in LAWS]
    caption = f"which way each metric goes, of {_cases(verdicts[0]):,} made-up dialogues for each law"
    return Table(("what changes", "weakness", *metrics), rows, caption)


def _law_table(verdicts: Sequence[Verdict]) -> Table:
    """One metric, law by law."""
    rows = []
    for verdict in verdicts:
        counts = (f"{number:,}" for number in (verdict.up, verdict.same, verdict.down))
        before, after = (PLAIN.percent(value) for value in verdict.example)
        rows.append((verdict.law, verdict.word, *counts, PLAIN.points(verdict.change), f"{before} > {after}"))
    columns = ("what changes", f"{verdicts[0].metric} goes", "#up", "#same", "#down", "#mean change", "#example")
    caption = f"of {_cases(verdicts[0]):,} made-up dialogues for each law; values in percent, changes in points"
    return Table(columns, rows, caption)


def _cases(verdict: Verdict) -> int:
    return verdict.up + verdict.same + verdict.down
