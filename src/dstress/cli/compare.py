"""`dstress compare`."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.markup import escape

from dstress.cli.output import SEEDS, OutputFiles, console, json_option, print_table, table_options
from dstress.cli.progress import waiting
from dstress.cli.score import parse_slices, slices_option
from dstress.metrics.measures import describe, measure_of
from dstress.pipeline import compare as comparing
from dstress.pipeline.compare import Comparison, Pair
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import Score, signature_text
from dstress.spec import parse_list

_SLOTS_SHOWN = 5


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
    markdown_file: str | None,
    latex_file: str | None,
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
    """
    options = ScoringOptions(allow_partial=allow_partial, format=format_, resamples=resamples, seed=seed)
    chosen, by = parse_list(metrics) if metrics else (), parse_slices(slices)
    with waiting("comparing"):
        comparison = comparing.compare(files, gold, convention, chosen, options, by)
    tables = _run_tables(comparison) if comparison.stressed else _tables(comparison)
    remarks = _remarks(comparison)
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
        rows.append((metric, *(_value(score, metric) for score in scores)))
    rows.append(("avg-slack", *(PLAIN.percent(comparison.avg_slack[name]) for name in systems)))
    caption = signature_text("signature", comparison.signature)
    tables = [Table(("metric", *(f"#{name}" for name in systems)), rows, caption)]
    for pair in comparison.pairs:
        tables += [Table(("metric", *_TEST_COLUMNS), _tests(pair), _caption(pair)), _slots(pair)]
    return [*tables, *_sliced(comparison)]


def _sliced(comparison: Comparison) -> Iterator[Table]:
    """For each slice the values of all systems side by side."""
    metrics = next(iter(comparison.systems.values()))
    for name in next(iter(comparison.slices.values())):
        systems = [slices[name] for slices in comparison.slices.values()]
        rows = [
            (
                key,
                metric,
                *(PLAIN.with_unit(keys.get(key, {}).get(metric), measure_of(metric).unit) for keys in systems),
            )
            for key in dict.fromkeys(key for keys in systems for key in keys)
            for metric in metrics
            if any(metric in keys.get(key, {}) for keys in systems)
        ]
        yield Table((name, "metric", *(f"#{system}" for system in comparison.slices)), rows)


def _run_tables(comparison: Comparison) -> list[Table]:
    """Runs: the same with a row for each metric of each variant; the slots of each are in JSON."""
    rows = []
    for variant, compared in comparison.variants.items():
        for metric in dict.fromkeys(name for scores in compared.systems.values() for name in scores):
            scores = (scores.get(metric) for scores in compared.systems.values())
            rows.append((variant, metric, *(_value(score, metric) if score else "-" for score in scores)))
    slack = comparison.avg_slack
    rows.append(("", "avg-slack", *(PLAIN.percent(slack[name]) for name in slack)))
    caption = signature_text("signature", comparison.signature)
    tables = [Table(("variant", "metric", *(f"#{name}" for name in slack)), rows, caption)]
    for number, pair in enumerate(comparison.pairs):
        tests = [
            (variant, *row)
            for variant, compared in comparison.variants.items()
            for row in _tests(compared.pairs[number])
        ]
        tables.append(Table(("variant", "metric", *_TEST_COLUMNS), tests, _caption(pair)))
    return tables


def _value(score: Score, metric: str) -> str:
    unit = measure_of(metric).unit
    return f"{PLAIN.with_unit(score.value, unit)} {PLAIN.measured_interval(score.low, score.high, unit)}"


_TEST_COLUMNS = ("#difference", "#interval", "#p", "#p (Holm)", "#p (bootstrap)", "significant")


def _caption(pair: Pair) -> str:
    return f"{pair.system} less {pair.baseline}, in points"


def _tests(pair: Pair) -> list[tuple[str, ...]]:
    return [
        (
            describe(metric),
            PLAIN.measured_change(test.difference, unit := measure_of(metric).unit),
            PLAIN.measured_change_interval(test.low, test.high, unit),
            *(PLAIN.probability(p, at_floor=test.at_floor) for p in (test.p, test.p_holm)),
            PLAIN.probability(test.p_bootstrap),
            "yes" if test.significant else "no",
        )
        for metric, test in pair.tests.items()
    ]


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
        if (test := pair.mcnemar) and not comparison.stressed
    ]
    return [*lines, *(f"note: {note}" for note in comparison.notes), comparison.conclusion]
