"""The spine: load -> stress -> track -> score -> report. Newcomers start here.

`evaluate` is the whole flow. Each step leaves its result in the run folder and is skipped where the result is whole, so
a run that was killed goes on where it stopped, and ends with the same bytes as one that was not.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from dstress._version import __version__
from dstress.alignment.errors import TurnErrors
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.engines.base import Engine
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.pipeline.stress import describe, first, stress
from dstress.pipeline.track import Task, Tracking, track
from dstress.predictions import read_predictions
from dstress.reports.html import write_html
from dstress.resources import Resources
from dstress.runs.folder import ORIGINAL, Manifest, RunFolder, is_run
from dstress.runs.scores import corpus_of, find_errors, score_run
from dstress.scoring.score import ScoringOptions
from dstress.storage.home import home
from dstress.stressors import create as create_stressor
from dstress.stressors.quality import Quality
from dstress.suites import Suite
from dstress.suites import load as load_suite
from dstress.trackers import Tracker
from dstress.trackers import create as create_tracker

OnProgress = Callable[[str, int], None]
"""Called now and then with what is being done, and how many dialogues of it are done."""


class RunOptions(NamedTuple):
    """How to run, beside what. `limit` takes the first dialogues, `only` some of the suite's stressors."""

    seed: int = 1
    limit: int = 0
    only: tuple[str, ...] = ()
    convention: str = ""
    resume: bool = False
    resamples: int = 1000
    report: bool = True
    on_progress: OnProgress = lambda what, done: None


def evaluate(
    suite: str | Suite,
    tracker: str | Tracker,
    corpus: str | Corpus,
    out: str | Path,
    options: RunOptions = RunOptions(),  # noqa: B008  it is frozen
    engine: Engine | None = None,
) -> Run:
    """Stress a corpus as a suite says, let a tracker answer, and score the answers, all in the folder `out`."""
    tracker = create_tracker(tracker) if isinstance(tracker, str) else tracker
    original = load(corpus) if isinstance(corpus, str) else corpus
    original = first(original, options.limit) if options.limit else original
    run = _open_run(Path(out), _manifest(suite, tracker, original, options), options.resume)
    engine = engine or Local()
    with run.held():
        for variant in (*run.variants, *_clean_variants(run, tracker)):
            _stress(run, variant, original, engine, options.on_progress)
        for variant in _in_tracking_order(run, tracker):
            _track(run, variant, tracker, engine, options.on_progress)
        options.on_progress("scoring", 0)
        errors = run.score(options.resamples)
        if options.report:
            options.on_progress("writing the report", 0)
            write_html(run, errors)
    return run


class Run(RunFolder):
    """A run that can score and report itself."""

    def score(self, resamples: int = 1000) -> dict[str, TurnErrors]:
        """Write the scores of what was tracked; what is wrong with each variant's answers comes back."""
        options = ScoringOptions(resamples=resamples, seed=self.manifest.seed, lenient=True)
        scores, errors = score_run(self, options)
        self.write_scores(scores)
        return errors

    def report(self, path: str | Path | None = None, earlier: Sequence[RunFolder] = ()) -> Path:
        """Write the page with every number, plot and example; without a path, into the run folder.

        `earlier` are runs of earlier checkpoints of the tracker, in order: then the page shows how each measure grew.
        """
        return write_html(self, find_errors(self), Path(path) if path else None, earlier)


def rescore(run: RunFolder, convention: str = "", metrics: tuple[str, ...] = (), resamples: int = 1000) -> Run:
    """Score a run anew, under another convention or with other metrics, without asking the tracker again."""
    suite = msgspec.structs.replace(run.manifest.suite, metrics=metrics or run.manifest.suite.metrics)
    manifest = msgspec.structs.replace(run.manifest, suite=suite, convention=convention or run.manifest.convention)
    again = Run(run.path, manifest)
    with again.held():
        again.score(resamples)
    return again


def _manifest(suite: str | Suite, tracker: Tracker, corpus: Corpus, options: RunOptions) -> Manifest:
    asked = _restricted(load_suite(suite) if isinstance(suite, str) else suite, options.only)
    hashes = {"tracker": tracker.fingerprint(), "corpus": _content(corpus)}
    read = [tracker.reads(corpus.train)]
    for variant in asked.variants[1:]:
        hashes[variant] = _stressor_hash(variant)
        read += [part.reads(corpus.train) for part in create_stressor(variant).parts]
    for name in sorted({name for names in read for name in names}):
        hashes[f"corpus {name}"] = _content(load(name))
    versions = {"dstress": __version__, "python": platform.python_version(), "numpy": np.__version__}
    return Manifest(
        tracker.spec or type(tracker).__name__,
        f"{corpus.name}:{corpus.split}",
        suite if isinstance(suite, str) else asked.title,
        options.seed,
        options.limit,
        options.convention,
        hashes,
        versions,
        asked,
    )


