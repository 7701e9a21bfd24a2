"""What a run is made of: a run never mixes the answers of two trackers, two corpora or two versions of a stressor."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from dstress._version import __version__
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.errors import DstressError, unknown
from dstress.pipeline.run import Run, RunOptions
from dstress.registry import origin_of
from dstress.runs.folder import ORIGINAL, Manifest, is_run
from dstress.runs.scores import check_suite
from dstress.runs.suites import Suite
from dstress.scoring.metrics import metrics
from dstress.storage.source_hash import hash_source
from dstress.stressors import Composition
from dstress.stressors import create as create_stressor
from dstress.stressors.released.sets import path_of, read_set
from dstress.trackers import Tracker


def choose_variants(suite: Suite, corpus: Corpus, only: tuple[str, ...] = ()) -> tuple[Suite, dict[str, Composition]]:
    """The suite with its stressors by their shortest specs, only those in `only` if any; and each of them made.

    Where the suite names released sets and one was made for this corpus, it takes its stressor's place: everybody then
    measures on the same text.
    """
    whole = corpus.whole or corpus
    instead = {
        spec: f'released("{name}")'
        for spec, names in suite.released.items()
        for name in names
        if not read_set(path_of(name)).misfit(whole)
    }
    made = {spec: create_stressor(instead.get(spec, spec)) for spec in suite.variants[1:]}
    shortest = {spec: stressor.spec for spec, stressor in made.items()}
    chosen = [shortest.get(spec) or create_stressor(spec).spec for spec in only]
    if stranger := next((spec for spec in chosen if spec not in shortest.values()), None):
        fix = f"choose from {', '.join(shortest.values())}"
        raise unknown("stressor of the suite", stranger, shortest.values(), where="--only", fix=fix)
    kept = [spec for spec in shortest if not chosen or shortest[spec] in chosen]
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
    restricted = msgspec.structs.replace(suite, stressors=own, across=tuple(groups), table=tuple(table))
    return restricted, {stressor.spec: stressor for stressor in made.values() if stressor.spec in restricted.variants}


def describe_run(
    suite: Suite,
    stressors: Mapping[str, Composition],
    tracker: Tracker,
    corpus: Corpus,
    options: RunOptions,
    name: str = "",
) -> Manifest:
    """What is to be run, with hashes of all that its answers depend on. `name` is what the suite was called."""
    name = name or suite.title
    check_suite(suite, name)
    hashes = {"tracker": tracker.fingerprint(), "corpus": _digest(map(msgspec.json.encode, corpus))}
    hashes["schema"] = _digest([msgspec.json.encode(corpus.schema)])
    if corpus.whole is not None:
        hashes["whole corpus"] = corpus.whole.data
    read = {*tracker.reads(corpus.train)}
    hash_once = cache(hash_source)  # which reads all modules that a class stands on, and they are edited between runs
    for spec, stressor in stressors.items():
        hashes[spec] = hash_stressor(stressor, hash_once)
        read.update(*(part.reads(corpus.train) for part in stressor.parts))
    for other in sorted(read):
        hashes[f"corpus {other}"] = _digest(map(msgspec.json.encode, load(other)))
    versions = {"dstress": __version__, "python": platform.python_version(), "numpy": np.__version__}
    # Whoever makes a run again to the byte names the day.
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    started = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    plugins = [
        *(origin_of(type(part)) for stressor in stressors.values() for part in stressor.parts),
        *map(metrics.origin, suite.metrics),
        origin_of(type(tracker)),
    ]
    for distribution, _, version in (plugin.rpartition("-") for plugin in plugins if plugin):
        versions[distribution] = version
    return Manifest(
        tracker.spec or type(tracker).__name__,
        f"{corpus.name}:{corpus.split}",
        name,
        options.seed,
        options.limit,
        options.convention,
        hashes,
        versions,
        suite,
        options.draw,
        tuple(create_stressor(spec).spec for spec in options.only),
        options.also,
        None if corpus.seen is None else tuple(sorted(corpus.seen)),
        repeats=options.repeats,
        tools=options.tools,
        started=started.date().isoformat(),
    )


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def hash_stressor(stressor: Composition, hash_part: Callable[[type], str] = hash_source) -> str:
    """The spec, and the source, the tables and the files of each part: a stressor that changed is another one."""
    sources = [hash_part(type(part)).encode() for part in stressor.parts]
    files = [path.read_bytes() for part in stressor.parts for path in part.files() if path.is_file()]
    return _digest([__version__.encode(), stressor.spec.encode(), *sources, *files])


def open_run(path: Path, manifest: Manifest, resume: bool) -> Run:
    """A new run, or the one that is there, if it is the same in all that its answers depend on."""
    if not resume or not is_run(path):
        return Run.create(path, manifest)
    run = Run.open(path)
    for what, mine in manifest.hashes.items():
        if run.manifest.hashes.get(what, mine) != mine:
            raise DstressError(
                f"the {what} has changed since the run began, so its answers would not belong together",
                where=str(path),
                fix="start a new run in another folder",
            )
    # Not the tracker's spec: a longer timeout or a larger budget changes no answer, and so not its fingerprint.
    compared = ("corpus", "seed", "limit", "draw", "suite", "repeats")
    if different := next((name for name in compared if getattr(run.manifest, name) != getattr(manifest, name)), None):
        raise DstressError(f"the run was begun with another {different}", where=str(path), fix="give another --out")
    return run
