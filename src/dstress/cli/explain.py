"""`dstress explain`."""

from __future__ import annotations

import click
from rich.markup import escape

from dstress.analysis.systems import open_systems
from dstress.cli.output import OutputFiles, console, json_option, print_notes, print_table, table_options
from dstress.cli.progress import waiting
from dstress.reports.explanation import Explanation, explain_difference, explain_system
from dstress.reports.findings import Sentence


@click.command("explain")
@click.argument("systems", nargs=-1, required=True, metavar="RUN [RUN]")
@click.option("--gold", metavar="CORPUS:SPLIT", help="what is right, of files that do not carry their gold")
@click.option("--convention", default="", help="what counts as the same value; without it, the usual one")
@click.option("--format", "format_", default="", help="the format of the files, where it is not found by itself")
@click.option("--tables", "with_tables", is_flag=True, help="print every table behind the sentences as well")
@table_options
@json_option
def command(
    systems: tuple[str, ...],
    gold: str | None,
    convention: str,
    format_: str,
    with_tables: bool,
    markdown_file: str | None,
    latex_file: str | None,
    csv_file: str | None,
    json_file: str | None,
) -> None:
    """Say in plain words what a tracker does wrong, where a stressor hurts it, and what to mend first.

    Every sentence names the table and the rows that it stands on. Of two runs, where they differ is told. A prediction
    file may stand for a run; it has no stressors.

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
        told = explain_system(opened[0]) if len(opened) == 1 else explain_difference(opened[0], opened[1])
    tables = told.tables
    content = {"system": told.system, "findings": told.findings, "tables": told.evidence, "notes": told.notes}
    remarks = [f"{number}. {finding.title}. {finding.text}" for number, finding in enumerate(told.findings, start=1)]
    if OutputFiles(json_file, markdown_file, latex_file, csv_file).write(content, [*tables.values()], remarks, tables):
        return
    _print(told)
    if with_tables:
        for table in tables.values():
            print_table(table)
    print_notes(told.notes)


def _print(told: Explanation) -> None:
    for number, finding in enumerate(told.findings, start=1):
        text = "" if finding.sentences else f" {finding.text}"
        console().print(f"[bold]{number}. {escape(finding.title)}.[/bold]{escape(text)}")
        for sentence in finding.sentences:
            console().print(f"   {escape(sentence.text)} [dim]{escape(_place(sentence))}[/dim]")


def _place(sentence: Sentence) -> str:
    """`(slots 0, 3)`: a table and the rows in it."""
    return f"({sentence.table} {', '.join(map(str, sentence.rows))})"