def _restricted(suite: Suite, only: tuple[str, ...]) -> Suite:
    """The suite with its stressors by their shortest specs, and only those that were asked for."""
    shortest = {spec: create_stressor(spec).spec for spec in suite.variants[1:]}
    wanted = [create_stressor(spec).spec for spec in only]
    unknown = next((spec for spec in wanted if spec not in shortest.values()), None)
    if unknown:
        raise DstressError(f"the suite has no stressor {unknown}", fix=f"choose from {', '.join(shortest.values())}")
    kept = [spec for spec in shortest if not wanted or shortest[spec] in wanted]
    groups = [
        msgspec.structs.replace(group, stressors=tuple(shortest[spec] for spec in group.stressors))
        for group in suite.across
        if all(spec in kept for spec in group.stressors)
    ]
    names = {ORIGINAL, *kept, *(group.name for group in groups)}
    table = [
        msgspec.structs.replace(column, variant=shortest.get(column.variant, column.variant))
        for column in suite.table
        if column.variant in names
    ]
    own = tuple(shortest[spec] for spec in suite.stressors if spec in kept)
    return msgspec.structs.replace(suite, stressors=own, across=tuple(groups), table=tuple(table))


def _content(corpus: Corpus) -> str:
    return _digest(msgspec.json.encode(dialogue) for dialogue in corpus)


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def _stressor_hash(spec: str) -> str:
    """The spec, and the source of each part: a stressor that changed is another one."""
    sources = [inspect.getsourcefile(type(part)) for part in create_stressor(spec).parts]
    return _digest([__version__.encode(), spec.encode(), *(Path(file).read_bytes() for file in sources if file)])


def _open_run(path: Path, asked: Manifest, resume: bool) -> Run:
    """A new run, or the one that is there, if it is the same in all that its answers depend on."""
    if not resume or not is_run(path):
        return Run.create(path, asked)
    run = Run.open(path)
    for what, mine in asked.hashes.items():
        if run.manifest.hashes.get(what, mine) != mine:
            raise DstressError(
                f"the {what} has changed since the run began, so its answers would not belong together",
                where=str(path),
                fix="start a new run in another folder",
            )
    # Not the tracker's spec: a longer timeout or a larger budget changes no answer, and so not its fingerprint.
    compared = ("corpus", "seed", "limit", "suite")
    if different := next((name for name in compared if getattr(run.manifest, name) != getattr(asked, name)), None):
        raise DstressError(f"the run was begun with another {different}", where=str(path), fix="give another --out")
    return run


def _stress(run: RunFolder, variant: str, original: Corpus, engine: Engine, on_progress: OnProgress) -> None:
    """Write a variant's dialogues, unless they are there; the summary comes last and says that all is whole."""
    if run.quality(variant):
        return
    if variant == ORIGINAL:
        run.write_stressed(variant, _counted(original, variant, on_progress), original.schema, lambda: {"stressor": ""})
        return
    composed = create_stressor(variant)
    heavy = any(part.heavy for part in composed.parts)
    stressed = stress(original, composed, seed=run.manifest.seed, engine=engine if heavy else None)
    quality = Quality(stressed.stressor)
    dialogues = quality.watching(_counted(stressed, variant, on_progress))
    run.write_stressed(variant, dialogues, stressed.schema, lambda: describe(stressed, quality.summary()))


def _counted(dialogues: Iterable[Dialogue], what: str, on_progress: OnProgress) -> Iterator[Dialogue]:
    for done, dialogue in enumerate(dialogues, start=1):
        yield dialogue
        on_progress(f"stressing: {what}", done)


def _track(run: RunFolder, variant: str, tracker: Tracker, engine: Engine, on_progress: OnProgress) -> None:
    """Ask for every answer that is not there, then put the answers in order."""
    journal, schema = run.journal(variant), run.schema(variant)
    clean_variant = _clean_variant(variant)
    clean = run.journal(clean_variant) if clean_variant != variant else None
    job = Tracking(tracker, _Prepared(run, variant), schema)
    task = Task(corpus_of(run, variant), journal, clean)
    run.add_usage(track(engine, job, task, lambda done: on_progress(f"tracking: {variant}", done)))
    journal.settle((d.id, turn) for d in run.dialogues(variant) for turn in range(len(d.turns)))


class _Prepared:
    """Makes a tracker's resources in whichever process it works."""

    def __init__(self, run: RunFolder, variant: str) -> None:
        self.run, self.variant = run, variant

    def __call__(self) -> Resources:
        corpus = corpus_of(self.run, self.variant)
        return Resources(corpus.schema, corpus, load, home(), read_predictions)


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
