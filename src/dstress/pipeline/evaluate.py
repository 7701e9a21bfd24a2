"""The spine: load -> stress -> track -> score -> report. Newcomers start here.

`evaluate` is the whole flow. Each step leaves its result in the run folder and is skipped where the result is whole, so
a run that was killed goes on where it stopped, and ends with the same bytes as one that was not.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple, Unpack

import msgspec

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.engines.base import Engine
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.pipeline.estimate import Estimate, UnconfirmedCost
from dstress.pipeline.manifest import describe_run, open_run
from dstress.pipeline.run import Run, RunChanges, RunOptions
from dstress.pipeline.stress import describe, stress
from dstress.pipeline.track import TIMED, Assignment, Tracking, track
from dstress.predictions import read_predictions
from dstress.reports.html import write_html
from dstress.resources import Resources
from dstress.runs.folder import ORIGINAL, RunFolder, hold_run, require_answers
from dstress.runs.journal import Journal
from dstress.runs.scores import corpus_of
from dstress.storage.home import home
from dstress.stressors import create as create_stressor
from dstress.stressors.quality import Quality
from dstress.suites import Suite
from dstress.trackers import Tracker
from dstress.trackers import create as create_tracker

_Count = Callable[[int, int | None], None]
"""`OnProgress` of one step: how much is done, and of how much."""
_FEW_DIALOGUES, _ENOUGH_REQUESTS = 2, 8
"""What is asked for an estimate: whole dialogues, since prompts grow from turn to turn."""


def evaluate(
    suite: str | Suite,
    tracker: str | Tracker,
    corpus: str | Corpus,
    out: str | Path,
    options: RunOptions = RunOptions(),  # noqa: B008  it is frozen
    engine: Engine | None = None,
    **changes: Unpack[RunChanges],
) -> Run:
    """Stress a corpus as a suite says, let a tracker answer, and score the answers, all in the folder `out`.

    Options may be given by name: `limit=20`, `draw=20`, `resume=True`, `seed=2` ...
    """
    options = options._replace(**changes)
    tracker = create_tracker(tracker) if isinstance(tracker, str) else tracker
    original = load(corpus) if isinstance(corpus, str) else corpus
    taken = original.part
    original = original.take(options.limit, options.draw, options.seed)
    manifest = msgspec.structs.replace(describe_run(suite, tracker, original, options), taken=taken)
    tracker.check(manifest.suite.variants)
    path = Path(out)
    fresh = not path.exists()
    with hold_run(path):  # before the manifest is written: two starts at once must not mix
        run = open_run(path, manifest, options.resume)
        try:
            _work(run, tracker, original, options, engine or Local())
        except DstressError as error:
            # A failed start leaves nothing behind; a full disk is no failed start.
            full = isinstance(error.__cause__, OSError)
            if fresh and not full and not any(run.journal(variant).answered for variant in run.variants):
                shutil.rmtree(path)
            raise
    return run


def _work(run: Run, tracker: Tracker, original: Corpus, options: RunOptions, engine: Engine) -> None:
    """Do all that is not done yet."""
    for variant, label in _labelled("stressing", (*run.variants, *_clean_variants(run, tracker))):
        _stress(run, variant, original, engine, partial(options.on_progress, label), options.meanings)
    order = [
        _Asked(run, variant, repeat, partial(options.on_progress, label), original.train)
        for repeat in range(1, run.manifest.repeats + 1)
        for variant, label in _labelled(
            f"tracking again ({repeat})" if repeat > 1 else "tracking", _in_tracking_order(run, tracker)
        )
    ]
    if tracker.priced and not options.confirmed:
        _require_consent(order, tracker, engine)
    for asked in order:
        _track(asked, tracker, engine)
        require_answers(run, asked.variant, options.max_failed, asked.repeat)
    options.on_progress("scoring", 0, None)
    errors = run.score(options.resamples)
    if options.report:
        options.on_progress("writing the report", 0, None)
        write_html(run, errors)


def _labelled(step: str, variants: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each variant, with what progress calls the step over it; the original, which comes first, is no stressor."""
    for number, variant in enumerate(variants):
        place = f", stressor {number} of {len(variants) - 1}" if number else ""
        yield variant, f"{step}{place}: {variant}"


