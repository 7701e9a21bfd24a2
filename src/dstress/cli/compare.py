"""`dstress compare`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from dstress.cli.output import SEEDS, OutputFiles, console, json_option, print_table, table_options
from dstress.cli.progress import waiting
from dstress.cli.score import parse_slices, slices_option
from dstress.pipeline import compare as comparing
from dstress.pipeline.compare import Comparison
from dstress.pipeline.tables import shown_tables
from dstress.reports.numbers import PLAIN
from dstress.reports.seeds import group_by_seed, seed_table
from dstress.runs.folder import RunFolder
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.spec import parse_list


@click.command("compare")
@click.argument("files", nargs=-1, required=True, metavar="A B [C]...")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right; without it, the gold that the files carry")
@click.option("--convention", default="", help="what counts as the same value; without it, that of the files' script")
@click.option(
    "--metrics",
    default="",
    metavar="A,B",
    help=f"default: {','.join(comparing.DEFAULT_METRICS)}; of runs {','.join(comparing.RUN_METRICS)}",
)
@slices_option
@click.option("--format", "format_", default="", help="the format of the files, where it is not found by itself")
@click.option("--resamples", default=COMPARING.resamples, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", type=SEEDS, default=COMPARING.seed, show_default=True, help="of the resampling")
@click.option("--allow-partial", is_flag=True, help="compare the turns that all systems have")
@click.option("--seeds", is_flag=True, help="runs are seeds of systems (copy-1 copy-2 ...): median and standard error")
@table_options
@json_option
def command(
    files: tuple[str, ...],
    gold: str | None,
    convention: str,
    metrics: str,
    slices: str,
    format_: str,
    resamples: int,
    seed: int,
    allow_partial: bool,
    seeds: bool,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Compare two or more systems on the same gold, as prediction files or as runs. The first is the baseline.

    Each system's scores with intervals; for each other system the difference to the first, with its interval and
    p-values; and the slots that gained and lost. Run folders are compared on the original and under every stressor,
    with metrics of pairs too (cjga, newly-wrong, ss(jga) ...).

    \b
    Examples
      dstress compare baseline.json mine.json --gold multiwoz21:test
      dstress compare a.json b.json c.json --metrics jga,aga          (the files carry their own gold)
      dstress compare sgd_a/ sgd_b/ --gold sgd:test --by seen --latex table.tex
      dstress compare runs/released runs/new --metrics jga,cjga,newly-wrong
      dstress compare --seeds runs/copy-1 runs/copy-2 runs/copy-3 runs/causal-1 runs/causal-2 runs/causal-3
    """
    if seeds:
        if gold or convention or metrics or slices or format_ or allow_partial:
            raise click.UsageError("--seeds goes by the tables of the runs; it takes no other choice than the output")
        table = seed_table(group_by_seed(RunFolder.open(Path(file)) for file in files))
        if not OutputFiles(json_file, markdown_file, latex_file, csv_file).write(table.records, [table]):
            print_table(table)
        return
    options = ScoringOptions(allow_partial=allow_partial, format=format_, resamples=resamples, seed=seed)
    chosen, by = parse_list(metrics) if metrics else (), parse_slices(slices)
    with waiting("comparing"):
        comparison = comparing.compare(files, gold, convention, chosen, options, by)
    tables, remarks = shown_tables(comparison), _remarks(comparison)
    outputs = OutputFiles(json_file, markdown_file, latex_file, csv_file)
    if outputs.write(comparison, tables, remarks, comparison.tables):
        return
    for table in tables:
        print_table(table)
    for remark in remarks:
        console().print(escape(remark))


def _remarks(comparison: Comparison) -> list[str]:
    """What the tables do not say; the answer in words comes last."""
    lines = [
        f"McNemar, jga: {test.only_baseline:,} units only {pair.baseline} has right, {test.only_system:,} only "
        f"{pair.system}; p {PLAIN.probability(test.p)} ({test.method}), as if units were independent."
        for pair in comparison.pairs
        if (test := pair.mcnemar) and not comparison.stressed
    ]
    return [*lines, *(f"note: {note}" for note in comparison.notes), comparison.conclusion]
