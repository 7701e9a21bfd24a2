"""The spine: load -> stress -> track -> score -> report. Newcomers start here.

`evaluate` is the whole flow. Each step leaves its result in the run folder and is skipped where the result is whole, so
a run that was killed goes on where it stopped, and ends with the same bytes as one that was not.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from dstress._version import __version__
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.engines.base import Engine
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.home import home
from dstress.run_scores import score_run
from dstress.runs import ORIGINAL, Manifest, RunFolder
from dstress.scoring import Options as Scoring
from dstress.setting import Setting
from dstress.stressing import StressedCorpus, description, first, stress
from dstress.stressors import create
from dstress.stressors.quality import Quality
from dstress.suites import Suite
from dstress.suites import load as load_suite
from dstress.trackers import Tracker, trackers
from dstress.tracking import Tracking, settle, track
from dstress.writing import replacing

Told = Callable[[str, int], None]
"""Told now and then: what is being done, and how many dialogues of it are done."""


class Options(msgspec.Struct, frozen=True):
    """How to run, beside what."""

    seed: int = 1
    limit: int = 0
    """Only the first so many dialogues; 0 is all."""
    only: tuple[str, ...] = ()
    """Only these stressors of the suite; empty is all."""
    convention: str = ""
    resume: bool = False
    resamples: int = 1000


DEFAULTS = Options()


def evaluate(
    suite: str | Suite,
    tracker: str | Tracker,
    corpus: str | Corpus,
    out: str | Path,
    options: Options = DEFAULTS,
    engine: Engine | None = None,
) -> RunFolder:
    """Stress a corpus as a suite says, let a tracker answer, and score the answers, in the folder `out`."""
    asked = Evaluation(suite, tracker, corpus, options, engine)
    return asked.run(Path(out))
