"""What a run is made of: a run never mixes the answers of two trackers, two corpora or two versions of a stressor."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from dstress._version import __version__
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.errors import DstressError, unknown
from dstress.metrics import metrics
from dstress.pipeline.run import Run, RunOptions
from dstress.registry import origin_of
from dstress.runs.folder import ORIGINAL, Manifest, is_run
from dstress.runs.scores import check_metrics, check_slices
from dstress.storage.source_hash import hash_source
from dstress.stressors import create as create_stressor
from dstress.suites import Suite
from dstress.suites import load as load_suite
from dstress.trackers import Tracker


def describe_run(suite: str | Suite, tracker: Tracker, corpus: Corpus, options: RunOptions) -> Manifest:
    """What is to be run, with hashes of all that its answers depend on."""
    wanted = _restricted(load_suite(suite) if isinstance(suite, str) else suite, options.only)
    name = suite if isinstance(suite, str) else wanted.title
    check_metrics(wanted, name)
    check_slices(wanted, name)
    hashes = {"tracker": tracker.fingerprint(), "corpus": _digest(map(msgspec.json.encode, corpus))}
    hashes["schema"] = _digest([msgspec.json.encode(corpus.schema)])
    if corpus.whole is not None:
        hashes["whole corpus"] = corpus.whole.data
    read = [tracker.reads(corpus.train)]
    for variant in wanted.variants[1:]:
        hashes[variant] = hash_stressor(variant)
        read += [part.reads(corpus.train) for part in create_stressor(variant).parts]
    for name in sorted({name for names in read for name in names}):
        hashes[f"corpus {name}"] = _digest(map(msgspec.json.encode, load(name)))
    versions = {"dstress": __version__, "python": platform.python_version(), "numpy": np.__version__}
    made_of = [
        *(origin_of(type(part)) for variant in wanted.variants[1:] for part in create_stressor(variant).parts),
        *map(metrics.origin, wanted.metrics),
        origin_of(type(tracker)),
    ]
    for name, _, version in (plugin.rpartition("-") for plugin in made_of if plugin):
        versions[name] = version
    return Manifest(
        tracker.spec or type(tracker).__name__,
        f"{corpus.name}:{corpus.split}",
        suite if isinstance(suite, str) else wanted.title,
        options.seed,
        options.limit,
        options.convention,
        hashes,
        versions,
        wanted,
        options.draw,
        tuple(create_stressor(spec).spec for spec in options.only),
        options.also,
        None if corpus.seen is None else tuple(sorted(corpus.seen)),
        repeats=options.repeats,
        started=_today(),
    )


def _today() -> str:
    """The day, or the one that `SOURCE_DATE_EPOCH` names: whoever makes a run again to the byte sets it."""
    moment = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(moment), UTC) if moment.isdigit() else datetime.now(UTC)).date().isoformat()


def _restricted(suite: Suite, only: tuple[str, ...]) -> Suite:
    """The suite with its stressors by their shortest specs, and only those that were asked for."""
    shortest = {spec: create_stressor(spec).spec for spec in suite.variants[1:]}
    wanted = [create_stressor(spec).spec for spec in only]
    if stranger := next((spec for spec in wanted if spec not in shortest.values()), None):
        fix = f"choose from {', '.join(shortest.values())}"
        raise unknown("stressor of the suite", stranger, shortest.values(), where="--only", fix=fix)
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


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def hash_stressor(spec: str) -> str:
    """The spec, and the source, the tables and the files of each part: a stressor that changed is another one."""
    parts = create_stressor(spec).parts
    sources = [hash_source(type(part)).encode() for part in parts]
    files = [path.read_bytes() for part in parts for path in part.files() if path.is_file()]
    return _digest([__version__.encode(), spec.encode(), *sources, *files])


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
