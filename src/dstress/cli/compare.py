"""`dstress compare`."""

from __future__ import annotations

from functools import partial

import click
from rich.markup import escape

from dstress.cli.output import OutputFiles, console, json_option, print_table, table_options
from dstress.cli.progress import waiting
from dstress.metrics.measures import measure_of
from dstress.pipeline import compare as comparing
from dstress.pipeline.compare import Comparison, Pair
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import signature_text
from dstress.spec import parse_list

_SLOTS_SHOWN = 5


@click.command("compare")
@click.argument("files", nargs=-1, required=True, metavar="A B [C]...")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right; without it, the gold that the files carry")
@click.option("--convention", default="", help="what counts as the same value; without it, that of the files' script")
@click.option("--metrics", default=",".join(comparing.DEFAULT_METRICS), show_default=True, help="separated by commas")
@click.option("--format", "format_", default="", help="the format of the files, where it is not found by itself")
@click.option("--resamples", default=COMPARING.resamples, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=COMPARING.seed, show_default=True, help="of the resampling")
@click.option("--allow-partial", is_flag=True, help="compare the turns that all systems have")
@table_options
@json_option
def command(
    files: tuple[str, ...],
    gold: str | None,
    convention: str,
    metrics: str,
    format_: str,
    resamples: int,
    seed: int,
    allow_partial: bool,
    markdown_file: str | None,
    latex_file: str | None,
    json_file: str | None,
) -> None:
    """Compare two or more systems on the same gold. The first is the baseline.

    Each system's scores with intervals; for each other system the difference to the first, with its interval and
    p-values; and the slots that gained and lost.

    \b
    Examples
      dstress compare baseline.json mine.json --gold multiwoz21:test
      dstress compare a.json b.json c.json --metrics jga,aga          (the files carry their own gold)
      dstress compare sgd_a/ sgd_b/ --gold sgd:test --latex table.tex
    """
    options = ScoringOptions(allow_partial=allow_partial, format=format_, resamples=resamples, seed=seed)
    with waiting("comparing"):
        comparison = comparing.compare(files, gold, convention, parse_list(metrics), options)
    tables, remarks = _tables(comparison), _remarks(comparison)
    if OutputFiles(json_file, markdown_file, latex_file).write(comparison, tables, remarks):
        return
    for table in tables:
        print_table(table)
    for remark in remarks:
        console().print(escape(remark))


def _tables(comparison: Comparison) -> list[Table]:
    """The comparison as tables, in percent: scores, and for each pair its tests and its slots."""
    systems = comparison.systems
    rows = []
    for metric in next(iter(systems.values())):
        scores = [metrics[metric] for metrics in systems.values()]
        show = partial(PLAIN.measured, unit=measure_of(metric).unit)
        over = " / ".join(dict.fromkeys(PLAIN.number(s.n) for s in scores))
        rows.append((metric, *(f"{show(s.value)} [{show(s.low)}, {show(s.high)}]" for s in scores), over))
    rows.append(("avg-slack", *(PLAIN.percent(comparison.avg_slack[name]) for name in systems), ""))
    caption = signature_text("signature", comparison.signature)
    tables = [Table(("metric", *(f"#{name}" for name in systems), "#over"), rows, caption)]
    for pair in comparison.pairs:
        tables += [_tests(pair), _slots(pair)]
    return tables


def _tests(pair: Pair) -> Table:
    rows = [
        (
            metric,
            (show := partial(PLAIN.measured_change, unit=measure_of(metric).unit))(test.difference),
            f"[{show(test.low)}, {show(test.high)}]",
            *(PLAIN.probability(p, at_floor=test.at_floor) for p in (test.p, test.p_holm)),
            PLAIN.probability(test.p_bootstrap),
            PLAIN.number(test.dialogues),
            "yes" if test.significant else "no",
        )
        for metric, test in pair.tests.items()
    ]
    columns = ("metric", "#difference", "#interval", "#p", "#p (Holm)", "#p (bootstrap)", "#dialogues", "significant")
    return Table(columns, rows, f"{pair.system} less {pair.baseline}, in points")


def _slots(pair: Pair) -> Table:
    gained = [change for change in pair.slots if change.difference > 0][:_SLOTS_SHOWN]
    lost = [change for change in pair.slots if change.difference < 0][-_SLOTS_SHOWN:]
    rows = [
        (
            change.slot,
            PLAIN.points(change.difference),
            PLAIN.percent(change.baseline),
            PLAIN.percent(change.system),
            f"{change.baseline_right:,} -> {change.system_right:,}",
            f"{change.baseline_errors:,} -> {change.system_errors:,}",
        )
        for change in (*gained, *lost)
    ]
    columns = ("slot", "#F1 difference", f"#F1 {pair.baseline}", f"#F1 {pair.system}", "#right", "#errors")
    return Table(columns, rows, f"The slots that {pair.system} gained and lost most against {pair.baseline}.")


def _remarks(comparison: Comparison) -> list[str]:
    """What the tables do not say; the answer in words comes last."""
    lines = [
        f"McNemar, jga: {test.only_baseline:,} units only {pair.baseline} has right, {test.only_system:,} only "
        f"{pair.system}; p {PLAIN.probability(test.p)} ({test.method}), as if units were independent."
        for pair in comparison.pairs
        if (test := pair.mcnemar)
    ]
    return [*lines, *(f"note: {note}" for note in comparison.notes), comparison.conclusion]
