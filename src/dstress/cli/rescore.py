"""`dstress rescore`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import json_option, print_notes, print_table, write_json
from dstress.cli.progress import waiting
from dstress.pipeline.run import rescore
from dstress.reports.score_tables import run_tables
from dstress.runs.folder import RunFolder
from dstress.spec import parse_list


@click.command("rescore")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--convention", default="", help="what counts as correct; default: as before")
@click.option("--metrics", default="", metavar="A,B", help="other metrics; default: as before")
@click.option(
    "--resamples", type=click.IntRange(0), default=1000, show_default=True, help="bootstrap resamples of dialogues"
)
@json_option
def command(run: Path, convention: str, metrics: str, resamples: int, json_file: str | None) -> None:
    """Score a RUN anew, under another convention or with other metrics, without asking the tracker again.

    \b
    Examples
      dstress rescore runs/mine --convention trade
      dstress rescore runs/mine --metrics jga,aga,gca
    """
    names = tuple(parse_list(metrics)) if metrics else ()
    with waiting("scoring"):
        rescored = rescore(RunFolder.open(run), convention, names, resamples)
    scores = rescored.scores
    if json_file:
        write_json(scores, json_file)
        return
    for table in run_tables(rescored.manifest, scores):
        print_table(table)
    print_notes(scores.notes)
