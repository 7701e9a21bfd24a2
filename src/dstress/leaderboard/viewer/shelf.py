"""The runs of a folder, found anew whenever they are asked for, each with its headline numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from dstress.errors import DstressError, unknown
from dstress.metrics.measures import measure_of
from dstress.reports.html import REPORT, render_html
from dstress.reports.numbers import PAGE
from dstress.reports.tables import Table
from dstress.runs.folder import ORIGINAL, RunFolder, Scores, is_run
from dstress.runs.scores import find_errors
from dstress.scoring.scorecard import Score

_DEEPEST = 5
"""Folders within folders; people sort runs by corpus, system and seed."""
_KEPT_PAGES = 4
"""Rendered reports in memory; one may have some megabytes."""


class ListedRun(msgspec.Struct, frozen=True):
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
        self._listed: dict[str, tuple[int, ListedRun]] = {}
        self._pages: dict[str, tuple[int, str]] = {}

    def names(self) -> list[str]:
        """The runs that are there now."""
        return sorted(self._paths())

    def _paths(self) -> dict[str, Path]:
        return {self._name(path): path for path in _run_folders(self.folder, _DEEPEST)}

    def _name(self, path: Path) -> str:
        return self.folder.name if path == self.folder else path.relative_to(self.folder).as_posix()

    def open(self, name: str) -> RunFolder:
        """The run of a name."""
        paths = self._paths()
        if name not in paths:
            raise unknown("run", name, paths)
        return RunFolder.open(paths[name])

    def list(self) -> list[ListedRun]:
        """Every run with its headline numbers, the latest first; scores are read again where they have changed."""
        found = []
        for name, path in self._paths().items():
            written = _written(path)
            if name not in self._listed or self._listed[name][0] != written:
                self._listed[name] = written, _describe(name, path)
            found.append(self._listed[name][1])
        return sorted(found, key=lambda run: (-run.scored, run.name))

    def report(self, name: str) -> str:
        """A run's page: the one in its folder where that is as new as the scores, else one made now and kept."""
        run = self.open(name)
        page, written = run.path / REPORT, _written(run.path)
        if page.is_file() and not page.is_symlink() and page.stat().st_mtime_ns >= written:
            return page.read_text(encoding="utf-8", errors="replace")
        if name not in self._pages or self._pages[name][0] != written:
            self._pages.pop(name, None)
            self._pages[name] = written, render_html(run, find_errors(run))
            while len(self._pages) > _KEPT_PAGES:
                self._pages.pop(next(iter(self._pages)))
        return self._pages[name][1]


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
    for name in ("scores.json", "run.toml"):
        try:
            return (path / name).stat().st_mtime_ns
        except OSError:
            continue
    return 0


def _describe(name: str, path: Path) -> ListedRun:
    listed = ListedRun(name, scored=_written(path) / 1e9)
    try:
        run = RunFolder.open(path)
        manifest = run.manifest
        listed = msgspec.structs.replace(
            listed,
            tracker=manifest.tracker,
            corpus=manifest.tracked,
            suite=manifest.suite.title or manifest.suite_name,
            seed=manifest.seed,
        )
        return _with_scores(listed, run.scores)
    except (DstressError, OSError) as error:
        return msgspec.structs.replace(listed, problem=getattr(error, "problem", str(error)))


def _with_scores(listed: ListedRun, scores: Scores) -> ListedRun:
    original = scores.variants[ORIGINAL]
    costs = {variant: drop.difference for variant, drop in scores.drops.items() if drop.difference < 0}
    worst = min(costs, key=lambda variant: costs[variant], default="")
    return msgspec.structs.replace(
        listed,
        turns=int(original.signature.get("turns", 0)),
        convention=scores.convention,
        jga=original.metrics.get("jga"),
        worst=worst,
        drop=costs.get(worst),
        failed=sum(scores.failed.values()),
    )


def side_by_side(runs: dict[str, Scores]) -> Table:
    """The suites' own measures of any runs beside each other. Nothing is tested: they may be of different data."""
    cells = {
        name: {(cell.column, cell.metric): cell for cell in scores.table if cell.score} for name, scores in runs.items()
    }
    rows: list[Sequence[str]] = []
    for column, metric in dict.fromkeys(key for found in cells.values() for key in found):
        shown = []
        for found in cells.values():
            cell = found.get((column, metric))
            score, unit = cell and cell.score, measure_of(metric).unit
            shown.append(
                f"{PAGE.with_unit(score.value, unit)} {PAGE.measured_interval(score.low, score.high, unit)}"
                if score
                else PAGE.unknown
            )
        rows.append((column, metric, *shown))
    return Table(("measure", "metric", *(f"#{name}" for name in runs)), rows)
