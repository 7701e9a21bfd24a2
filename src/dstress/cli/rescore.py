"""`dstress rescore`."""

from __future__ import annotations

from pathlib import Path

from dstress.cli.names import CONVENTION, METRIC
from dstress.cli.options import FOLDER, argument, option, resamples_option, verb
from dstress.cli.output import OutputFiles, json_option
from dstress.cli.progress import waiting
from dstress.pipeline.run import rescore
from dstress.reports.score_tables import run_tables
from dstress.runs.folder import RunFolder
from dstress.spec import parse_list


@verb("rescore")
def command(
    run: Path = argument(type=FOLDER),
    convention: str = option(type=CONVENTION, default="", help="what counts as correct; default: as before"),
    metrics: str = option(type=METRIC, default="", metavar="A,B", help="other metrics; default: as before"),
    resamples: int = resamples_option(),
    files: OutputFiles = json_option,
) -> None:
    """Score a RUN again, under another convention or with other metrics, without running the tracker.

    \b
    Examples
      dstress rescore runs/mine --convention trade
      dstress rescore runs/mine --metrics jga,aga,gca
    """
    names = tuple(parse_list(metrics)) if metrics else ()
    with waiting("scoring"):
        rescored = rescore(RunFolder.open(run, checked=False), convention, names, resamples)
    scores = rescored.scores
    files.show(scores, run_tables(rescored.manifest, scores), notes=scores.notes)
