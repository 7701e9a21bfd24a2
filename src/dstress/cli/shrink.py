"""`dstress shrink`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.names import TRACKER
from dstress.cli.options import COUNTS, PATH, argument, option, verb
from dstress.cli.output import OutputFiles, OutputPath, console, json_option, print_notes, print_table
from dstress.cli.progress import counting
from dstress.pipeline.estimate import require_budget
from dstress.reports.tables import Table
from dstress.runs.folder import RunFolder
from dstress.studies.shrink import Shrinkage, ShrunkExample, list_failures, shrink
from dstress.studies.shrink.shrink import BUDGET
from dstress.studies.shrink.tables import (
    STATUSES,
    describe_wrong,
    edits_of,
    mark_edits,
    shrinkage_page,
    shrinkage_tables,
)
from dstress.trackers import create as create_tracker

_SHOWN = 10


@verb("shrink")
def command(
    run: Path = argument(type=PATH),
    examples: tuple[str, ...] = option(
        "--example", multiple=True, metavar="ID", help="STRESSOR/DIALOGUE/TURN; may be repeated"
    ),
    every: bool = option("--all", is_flag=True, help="shrink every example that can be shrunk"),
    listing: bool = option("--list", is_flag=True, help="only list the examples that can be shrunk"),
    limit: int = option(type=COUNTS, default=0, metavar="N", help="only the first N, taking the stressors in turn"),
    tracker: str | None = option(type=TRACKER, metavar="SPEC", help="the tracker; default: the run's"),
    budget: int | None = option(
        type=click.IntRange(2), metavar="N", help=f"maximum number of turns to predict per example; default: {BUDGET}"
    ),
    page: Path | None = option("--html", type=OutputPath(), metavar="FILE", help="write a page"),
    files: OutputFiles = json_option,
) -> None:
    """Find the smallest edit that still makes the tracker of a RUN wrong.

    An example is a turn that is right on the original and wrong under a stressor. Its id is in the links of the
    report's explorer. Edits, and then single words of them, are undone as long as the tracker stays wrong and the label
    stays correct.

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
        _list(opened, limit, files)
        return
    system = create_tracker(tracker or opened.manifest.tracker)
    allowed = require_budget(system, budget, BUDGET)
    with counting("examples") as show:
        shrinkage = shrink(opened, system, examples, limit, allowed, show)
    if page:
        shrinkage_page(shrinkage).write(page)
    if not files.write(shrinkage):
        _show(shrinkage)


def _list(run: RunFolder, limit: int, files: OutputFiles) -> None:
    failures = list_failures(run)
    shown = failures[: limit or None]
    rows = [(failure.id, ", ".join(failure.slots)) for failure in shown]
    content = [{"id": failure.id, **failure._asdict(), "turn": failure.turn + 1} for failure in shown]
    files.show(content, [Table(("example", "wrong"), rows, f"{len(shown):,} of {len(failures):,} examples")])


def _show(shrinkage: Shrinkage) -> None:
    for example in shrinkage.examples[:_SHOWN]:
        _show_example(example)
    if len(shrinkage.examples) > _SHOWN:
        console().print(f"... and {len(shrinkage.examples) - _SHOWN:,} more; --json has them all\n", markup=False)
    if len(shrinkage.examples) > 1:
        tables = shrinkage_tables(shrinkage)
        for name in ("kinds", "words", "slots"):
            print_table(tables[name])
    counts = {status: sum(example.status == status for example in shrinkage.examples) for status in STATUSES}
    summary = ", ".join(f"{count:,} {STATUSES[status]}" for status, count in counts.items() if count)
    console().print(f"{summary or 'nothing to shrink'}; {shrinkage.asked:,} turns were asked", markup=False)
    print_notes(shrinkage.notes)


def _show_example(example: ShrunkExample) -> None:
    from rich.text import Text

    out = console()
    out.print(Text(example.id, style="bold"))
    if not example.edits:
        out.print(Text(f"  {example.status}: {STATUSES[example.status]}\n"))
        return
    needed = f"changed words: {example.words_changed:,}, needed: {example.words_needed:,}"
    out.print(Text(f"  {needed}, {example.asked:,} turns asked, {example.status}", style="dim"))
    shown = [
        (utterance, edits)
        for utterance in example.utterances
        if (edits := edits_of(example, utterance.turn, utterance.speaker))
    ]
    for utterance, edits in shown:
        who = f"turn {utterance.turn}, {utterance.speaker}"
        out.print(Text(f"  {who}, stressed: {utterance.stressed}"))
        out.print(Text(f"  {who}, needed:   {mark_edits(utterance.original, edits)}"))
    if others := len(example.utterances) - len(shown):
        out.print(Text(f"  of {others:,} other changed utterances nothing is needed"))
    for slot in example.wrong:
        out.print(Text(f"  {describe_wrong(slot)}"))
    if example.failed:
        out.print(Text(f"  no answer: {example.failed}"))
    out.print()
