"""`dstress compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.markup import escape

from dstress import comparing
from dstress.cli.output import console, json_option, table, write_json
from dstress.comparing import Comparison, Pair, SlotChange
from dstress.scorecard import Score
from dstress.scoring import Options
from dstress.writing import replacing

_SLOTS_SHOWN = 5
_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
_LATEX |= {"^": r"\textasciicircum{}"}


class Sheet(NamedTuple):
    """A table before it is printed anywhere; numbers (`#`-columns) go to the right."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@click.command("compare")
@click.argument("files", nargs=-1, required=True, metavar="A B [C]...")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right; without it, the gold that the files carry")
@click.option("--convention", default="", help="what counts as the same value; without it, that of the files' script")
@click.option("--metrics", default=",".join(comparing.DEFAULT_METRICS), show_default=True, help="separated by commas")
@click.option("--format", default="", help="the format of the files, where it is not found by itself")
@click.option("--resamples", default=comparing.OPTIONS.resamples, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=comparing.OPTIONS.seed, show_default=True, help="of the resampling")
@click.option("--allow-partial", is_flag=True, help="compare the turns that all systems have")
@json_option
@click.option("--markdown", metavar="FILE", help="write the tables as Markdown; - is the screen")
@click.option("--latex", metavar="FILE", help="write the tables as LaTeX (booktabs); - is the screen")
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
    options = Options(
        allow_partial=given["allow_partial"],
        format=given["format"],
        resamples=given["resamples"],
        seed=given["seed"],
    )
    names = _listed(given["metrics"])
    made = comparing.compare(files, given["gold"], given["convention"], names, options)
    write(made, given["json_file"], given["markdown"], given["latex"])


def write(made: Comparison, json_file: str | None, markdown_file: str | None, latex_file: str | None) -> None:
    """Write a comparison wherever it was asked for, and to the screen unless that is taken."""
    if json_file:
        write_json(made, json_file)
    if markdown_file:
        _write_text(markdown(made), markdown_file)
    if latex_file:
        _write_text(latex(made), latex_file)
    if "-" not in (json_file, markdown_file, latex_file):
        _show(made)


def _listed(text: str) -> list[str]:
    """Names at commas, but not at those inside brackets: `fga(lambda=0.5),jga`."""
    names, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            names.append("")
        else:
            names[-1] += char
    found = [name.strip() for name in names if name.strip()]
    if not found:
        raise click.UsageError("--metrics names no metric")
    return list(dict.fromkeys(found))


def _write_text(text: str, file: str) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    with replacing(Path(file)) as out:
        out.write(text.encode())


def _show(made: Comparison) -> None:
    out = console()
    for sheet in sheets(made):
        shown = table(*sheet.columns, title=escape(sheet.title))
        for row in sheet.rows:
            shown.add_row(*map(escape, row))
        out.print(shown)
        out.print()
    for line in _footer(made):
        out.print(escape(line))


def sheets(made: Comparison) -> list[Sheet]:
    """The comparison as tables, in percent: scores, and for each pair its tests and its slots."""
    metrics = next(iter(made.systems.values()))
    rows = [(name, *(_percent(scores[name]) for scores in made.systems.values())) for name in metrics]
    found = [Sheet("", ("metric", *(f"#{name}" for name in made.systems)), rows)]
    for pair in made.pairs:
        found += [_tests(pair), _slots(pair)]
    return found


def _percent(score: Score) -> str:
    return f"{_points(score.value)} [{_points(score.low)}, {_points(score.high)}]"


def _points(fraction: float, sign: str = "") -> str:
    return f"{100 * fraction + 0.0:{sign}.2f}"


def _tests(pair: Pair) -> Sheet:
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
    return Sheet(f"{pair.system} less {pair.baseline}, in points", columns, rows)


def _p(value: float) -> str:
    return f"{value:.4f}" if not value < 0.0001 else "<0.0001"


def _slots(pair: Pair) -> Sheet:
    gained = [change for change in pair.slots if change.difference > 0][:_SLOTS_SHOWN]
    lost = [change for change in pair.slots if change.difference < 0][-_SLOTS_SHOWN:]
    columns = ("slot", "#F1 difference", f"#F1 {pair.baseline}", f"#F1 {pair.system}", "#right", "#errors")
    return Sheet(
        f"slots that {pair.system} gained and lost most against {pair.baseline}",
        columns,
        [_slot(change) for change in (*gained, *lost)],
    )


def _slot(change: SlotChange) -> tuple[str, ...]:
    return (
        change.slot,
        _points(change.difference, "+"),
        _points(change.baseline),
        _points(change.system),
        f"{change.baseline_right:,} -> {change.system_right:,}",
        f"{change.baseline_errors:,} -> {change.system_errors:,}",
    )


def _footer(made: Comparison) -> list[str]:
    lines = [
        f"McNemar, jga: {found.only_baseline:,} units only {pair.baseline} has right, {found.only_system:,} only "
        f"{pair.system}; p {_p(found.p)} ({found.method}), as if units were independent."
        for pair in made.pairs
        if (found := pair.mcnemar)
    ]
    lines += [f"note: {note}" for note in made.notes]
    return [*lines, "|".join(f"{name}:{value}" for name, value in made.signature.items()), made.conclusion]


def markdown(made: Comparison) -> str:
    """The tables for a page or a pull request."""
    parts = []
    for sheet in sheets(made):
        marks = ["---:" if column.startswith("#") else "---" for column in sheet.columns]
        lines = [_bars([column.lstrip("#") for column in sheet.columns]), _bars(marks)]
        lines += [_bars([cell.replace("|", "\\|") for cell in row]) for row in sheet.rows]
        parts.append("\n".join([*([f"**{sheet.title}**", ""] if sheet.title else []), *lines]))
    *before, signature, conclusion = _footer(made)
    return "\n\n".join([*parts, *before, f"`{signature}`", conclusion]) + "\n"


def _bars(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex(made: Comparison) -> str:
    """The tables for a paper: booktabs, one tabular each, the title above as a comment."""
    parts = []
    for sheet in sheets(made):
        shape = "".join("r" if column.startswith("#") else "l" for column in sheet.columns)
        lines = [f"% {sheet.title or 'scores in percent, with intervals over dialogues'}"]
        lines += [f"\\begin{{tabular}}{{{shape}}}", "\\toprule"]
        lines += [_ampersands([column.lstrip("#") for column in sheet.columns]), "\\midrule"]
        lines += [_ampersands(row) for row in sheet.rows]
        parts.append("\n".join([*lines, "\\bottomrule", "\\end{tabular}"]))
    return "\n\n".join([*parts, "\n".join(f"% {line}" for line in _footer(made))]) + "\n"


def _ampersands(cells: Sequence[str]) -> str:
    escaped = ["".join(_LATEX.get(char, char) for char in cell).replace("->", "$\\to$") for cell in cells]
    return f"{' & '.join(escaped)} \\\\"
