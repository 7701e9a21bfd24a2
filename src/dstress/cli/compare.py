"""`dstress compare`."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from dstress.cli.output import console, json_option, print_table, table_options, write_json, write_text
from dstress.cli.progress import waiting
from dstress.pipeline import compare as comparing
from dstress.pipeline.compare import Comparison, Pair, SlotChange
from dstress.reports.tables import Table, latex, markdown
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import Score, signature_text
from dstress.spec import parse_list

_SLOTS_SHOWN = 5


@click.command("compare")
@click.argument("files", nargs=-1, required=True, metavar="A B [C]...")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right; without it, the gold that the files carry")
@click.option("--convention", default="", help="what counts as the same value; without it, that of the files' script")
@click.option("--metrics", default=",".join(comparing.DEFAULT_METRICS), show_default=True, help="separated by commas")
@click.option("--format", default="", help="the format of the files, where it is not found by itself")
@click.option("--resamples", default=COMPARING.resamples, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=COMPARING.seed, show_default=True, help="of the resampling")
@click.option("--allow-partial", is_flag=True, help="compare the turns that all systems have")
@table_options
@json_option
def command(files: tuple[str, ...], **given: Any) -> None:
    """Compare two or more systems on the same gold. The first is the baseline.

    Each system's scores with intervals; for each other system the difference to the first, with its interval and
    p-values; and the slots that gained and lost.

    \b
    Examples
      dstress compare baseline.json mine.json --gold multiwoz21:test
      dstress compare a.json b.json c.json --metrics jga,aga          (the files carry their own gold)
      dstress compare sgd_a/ sgd_b/ --gold sgd:test --latex table.tex
    """
    options = ScoringOptions(
        allow_partial=given["allow_partial"],
        format=given["format"],
        resamples=given["resamples"],
        seed=given["seed"],
    )
    with waiting("comparing"):
        names = parse_list(given["metrics"])
        made = comparing.compare(files, given["gold"], given["convention"], names, options)
    if given["json_file"]:
        write_json(made, given["json_file"])
    if given["markdown"]:
        write_text(
            "\n".join([*map(markdown, tables(made)), *(f"{line}\n" for line in _remarks(made))]), given["markdown"]
        )
    if given["latex"]:
        write_text(
            "\n".join([*map(latex, tables(made)), *(f"% {line}" for line in _remarks(made)), ""]), given["latex"]
        )
    if not any(given[form] for form in ("json_file", "markdown", "latex")):
        _show(made)


def _show(made: Comparison) -> None:
    for table in tables(made):
        print_table(table)
    for line in _remarks(made):
        console().print(escape(line))


def tables(made: Comparison) -> list[Table]:
    """The comparison as tables, in percent: scores, and for each pair its tests and its slots."""
    metrics = next(iter(made.systems.values()))
    rows = [(name, *(_percent(scores[name]) for scores in made.systems.values())) for name in metrics]
    caption = signature_text("signature", made.signature)
    found = [Table(("metric", *(f"#{name}" for name in made.systems)), rows, caption)]
    for pair in made.pairs:
        found += [_tests(pair), _slots(pair)]
    return found


def _percent(score: Score) -> str:
    return f"{_points(score.value)} [{_points(score.low)}, {_points(score.high)}]"


def _points(fraction: float, sign: str = "") -> str:
    return f"{100 * fraction + 0.0:{sign}.2f}"


def _tests(pair: Pair) -> Table:
    rows = [
        (
            name,
            _points(test.difference, "+"),
            f"[{_points(test.low, '+')}, {_points(test.high, '+')}]",
            _p(test.p),
            _p(test.p_holm),
            _p(test.p_bootstrap),
            "yes" if test.significant else "no",
        )
        for name, test in pair.tests.items()
    ]
    columns = ("metric", "#difference", "#interval", "#p", "#p (Holm)", "#p (bootstrap)", "significant")
    return Table(columns, rows, f"{pair.system} less {pair.baseline}, in points")


def _p(value: float) -> str:
    return f"{value:.4f}" if not value < 0.0001 else "<0.0001"


def _slots(pair: Pair) -> Table:
    gained = [change for change in pair.slots if change.difference > 0][:_SLOTS_SHOWN]
    lost = [change for change in pair.slots if change.difference < 0][-_SLOTS_SHOWN:]
    columns = ("slot", "#F1 difference", f"#F1 {pair.baseline}", f"#F1 {pair.system}", "#right", "#errors")
    caption = f"The slots that {pair.system} gained and lost most against {pair.baseline}."
    return Table(columns, [_slot(change) for change in (*gained, *lost)], caption)


def _slot(change: SlotChange) -> tuple[str, ...]:
    return (
        change.slot,
        _points(change.difference, "+"),
        _points(change.baseline),
        _points(change.system),
        f"{change.baseline_right:,} -> {change.system_right:,}",
        f"{change.baseline_errors:,} -> {change.system_errors:,}",
    )


def _remarks(made: Comparison) -> list[str]:
    """What the tables do not say; the answer in words comes last."""
    lines = [
        f"McNemar, jga: {found.only_baseline:,} units only {pair.baseline} has right, {found.only_system:,} only "
        f"{pair.system}; p {_p(found.p)} ({found.method}), as if units were independent."
        for pair in made.pairs
        if (found := pair.mcnemar)
    ]
    return [*lines, *(f"note: {note}" for note in made.notes), made.conclusion]
