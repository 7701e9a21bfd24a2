"""The spine: load -> stress -> track -> score -> report. Newcomers start here.

`evaluate` loads, checks, locks the run folder and opens the run; `_run_steps` takes the other steps. Each leaves its
result in the folder and is skipped where the result is whole, so a run that was killed goes on where it stopped when it
is resumed, and ends with the same bytes as one that was not.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.corpora.tools import offer_tools
from dstress.dialogue import Dialogue
from dstress.display import NOTE
from dstress.engines.base import Engine
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.pipeline.estimate import Estimate, UnconfirmedCost
from dstress.pipeline.manifest import choose_variants, describe_run, open_run
from dstress.pipeline.run import OnProgress, Run, RunOptions
from dstress.pipeline.stress import describe, stress
from dstress.pipeline.track import TIMED, Assignment, Tracking, track
from dstress.predictions import read_predictions
from dstress.reports.html import write_html
from dstress.resources import Resources
from dstress.runs.folder import Variant, hold_run, require_answers
from dstress.runs.journal import Journal
from dstress.runs.suites import Suite
from dstress.runs.suites import load as load_suite
from dstress.storage.home import home
from dstress.stressors import create as create_stressor
from dstress.stressors.quality import Quality
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
    **changes: Any,
) -> Run:
    """Stress a corpus as a suite says, let a tracker answer, and score the answers, all in the folder `out`.

    Every option may be given by its name: `limit=20`, `draw=20`, `resume=True`, `seed=2` ...
    """
    options = options._replace(**changes)
    tracker = create_tracker(tracker) if isinstance(tracker, str) else tracker
    original = load(corpus) if isinstance(corpus, str) else corpus
    if options.tools:
        original = offer_tools(original, Path(options.tools))
    taken = original.part
    original = original.take(options.limit, options.draw, options.seed)
    chosen, stressors = choose_variants(load_suite(suite) if isinstance(suite, str) else suite, original, options.only)
    name = suite if isinstance(suite, str) else suite.title
    manifest = describe_run(chosen, stressors, tracker, original, options, name)
    manifest = msgspec.structs.replace(manifest, taken=taken)
    tracker.check(manifest.suite.variants)
    path = Path(out)
    fresh = not path.exists()
    with hold_run(path):  # before the manifest is written: two starts at once must not mix
        run = open_run(path, manifest, options.resume)
        variants = [run.variant(spec) for spec in run.variants]
        for variant in variants:
            variant.stressor = stressors.get(variant.spec)  # made once, to be hashed
        try:
            engine = engine or Local()
            with engine.joined():  # its processes, or its part of a cluster, serve every variant
                _run_steps(run, variants, tracker, original, options, engine)
        except DstressError as error:
            # A failed start leaves nothing behind; a full disk is no failed start.
            full = isinstance(error.__cause__, OSError)
            if fresh and not full and not any(variant.journal().answered for variant in variants):
                shutil.rmtree(path)
            raise
        finally:
            run.close()
    return run


def _run_steps(
    run: Run, variants: list[Variant], tracker: Tracker, original: Corpus, options: RunOptions, engine: Engine
) -> None:
    """Stress, track, score and report: all that is not done yet."""
    if tracker.sequential:  # it follows on answers to variants that nobody asked for
        variants = list(dict.fromkeys([*variants, *(variant.clean for variant in variants)]))
    for variant, label in _labelled("stressing", variants):
        _stress(variant, original, engine, partial(options.on_progress, label), options.meanings)
        run.seal(variant.path, variant.path.with_suffix(".schema.json"))
    run.unseal("scores")  # which are written anew
    # Clean variants come before those that follow on them.
    variants = sorted(variants, key=lambda variant: variant.clean is not variant)
    passes = [
        _Pass(variant, repeat, label, options.on_progress, original.train)
        for repeat in range(1, run.manifest.repeats + 1)
        for variant, label in _labelled(f"tracking again ({repeat})" if repeat > 1 else "tracking", variants)
    ]
    for each in passes[: len(variants)]:
        tracker.check_corpus(_prepare(each.variant, each.repeat, each.train))
    if tracker.priced and not options.confirmed:
        _require_consent(run, passes, tracker, engine)
    for each in passes:
        # Ask for every answer that is not there, then put the answers in order.
        dialogues = each.variant.corpus()
        with closing(each.journal) as journal:
            _ask(each, dialogues, tracker, engine)
            journal.settle((dialogue.id, turn) for dialogue in dialogues for turn in range(len(dialogue.turns)))
        run.seal(each.variant.predictions_path(each.repeat))
        require_answers(each.variant, options.max_failed, each.repeat)
    options.on_progress("scoring", 0, None)
    errors = run.score(options.resamples)
    if options.report:
        options.on_progress("writing the report", 0, None)
        write_html(run, errors)


def _labelled(step: str, variants: Sequence[Variant]) -> Iterator[tuple[Variant, str]]:
    """Each variant, with what progress calls the step over it; the original, which comes first, is no stressor."""
    for number, variant in enumerate(variants):
        place = f", stressor {number} of {len(variants) - 1}" if number else ""
        yield variant, f"{step}{place}: {variant.spec}"


def _stress(variant: Variant, original: Corpus, engine: Engine, on_progress: _Count, meanings: bool) -> None:
    """Write a variant's dialogues, unless they are there; the summary comes last and says that all is whole."""
    if variant.quality and variant.path.exists():
        return

    def counted(dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        for done, dialogue in enumerate(dialogues, start=1):
            yield dialogue
            on_progress(done, original.size)

    if variant.stressor is None:
        if original.database:
            variant.run.write_database(original.database)
        variant.write(counted(original), original.schema, lambda: {"stressor": ""})
        return
    # One of its own, since what it is fitted to is let go of when the variant is written.
    composed = create_stressor(variant.spec)
    heavy = any(part.heavy for part in composed.parts)
    stressed = stress(original, composed, seed=variant.run.manifest.seed, engine=engine if heavy else None)
    quality = Quality(stressed.stressor, meanings=meanings)
    dialogues = quality.watching(counted(stressed))
    variant.write(dialogues, stressed.schema, lambda: describe(stressed, quality.summary()))


class _Pass(NamedTuple):
    """One pass of the tracker over a variant, the first or a repeated one."""

    variant: Variant
    repeat: int
    label: str
    on_progress: OnProgress
    train: str = ""
    """The name of the corpus's training split, for trackers that look at it."""

    @property
    def journal(self) -> Journal:
        """The answers so far."""
        return self.variant.journal(self.repeat)


def _ask(each: _Pass, dialogues: Iterable[Dialogue], tracker: Tracker, engine: Engine) -> None:
    """Ask for the answers to some dialogues that are not there."""
    variant = each.variant
    clean = variant.clean.journal(each.repeat) if variant.clean is not variant else None
    job = Tracking(tracker, partial(_prepare, variant, each.repeat, each.train), variant.schema)
    assignment = Assignment(dialogues, each.journal, clean)
    before = variant.run.usage
    variant.run.unseal(each.journal.path.relative_to(variant.run.path).as_posix())
    each.journal.open()  # before anything else: until it is sealed again, its lines have checksums

    def show(done: int, tokens: float) -> None:
        tokens += before.get("tokens_in", 0) + before.get("tokens_out", 0)
        label = f"{each.label}{NOTE}{tokens:,.0f} tokens" if tokens else each.label
        each.on_progress(label, done, variant.turns)

    cost = track(engine, job, assignment, show)
    timing = {name: cost.pop(name) for name in TIMED if name in cost}
    variant.run.add_costs(cost, timing)


def _prepare(variant: Variant, repeat: int, train: str) -> Resources:
    """What a tracker is prepared with, in whichever process it works."""
    corpus = variant.corpus()
    return Resources(corpus.schema, corpus, load, home(), read_predictions, train, variant=variant.spec, repeat=repeat)


def _require_consent(run: Run, passes: Sequence[_Pass], tracker: Tracker, engine: Engine) -> None:
    """Say what the answers that are not there would cost, by a few that are asked for now."""
    for each in passes:
        dialogues = list(each.variant.dialogues())
        Random(run.manifest.seed).shuffle(dialogues)
        few = _FEW_DIALOGUES
        while dialogues and run.usage.get("requests", 0) < _ENOUGH_REQUESTS:
            with closing(each.journal):
                _ask(each, dialogues[:few], tracker, engine)
            del dialogues[:few]
            few *= 2  # what the tracker knew already tells nothing of prices
    # A turn that its stressor left alone keeps the answer of the clean variant.
    left = sum(
        (each.variant.clean is each.variant or turn.changed) and number not in done
        for each in passes
        for dialogue in each.variant.dialogues()
        for done in [each.journal.done(dialogue.id)]
        for number, turn in enumerate(dialogue.turns)
    )
    if left:
        raise UnconfirmedCost(Estimate.of(left, run.usage), str(run.path))
