"""`dstress compare`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.names import METRIC
from dstress.cli.options import (
    argument,
    convention_option,
    format_option,
    gold_option,
    option,
    resamples_option,
    seed_option,
    verb,
)
from dstress.cli.output import OutputFiles, table_options
from dstress.cli.progress import waiting
from dstress.cli.score import parse_slices, slices_option
from dstress.pipeline import compare as comparing
from dstress.pipeline.compare import Comparison
from dstress.pipeline.tables import shown_tables
from dstress.reports.many_tables import seed_table
from dstress.reports.numbers import PLAIN
from dstress.reports.systems import group_runs
from dstress.runs.folder import RunFolder
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.spec import parse_list


@verb("compare")
def command(
    systems: tuple[str, ...] = argument(nargs=-1, required=True, metavar="A B [C]..."),
    gold: str | None = gold_option,
    convention: str = convention_option,
    metrics: str = option(
        type=METRIC,
        default="",
        metavar="A,B",
        help=f"default: {','.join(comparing.DEFAULT_METRICS)}; for runs {','.join(comparing.RUN_METRICS)}",
    ),
    slices: str = slices_option,
    format_: str = format_option,
    resamples: int = resamples_option(COMPARING.resamples, least=1),
    seed: int = seed_option(COMPARING.seed, "seed of the resampling"),
    allow_partial: bool = option(is_flag=True, help="compare the turns that all systems have"),
    seeds: bool = option(is_flag=True, help="runs are seeds of systems (copy-1 copy-2 ...): median and standard error"),
    files: OutputFiles = table_options,
) -> None:
    """Compare prediction files or runs on the same gold, and test the differences. The first one is the baseline.

    Prints each system's scores with intervals, its difference from the baseline with interval and p-values, and the
    slots that improved or got worse. Runs are compared on the original and under every stressor; metrics of pairs
    (cjga, newly-wrong, ss(jga) ...) also work.

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
        table = seed_table(group_runs([RunFolder.open(Path(system)) for system in systems], seeds=True))
        files.show(table.records, [table])
        return
    options = ScoringOptions(allow_partial=allow_partial, format=format_, resamples=resamples, seed=seed)
    chosen, by = parse_list(metrics) if metrics else (), parse_slices(slices)
    with waiting("comparing"):
        comparison = comparing.compare(systems, gold, convention, chosen, options, by)
    tables, remarks = shown_tables(comparison), _remarks(comparison)
    files.show(comparison, tables, remarks, comparison.tables)


def _remarks(comparison: Comparison) -> list[str]:
    """What the tables do not say; the answer in words comes last."""
    lines = [
        f"McNemar, jga: {test.only_baseline:,} units only {pair.baseline} has right, {test.only_system:,} only "
        f"{pair.system}; p {PLAIN.probability(test.p)} ({test.method}), as if units were independent."
        for pair in comparison.pairs
        if (test := pair.mcnemar) and "jga" in pair.tests and not comparison.stressed
    ]
    return [*lines, *(f"note: {note}" for note in comparison.notes), comparison.conclusion]
