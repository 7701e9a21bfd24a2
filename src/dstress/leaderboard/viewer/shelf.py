"""The runs of a folder, found anew whenever they are asked for, each with its headline numbers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import msgspec

from dstress.errors import DstressError, unknown
from dstress.reports.html import REPORT, render_html
from dstress.reports.many_runs import render_many_html, study_runs
from dstress.reports.numbers import PAGE
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL, RunFolder, Scores, is_run
from dstress.runs.scores import find_errors
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.scorecard import Score

_DEEPEST = 5
"""Folders within folders; people sort runs by corpus, system and seed."""
SCORES = "scores.json"
_MINUTES = 120
"""From so many seconds on, minutes say enough."""
_KEPT_PAGES = 4
"""Rendered reports in memory; one may have some megabytes."""


class ListedRun(msgspec.Struct):
    """A run as the list shows it. `problem` says why there are no numbers: it is unfinished, or damaged."""

    name: str
    tracker: str = ""
    corpus: str = ""
    suite: str = ""
    seed: int | None = None
    scored: float = 0.0
    """When its scores were written, in seconds since 1970."""
    turns: int = 0
    convention: str = ""
    jga: Score | None = None
    worst: str = ""
    drop: float | None = None
    """The stressor that costs most jga, and how much; none where no stressor costs any."""
    failed: int = 0
    problem: str = ""
    progress: str = ""
    """How far a run is that has no scores yet."""


class Shelf:
    """The runs below a folder by their names, which are their paths from it.

    A name is looked up among those that were found, and never made into a path: no name leads out of the folder. Links
    to other folders are not followed.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DstressError(
                "there is no such folder", where=str(folder), fix="`dstress run --out runs/NAME` makes one"
            )
        self.folder = folder.resolve()

    def paths(self) -> dict[str, Path]:
        """The runs that are there now, by name."""
        paths = {path.relative_to(self.folder).as_posix(): path for path in _run_folders(self.folder, _DEEPEST)}
        return {self.folder.name if name == "." else name: path for name, path in paths.items()}

    def open(self, name: str) -> RunFolder:
        """The run of a name."""
        paths = self.paths()
        if name not in paths:
            raise unknown("run", name, paths)
        return RunFolder.open(paths[name])

    def list(self) -> list[ListedRun]:
        """Every run with its headline numbers, the latest first; scores are read again where they have changed."""
        runs = []
        for name, path in self.paths().items():
            listed = _describe(name, path, _written(path))
            if listed.problem and not (path / SCORES).exists() and (progress := _progress(path)):
                listed = msgspec.structs.replace(listed, progress=progress)
            runs.append(listed)
        return sorted(runs, key=lambda run: (-run.scored, run.name))

    def report(self, name: str) -> str:
        """A run's page: the one in its folder where that is as new as the scores, else one made now and kept."""
        run = self.open(name)
        page, written = run.path / REPORT, _written(run.path)
        if page.is_file() and not page.is_symlink() and page.stat().st_mtime_ns >= written:
            return page.read_text(encoding="utf-8", errors="replace")
        with reading_any(name):
            return _render(run.path, written)

    def comparison(self, names: Sequence[str]) -> str:
        """The page of several runs, made now and kept; raises where they cannot be compared."""
        paths = [self.open(name).path for name in names]
        with reading_any(", ".join(names)):
            return _render_many(tuple(paths), tuple(map(_written, paths)))


@lru_cache(maxsize=_KEPT_PAGES)
def _render(path: Path, written: int) -> str:
    run = RunFolder.open(path)
    return render_html(run, find_errors(run))


@lru_cache(maxsize=_KEPT_PAGES)
def _render_many(paths: tuple[Path, ...], written: tuple[int, ...]) -> str:
    return render_many_html(study_runs([RunFolder.open(path) for path in paths]))


