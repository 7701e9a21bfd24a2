"""`dstress demo`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from dstress import corpora
from dstress.cli.corpora import print_corpus
from dstress.cli.output import console, print_table
from dstress.cli.progress import counting
from dstress.cli.report import print_findings
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.reports.explanation import explain_run
from dstress.reports.html import REPORT
from dstress.reports.score_tables import run_tables
from dstress.runs.folder import is_run
from dstress.runs.scores import find_errors


@click.command("demo")
@click.option("--out", default="demo", show_default=True, type=click.Path(path_type=Path), help="the run folder")
def command(out: Path) -> None:
    """The whole flow on the embedded corpus with the rules tracker: no network, no set-up, under a minute.

    \b
    Example
      dstress demo
    """
    with counting("dialogues") as on_progress:
        corpora.ensure_embedded(on_progress)
    print_corpus(corpora.EMBEDDED)
    console().print(f"\nThe tracker `rules` on {corpora.EMBEDDED}:test, as it is and under five stressors:\n")
    if is_run(out):  # a demo is made anew each time: whatever changed since the last one is to be seen
        shutil.rmtree(out)
    with counting() as on_progress:
        run = evaluate("quick", "rules", f"{corpora.EMBEDDED}:test", out, RunOptions(on_progress=on_progress))
    scores = run.scores
    for table in run_tables(run.manifest, scores):
        print_table(table)
    print_findings(explain_run(run, find_errors(run)).opening)
    console().print(f"\nLook at the report: {run.path / REPORT}", markup=False)
