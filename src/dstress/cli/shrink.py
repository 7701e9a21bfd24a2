"""`dstress shrink`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import (
    COUNTS,
    OutputPath,
    console,
    json_option,
    make_table,
    print_notes,
    print_table,
    write_json,
)
from dstress.cli.progress import counting
from dstress.pipeline.estimate import require_budget
from dstress.pipeline.shrink import Shrinkage, ShrunkExample, list_failures, shrink
from dstress.pipeline.shrink.shrink import BUDGET
from dstress.pipeline.shrink.tables import (
    STATUSES,
    describe_wrong,
    edits_of,
    mark_edits,
    shrinkage_page,
    shrinkage_tables,
)
from dstress.runs.folder import RunFolder
from dstress.trackers import create as create_tracker

_SHOWN = 10


@click.command("shrink")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--example", "examples", multiple=True, metavar="ID", help="STRESSOR/DIALOGUE/TURN; may be repeated")
@click.option("--all", "every", is_flag=True, help="every example that can be shrunk")
@click.option("--list", "listing", is_flag=True, help="only list the examples that can be shrunk")
@click.option("--limit", type=COUNTS, default=0, metavar="N", help="only the first N, stressor after stressor in turn")
@click.option("--tracker", metavar="SPEC", help="the tracker; default: the one that the run was made with")
@click.option(
    "--budget", type=click.IntRange(2), metavar="N", help=f"turns asked for one example at most; default: {BUDGET}"
)
@click.option("--html", "page", type=OutputPath(), metavar="FILE", help="write a page")
@json_option
def command(
    run: Path,
    examples: tuple[str, ...],
    every: bool,
    listing: bool,
    limit: int,
    tracker: str | None,
    budget: int | None,
    page: Path | None,
    json_file: str | None,
) -> None:
    """Find the smallest edit that still makes the tracker of a RUN wrong.

    An example is a turn that the tracker has right on the original and wrong under a stressor; its id is the one in
    the links of the report's explorer. Edits, and then their words, are taken back as long as the tracker stays wrong
    and the label holds.

    \b
    Examples
      dstress shrink runs/quick --list
      dstress shrink runs/quick --example typos/reminder-test-0000/1
      dstress shrink runs/quick --all --limit 50 --json shrunk.json
    """
    if listing + every + bool(examples) != 1:
        raise click.UsageError("give one of --example ID, --all and --list")
    if listing and page:
        raise click.UsageError("--html is for examples that are shrunk, and --list shrinks none")
    opened = RunFolder.open(run)
    if listing:
        _list(opened, limit, json_file)
        return
    asked = create_tracker(tracker or opened.manifest.tracker)
    allowed = require_budget(asked, budget, BUDGET)
    with counting("examples") as show:
        found = shrink(opened, asked, examples, limit, allowed, show)
    if page:
        shrinkage_page(found).write(page)
    if json_file:
        write_json(found, json_file)
    else:
        _show(found)


def _list(run: RunFolder, limit: int, json_file: str | None) -> None:
    failures = list_failures(run)
    shown = failures[: limit or None]
    if json_file:
        write_json([{"id": failure.id, **failure._asdict(), "turn": failure.turn + 1} for failure in shown], json_file)
        return
    table = make_table("example", "wrong")
    for failure in shown:
        table.add_row(failure.id, ", ".join(failure.slots))
    console().print(table)
    console().print(f"{len(shown):,} of {len(failures):,} examples", markup=False)


def _show(found: Shrinkage) -> None:
    for example in found.examples[:_SHOWN]:
        _show_example(example)
    if len(found.examples) > _SHOWN:
        console().print(f"... and {len(found.examples) - _SHOWN:,} more; --json has them all\n", markup=False)
    if len(found.examples) > 1:
        tables = shrinkage_tables(found)
        for name in ("kinds", "words", "slots"):
            print_table(tables[name])
    counts = {status: sum(one.status == status for one in found.examples) for status in STATUSES}
    told = ", ".join(f"{count:,} {STATUSES[status]}" for status, count in counts.items() if count)
    console().print(f"{told or 'nothing to shrink'}; {found.asked:,} turns were asked", markup=False)
    print_notes(found.notes)


def _show_example(example: ShrunkExample) -> None:
    from rich.text import Text

    out = console()
    out.print(Text(example.id, style="bold"))
    if not example.edits:
        out.print(Text(f"  {example.status}: {STATUSES[example.status]}\n"))
        return
    needed = f"changed words: {example.words_changed:,}, needed: {example.words_needed:,}"
    out.print(Text(f"  {needed}, {example.asked:,} turns asked, {example.status}", style="dim"))
    shown = [(one, edits) for one in example.utterances if (edits := edits_of(example, one.turn, one.speaker))]
    for one, edits in shown:
        who = f"turn {one.turn}, {one.speaker}"
        out.print(Text(f"  {who}, stressed: {one.stressed}"))
        out.print(Text(f"  {who}, needed:   {mark_edits(one.original, edits)}"))
    if others := len(example.utterances) - len(shown):
        out.print(Text(f"  of {others:,} other changed utterances nothing is needed"))
    for slot in example.wrong:
        out.print(Text(f"  {describe_wrong(slot)}"))
    if example.failed:
        out.print(Text(f"  no answer: {example.failed}"))
    out.print()
