"""`dstress demo`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from dstress import corpora
from dstress.cli.corpora import print_corpus
from dstress.cli.output import console, print_table
from dstress.cli.progress import counting
from dstress.cli.report import print_findings
from dstress.cli.run import tables
from dstress.corpora.base import Corpus
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.predictions.base import Prediction
from dstress.reports.findings import findings
from dstress.reports.html import REPORT
from dstress.runs.folder import is_run


@click.command("demo")
@click.option("--out", default="demo", show_default=True, type=click.Path(path_type=Path), help="the run folder")
def command(out: Path) -> None:
    """The whole flow on the embedded corpus with the rules tracker: no network, no set-up, under a minute.

    \b
    Example
      dstress demo
    """
    with counting("dialogues") as progress:
        corpora.ensure_embedded(progress)
    print_corpus(corpora.EMBEDDED)
    console().print(f"\nThe tracker `rules` on {corpora.EMBEDDED}:test, as it is and under five stressors:\n")
    if is_run(out):  # a demo is made anew each time: whatever changed since the last one is to be seen
        shutil.rmtree(out)
    with counting("done") as on_progress:
        run = evaluate("quick", "rules", f"{corpora.EMBEDDED}:test", out, RunOptions(on_progress=on_progress))
    scores = run.scores
    for table in tables(run, scores):
        print_table(table)
    print_findings(findings(scores))
    console().print(f"\nLook at the report: {run.path / REPORT}", markup=False)


def perfect(corpus: Corpus) -> Iterator[Prediction]:
    """What a tracker without a fault would say."""
    for dialogue in corpus:
        for index, turn in enumerate(dialogue.turns):
            state = {slot: forms[0] for slot, forms in turn.state.items()}
            yield Prediction(dialogue.id, index, state)
