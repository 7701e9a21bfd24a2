"""A tracker's answers to public inputs: how baselines come onto a board, and what `dstress submit --tracker` sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.engines.local import Local
from dstress.pipeline.track import Assignment, Tracking, track
from dstress.predictions import read_predictions
from dstress.resources import Resources
from dstress.runs.journal import Journal
from dstress.storage.home import home
from dstress.trackers import Tracker


class _Asked(Journal):
    """Answers to the turns that are asked for, and no others."""

    def __init__(self, path: Path, asked: Mapping[str, Sequence[int]]) -> None:
        super().__init__(path)
        self.asked = asked

    def done(self, dialogue: str) -> frozenset[int]:
        asked = self.asked.get(dialogue)
        return super().done(dialogue) | (frozenset(range(asked[0])) if asked else frozenset())


def track_inputs(
    corpus: Corpus,
    asked: Mapping[str, Sequence[int]],
    tracker: Tracker,
    path: Path,
    on_progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Write a tracker's answers to one part of a benchmark's inputs.

    A sequential tracker goes through the history of a stressed turn, any other is asked for the turn alone.
    """
    resources = partial(Resources, corpus.schema, corpus, load, home(), read_predictions)
    job = Tracking(tracker, resources, corpus.schema)
    with closing(_Asked(path, {} if tracker.sequential else asked)) as journal:
        track(Local(), job, Assignment(corpus, journal, None), lambda done, tokens: on_progress(done))
