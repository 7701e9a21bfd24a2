"""`dstress demo`."""

from __future__ import annotations

import shutil
from pathlib import Path

from dstress import corpora
from dstress.cli.corpora import print_corpus
from dstress.cli.options import PATH, option, verb
from dstress.cli.output import console, print_all
from dstress.cli.progress import counting
from dstress.cli.report import print_findings
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.reports.explanation import explain_run
from dstress.reports.html import REPORT
from dstress.reports.score_tables import run_tables
from dstress.runs.folder import is_run
from dstress.runs.scores import find_errors


@verb("demo")
def command(out: Path = option(default="demo", type=PATH, help="the run folder")) -> None:
    """Stress, run, score and report the rules tracker on the embedded corpus: offline, in under a minute.

    \b
    Example
      dstress demo
    """
    with counting("dialogues") as on_progress:
        corpora.ensure_embedded(on_progress)
    print_corpus(corpora.EMBEDDED)
    console().print(f"\nThe tracker `rules` on {corpora.EMBEDDED}:test, unchanged and under five stressors:\n")
    if is_run(out):  # a demo is made anew each time: whatever changed since the last one is to be seen
        shutil.rmtree(out)
    with counting() as on_progress:
        run = evaluate("quick", "rules", f"{corpora.EMBEDDED}:test", out, RunOptions(on_progress=on_progress))
    scores = run.scores
    print_all(run_tables(run.manifest, scores))
    print_findings(explain_run(run, find_errors(run)).opening)
    console().print(f"\nReport: {run.path / REPORT}", markup=False)
