"""Runs: what the engine costs beside the tracker, what a second worker brings, and how long the report takes.

A learned tracker already uses every core in one process, so a second worker only must not make it slower.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import report, shared
from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.engines import Engine, Local
from dstress.learning.recipe import Recipe, TrainingOptions
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.pipeline.track import Assignment, Tracking, track
from dstress.pipeline.train import train
from dstress.resources import Resources
from dstress.runs.journal import Journal
from dstress.trackers import create
from dstress.trackers.base import Answer, Context, Tracker

_MICROSECONDS = 60
_TWO_WORKERS = 1.7
_REPORT = 10.0
_COST = 0.002


class Busy(Tracker):
    """Answers like `gold` after two milliseconds of work for each turn, as a small model does."""

    batch = 16

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The gold state, late."""
        end = time.thread_time() + _COST * len(contexts)
        while time.thread_time() < end:
            pass
        return [{slot: forms[0] for slot, forms in context.gold.state.items()} for context in contexts]


class _Set:
    """Makes the setting in whichever process the tracker works."""

    def __call__(self) -> Resources:
        corpus = corpora.load("reminder:test")
        return Resources(corpus.schema, corpus, corpora.load, Path())


def run() -> None:
    corpora.ensure_embedded()
    place = shared("data/multiwoz21-raw")
    corpus = corpora.load("reminder:test" if place is None else str(place))
    with tempfile.TemporaryDirectory() as folder:
        _overhead(corpus, Path(folder))
        _workers(corpora.load("reminder:train"), Path(folder))
        _learned(Path(folder))
        if place is not None:
            _report(corpus, Path(folder))


def _held(corpus: Corpus) -> tuple[Corpus, int]:
    held = list(corpus)
    return Corpus("held", "test", corpus.schema, lambda: iter(held)), sum(len(dialogue.turns) for dialogue in held)


def _tracked(corpus: Corpus, tracker: Tracker, engine: Engine, path: Path) -> None:
    journal = Journal(path)
    job, assignment = Tracking(tracker, _Set(), corpus.schema), Assignment(corpus, journal, None)
    track(engine, job, assignment, lambda done, tokens: None)
    journal.settle((dialogue.id, turn) for dialogue in corpus for turn in range(len(dialogue.turns)))


def _overhead(corpus: Corpus, folder: Path) -> None:
    held, turns = _held(corpus)
    seconds = []
    for number in range(3):
        start = time.process_time()
        _tracked(held, create("gold"), Local(), folder / f"gold{number}.jsonl")
        seconds.append(time.process_time() - start)
    each = min(seconds) / turns * 1e6
    verdict = "ok" if each < _MICROSECONDS else "TOO SLOW"
    print(f"engine with `gold`, {turns:,} turns, one core: {each:.0f} us a turn (under {_MICROSECONDS}: {verdict})")


def _workers(corpus: Corpus, folder: Path) -> None:
    held, turns = _held(corpus)
    seconds = {}
    for workers in (1, 2):
        start = time.perf_counter()
        _tracked(held, Busy(), Local(workers), folder / f"busy{workers}.jsonl")
        seconds[workers] = time.perf_counter() - start
    gain = seconds[1] / seconds[2]
    verdict = "ok" if gain >= _TWO_WORKERS else "TOO SLOW"
    cores = os.cpu_count()
    print(f"two workers, 2 ms a turn, {turns:,} turns, {cores} cores: {gain:.2f} x one", end=" ")
    print(f"(at least {_TWO_WORKERS}: {verdict})   {seconds[1]:.1f} s, {seconds[2]:.1f} s")


def _learned(folder: Path) -> None:
    """A whole run, since starting workers and importing torch in them is what could make it slower."""
    options = TrainingOptions(epochs=1, evaluate_on=3)
    train(Recipe("copy", "reminder:dev", "reminder:dev", model={"width": 64}, training=options), folder / "copy")
    seconds = {}
    for workers in (1, 2):
        start = time.perf_counter()
        out = folder / f"learned{workers}"
        evaluate("checkdst", f"copy({folder / 'copy'})", "reminder:test", out, engine=Local(workers), report=False)
        seconds[workers] = time.perf_counter() - start
    report("a run of a learned tracker with two workers", seconds[2], "with one", seconds[1], at_most=1.1)


def _report(corpus: Corpus, folder: Path) -> None:
    """The page of a run of the whole suite `full`."""
    run = evaluate("full", "rules", corpus, folder / "run", RunOptions(resamples=200, report=False), Local(2))
    wall, used = time.perf_counter(), time.process_time()
    page = run.report()
    wall, used = time.perf_counter() - wall, time.process_time() - used
    verdict = "ok" if wall < _REPORT else "TOO SLOW"
    size = page.stat().st_size / 2**20
    print(f"report of {len(run.variants)} variants of MultiWOZ test: {wall:.1f} s", end=" ")
    print(f"(under {_REPORT:g}: {verdict}; {used:.1f} s of processor time), {size:.1f} MB")
