"""`dstress explain`."""

from __future__ import annotations

import click
from rich.markup import escape

from dstress.cli.options import argument, convention_option, format_option, gold_option, option, verb
from dstress.cli.output import OutputFiles, console, print_all, table_options
from dstress.cli.progress import waiting
from dstress.reports.analysis.systems import open_systems
from dstress.reports.explanation import explain_difference, explain_system


@verb("explain")
def command(
    systems: tuple[str, ...] = argument(nargs=-1, required=True, metavar="RUN [RUN]"),
    gold: str | None = gold_option,
    convention: str = convention_option,
    format_: str = format_option,
    with_tables: bool = option("--tables", is_flag=True, help="also print every table behind the sentences"),
    files: OutputFiles = table_options,
) -> None:
    """Explain in plain words which errors a tracker makes, what each stressor harms, and what to fix first.

    Every sentence names the table and the rows that it is based on. Given two runs, it explains their differences. You
    can also pass a prediction file instead of a run; it has no stressors.

    \b
    Examples
      dstress explain runs/mine
      dstress explain runs/mine --tables
      dstress explain runs/before runs/after
      dstress explain preds.json --gold multiwoz21:test --json
    """
    if len(systems) > 2:
        raise click.UsageError("explain one system, or the difference of two")
    with waiting("reading the answers"):
        opened = open_systems(systems, gold, convention, format_)
        explanation = explain_system(opened[0]) if len(opened) == 1 else explain_difference(opened[0], opened[1])
    tables = explanation.tables
    content = {
        "system": explanation.system,
        "findings": explanation.findings,
        "tables": explanation.evidence,
        "notes": explanation.notes,
    }
    remarks = [
        f"{number}. {finding.title}. {finding.text}" for number, finding in enumerate(explanation.findings, start=1)
    ]
    if files.write(content, [*tables.values()], remarks, tables):
        return
    for number, finding in enumerate(explanation.findings, start=1):
        text = "" if finding.sentences else f" {finding.text}"
        console().print(f"[bold]{number}. {escape(finding.title)}.[/bold]{escape(text)}")
        for sentence in finding.sentences:
            place = f"({sentence.table} {', '.join(map(str, sentence.rows))})"  # a table and the rows in it
            console().print(f"   {escape(sentence.text)} [dim]{escape(place)}[/dim]")
    print_all(tables.values() if with_tables else (), notes=explanation.notes)
