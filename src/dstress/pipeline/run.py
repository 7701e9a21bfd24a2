"""A run: how it is to be done, and what it can do for itself once its answers are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from dstress.reports.html import write_html
from dstress.runs.folder import RunFolder, hold_run
from dstress.runs.judged import judge_run
from dstress.runs.scores import find_errors, score_run
from dstress.scoring.alignment.errors import TurnErrors
from dstress.scoring.score import ScoringOptions

OnProgress = Callable[[str, int, int | None], None]
"""Called now and then with what is being done, how much of it is done, and of how much, where that is known."""


class RunOptions(NamedTuple):
    """How to run, beside what. `limit` takes the first dialogues, `draw` some at random, `only` some stressors.

    `evaluate` takes each of them by name, too.
    """

    seed: int = 1
    limit: int = 0
    only: tuple[str, ...] = ()
    convention: str = ""
    resume: bool = False
    resamples: int = 1000
    report: bool = True
    on_progress: OnProgress = lambda what, done, total: None
    draw: int = 0
    max_failed: float = 1.0
    """The share of a variant's turns that may stay without an answer."""
    meanings: bool = False
    """Whether an encoder compares what rephrased turns mean."""
    also: tuple[str, ...] = ()
    """Options of the command line that change no answer: the report repeats them."""
    repeats: int = 1
    """How often every turn is asked: more than once shows how far the tracker agrees with itself."""
    tools: str = ""
    """A file with the tools at hand in every dialogue: MCP's `tools/list`, or a list as OpenAI's API takes it."""
    confirmed: bool = True
    """Whether a tracker may cost money; otherwise a few turns are asked, and UnconfirmedCost has an estimate."""


class Run(RunFolder):
    """A run that can score and report itself."""

    def score(self, resamples: int = 1000) -> dict[str, TurnErrors]:
        """Write the scores of what was tracked; what is wrong with each variant's answers comes back."""
        options = ScoringOptions(resamples=resamples, seed=self.manifest.seed)
        (judged,) = judge_run(self, options, whole=True)
        self.write_scores(score_run(judged))
        return {name: variant.errors for name, variant in judged.variants.items()}

    def report(self, path: str | Path | None = None, earlier: Sequence[RunFolder] = ()) -> Path:
        """Write the page with every number, plot and example; without a path, into the run folder.

        `earlier` are runs of earlier checkpoints of the tracker, in order: then the page shows how each measure grew.
        """
        return write_html(self, find_errors(self), Path(path) if path else None, earlier)


def rescore(run: RunFolder, convention: str = "", metrics: tuple[str, ...] = (), resamples: int = 1000) -> Run:
    """Score a run anew, under another convention or with other metrics, without asking the tracker again.

    The manifest and the page follow, so that whatever reads the run from now on goes by the same convention.
    """
    run.require_unchanged(scores=False)
    manifest = msgspec.structs.replace(
        run.manifest, convention=convention or run.manifest.convention, metrics=metrics or run.manifest.metrics
    )
    again = Run(run.path, manifest)
    with hold_run(run.path):
        errors = again.score(resamples)  # which writes the manifest, too
        write_html(again, errors)
    return again