def _stress(
    run: RunFolder, variant: str, original: Corpus, engine: Engine, on_progress: _Count, meanings: bool
) -> None:
    """Write a variant's dialogues, unless they are there; the summary comes last and says that all is whole."""
    if run.quality(variant):
        return
    if variant == ORIGINAL:
        if original.database:
            run.write_database(original.database)
        run.write_stressed(
            variant, _counted(original, original, on_progress), original.schema, lambda: {"stressor": ""}
        )
        return
    composed = create_stressor(variant)
    heavy = any(part.heavy for part in composed.parts)
    stressed = stress(original, composed, seed=run.manifest.seed, engine=engine if heavy else None)
    quality = Quality(stressed.stressor, meanings=meanings)
    dialogues = quality.watching(_counted(stressed, original, on_progress))
    run.write_stressed(variant, dialogues, stressed.schema, lambda: describe(stressed, quality.summary()))


def _counted(dialogues: Iterable[Dialogue], original: Corpus, on_progress: _Count) -> Iterator[Dialogue]:
    for done, dialogue in enumerate(dialogues, start=1):
        yield dialogue
        on_progress(done, original.size)


class _Asked(NamedTuple):
    """A variant, and the how manieth time it is asked."""

    run: RunFolder
    variant: str
    repeat: int
    on_progress: _Count
    train: str = ""
    """The name of the corpus's training split, for trackers that look at it."""

    @property
    def journal(self) -> Journal:
        """The answers so far."""
        return self.run.journal(self.variant, self.repeat)


def _track(asked: _Asked, tracker: Tracker, engine: Engine) -> None:
    """Ask for every answer that is not there, then put the answers in order."""
    dialogues = corpus_of(asked.run, asked.variant)
    _ask(asked, dialogues, tracker, engine)
    asked.journal.settle((dialogue.id, turn) for dialogue in dialogues for turn in range(len(dialogue.turns)))


def _ask(asked: _Asked, dialogues: Iterable[Dialogue], tracker: Tracker, engine: Engine) -> None:
    """Ask for the answers to some dialogues that are not there."""
    run, variant = asked.run, asked.variant
    clean_variant = _clean_variant(variant)
    clean = run.journal(clean_variant, asked.repeat) if clean_variant != variant else None
    job = Tracking(tracker, partial(_prepare, run, variant, asked.repeat, asked.train), run.schema(variant))
    turns = run.count_turns(variant)
    with closing(asked.journal) as journal:
        assignment = Assignment(dialogues, journal, clean)
        cost = track(engine, job, assignment, lambda done: asked.on_progress(done, turns))
        run.add_timing({name: cost.pop(name) for name in TIMED if name in cost})
        run.add_usage(cost)


def _prepare(run: RunFolder, variant: str, repeat: int, train: str) -> Resources:
    """What a tracker is prepared with, in whichever process it works."""
    corpus = corpus_of(run, variant)
    return Resources(corpus.schema, corpus, load, home(), read_predictions, train, variant=variant, repeat=repeat)


def _require_consent(order: Sequence[_Asked], tracker: Tracker, engine: Engine) -> None:
    """Say what the answers that are not there would cost, by a few that are asked for now."""
    run = order[0].run
    for asked in order:
        dialogues = list(run.dialogues(asked.variant))
        Random(run.manifest.seed).shuffle(dialogues)
        few = _FEW_DIALOGUES
        while dialogues and run.usage.get("requests", 0) < _ENOUGH_REQUESTS:
            _ask(asked, dialogues[:few], tracker, engine)
            del dialogues[:few]
            few *= 2  # what the tracker knew already tells nothing of prices
    if left := sum(map(_turns_left, order)):
        raise UnconfirmedCost(Estimate.of(left, run.usage), str(run.path))


def _turns_left(asked: _Asked) -> int:
    """How many turns have no answer and will be asked: not those that keep the answer of the original."""
    journal, is_clean = asked.journal, _clean_variant(asked.variant) == asked.variant
    return sum(
        (is_clean or turn.changed) and number not in done
        for dialogue in asked.run.dialogues(asked.variant)
        for done in [journal.done(dialogue.id)]
        for number, turn in enumerate(dialogue.turns)
    )


def _clean_variant(variant: str) -> str:
    """The variant whose words are the history of this one's turns: without the stressors of single turns."""
    if variant == ORIGINAL:
        return ORIGINAL
    wider = [part.spec for part in create_stressor(variant).parts if part.scope != "turn"]
    return "+".join(wider) or ORIGINAL


def _clean_variants(run: RunFolder, tracker: Tracker) -> list[str]:
    """Variants that nobody asked for, but whose answers a sequential tracker follows on."""
    if not tracker.sequential:
        return []
    needed = dict.fromkeys(_clean_variant(variant) for variant in run.variants)
    return [variant for variant in needed if variant not in run.variants]


def _in_tracking_order(run: RunFolder, tracker: Tracker) -> list[str]:
    """Clean variants come before those that follow on them."""
    variants = [*run.variants, *_clean_variants(run, tracker)]
    return sorted(variants, key=lambda variant: _clean_variant(variant) != variant)