def _progress(path: Path) -> str:
    """How many of an unfinished run's turns have an answer, in words; empty where that cannot be read."""
    try:
        run = RunFolder.open(path)
        files = [
            run.variant(variant).predictions_path(repeat + 1)
            for variant in run.variants
            for repeat in range(run.manifest.repeats)
        ]
        total = run.variant(ORIGINAL).turns * len(files)
        written = [file for file in files if file.is_file()]
        answered = sum(file.read_bytes().count(b"\n") for file in written)
        latest = max((file.stat().st_mtime for file in written), default=(path / "run.toml").stat().st_mtime)
    except (DstressError, OSError, ValueError):
        return ""
    ago = max(0, round(time.time() - latest))
    since = f"{ago:,} s" if ago < _MINUTES else f"{ago // 60:,} minutes"
    return f"{100 * answered // max(1, total)} % of {total:,} turns tracked; last prediction {since} ago"


@contextmanager
def reading_any(name: str) -> Iterator[None]:
    """Say that a run is damaged: any value in it may have been changed, and what stumbles over it may be anything."""
    try:
        yield
    except (DstressError, OSError):
        raise
    except Exception as error:
        problem = f"the run is damaged: {type(error).__name__}: {error}"
        raise DstressError(problem, where=name, fix="`dstress rescore` writes its scores anew") from error


def _run_folders(folder: Path, deepest: int) -> Iterator[Path]:
    """The runs in a folder and below; nothing inside a run, hidden or behind a link is looked at."""
    if is_run(folder):
        yield folder
        return
    try:
        inside = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:  # not for us to read, or gone meanwhile
        return
    for name in inside if deepest else ():
        if not name.startswith("."):
            yield from _run_folders(folder / name, deepest - 1)


def _written(path: Path) -> int:
    """When a run's scores were written, or else its manifest."""
    for name in (SCORES, "run.toml"):
        try:
            return (path / name).stat().st_mtime_ns
        except OSError:
            continue
    return 0


@lru_cache(maxsize=10_000)
def _describe(name: str, path: Path, written: int) -> ListedRun:
    listed = ListedRun(name, scored=written / 1e9)
    try:
        run = RunFolder.open(path)
        manifest = run.manifest
        listed.tracker, listed.corpus, listed.seed = manifest.tracker, manifest.tracked, manifest.seed
        listed.suite = manifest.suite.title or manifest.suite_name
        scores = run.scores  # a run without has no numbers yet, but still a name and a tracker
        original = scores.variants[ORIGINAL]
        listed.turns = int(original.signature.get("turns", 0))
    except (DstressError, OSError) as error:
        listed.problem = getattr(error, "problem", str(error))
        return listed
    except ValueError as error:
        listed.problem = f"the run is damaged: {error}"
        return listed
    listed.convention, listed.jga = scores.convention, original.metrics.get("jga")
    costs = {variant: drop.difference for variant, drop in scores.drops.items() if drop.difference < 0}
    listed.worst = min(costs, key=lambda variant: costs[variant], default="")
    listed.drop, listed.failed = costs.get(listed.worst), sum(scores.failed.values())
    return listed


def side_by_side(runs: dict[str, Scores]) -> Table:
    """The suites' own measures of any runs beside each other. Nothing is tested: they may be of different data."""
    cells = {
        name: {(cell.column, cell.metric): cell for cell in scores.table if cell.score} for name, scores in runs.items()
    }
    rows: list[Sequence[str]] = []
    for column, metric in dict.fromkeys(key for own in cells.values() for key in own):
        shown, unit = [], measure_of(metric).unit
        for own in cells.values():
            score = cell.score if (cell := own.get((column, metric))) else None
            text = PAGE.with_unit(score.value, unit) if score else PAGE.unknown
            shown.append(f"{text} {PAGE.measured_interval(score.low, score.high, unit)}" if score else text)
        rows.append((column, metric, *shown))
    return Table(("measure", "metric", *(f"#{name}" for name in runs)), rows)
