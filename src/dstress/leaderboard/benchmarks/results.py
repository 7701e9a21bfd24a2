"""What scoring a submission leaves behind: every number that a page shows, and statistics by dialogue for paired tests.

Answers become a run of the gold's suite, so that every number is that of `dstress run`. What the numbers are kept as
tells nothing of gold: confusions, which name gold values, and notes, which name the corpus's own dialogues, are left
out, and signatures keep the seed of the stressors to themselves. Statistics never leave the server.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dstress.leaderboard.benchmarks.answers import Answers, lead_back
from dstress.leaderboard.benchmarks.package import Package
from dstress.metrics import metrics, pair_metrics
from dstress.metrics.base import Floats, Metric
from dstress.metrics.consistency import OverRuns
from dstress.metrics.measures import over_variants
from dstress.predictions import write_predictions
from dstress.runs.averages import average_cells
from dstress.runs.folder import Cell, RunFolder, Scores
from dstress.runs.measured import MeasuredRun
from dstress.runs.scores import score_run
from dstress.scoring.score import ScoringOptions
from dstress.spec import parse
from dstress.suites.base import ORIGINAL, Average, Column, Suite

SUITE_TABLE = "suite"
"""The view that is the suite's own table; the others are called by their metric."""
AVERAGES = (Average("Avg."), Average("Avg.c", (ORIGINAL,)))
"""RADDLE's two means, over all variants and over the stressed ones."""
RESAMPLES = 1000
_SEED = re.compile(r"/seed=\d+(?=/)")

Statistics = dict[str, dict[str, Floats]]
"""Variant (or group of them) -> metric -> statistics summed by dialogue, for all submissions in one order."""


class View(NamedTuple):
    """One leaderboard of a benchmark: columns, and the averages before them."""

    name: str
    columns: tuple[Column, ...]
    averages: tuple[Average, ...]

    @property
    def labels(self) -> list[str]:
        """What its columns are called, the averages first."""
        return [*(average.column for average in self.averages), *(column.name for column in self.columns)]

    def behind(self, label: str) -> list[Column]:
        """The columns that a column's values are made of: of an average several."""
        for average in self.averages:
            if average.column == label:
                return [column for column in self.columns if column.task and column.task not in average.without]
        return [column for column in self.columns if column.name == label]


class Result(msgspec.Struct):
    """A submission's numbers under one convention: those of a run, and the cells of each view."""

    scores: Scores
    cells: dict[str, list[Cell]]

    def cell(self, view: str, label: str) -> Cell | None:
        """One cell of a view."""
        return next((cell for cell in self.cells.get(view, []) if cell.column == label), None)


class Scored(NamedTuple):
    """What a submission has reached, by convention."""

    results: dict[str, Result]
    statistics: dict[str, Statistics]


def views_of(suite: Suite) -> dict[str, View]:
    """The suite's table, and every metric on each variant, by name."""
    views = {SUITE_TABLE: View(SUITE_TABLE, suite.table, suite.average)} if suite.table else {}
    averages = AVERAGES if len(suite.variants) > 2 else ()
    for metric in suite.metrics:
        columns = tuple(Column("", variant, metric, task=variant) for variant in suite.variants)
        views[metric] = View(metric, columns, averages)
    return views


def make_metric(name: str) -> Metric | OverRuns:
    """A metric of any kind by its name."""
    return over_variants(name) or (pair_metrics if parse(name).name in pair_metrics else metrics).create(name)


def score_answers(package: Package, answers: Answers, system: str) -> Scored:
    """Score a submission under every convention of its benchmark."""
    scored = Scored({}, {})
    with TemporaryDirectory(prefix="dstress-") as folder:
        run = _run_of(package, answers, system, Path(folder))
        for convention in package.key.conventions:
            run.manifest = msgspec.structs.replace(run.manifest, convention=convention)
            scored.results[convention], scored.statistics[convention] = _score(run, convention)
    return scored


def _run_of(package: Package, answers: Answers, system: str, folder: Path) -> RunFolder:
    """The run that the answers would have come from, beside the gold that they are scored by."""
    gold = package.gold
    for shared in ("stressed", "database"):
        if (gold.path / shared).exists():
            (folder / shared).symlink_to((gold.path / shared).resolve())
    run = RunFolder(folder, msgspec.structs.replace(gold.manifest, tracker=system))
    for variant in run.variants:
        write_predictions(lead_back(package, answers, variant), run.predictions_path(variant))
    return run


def _score(run: RunFolder, convention: str) -> tuple[Result, Statistics]:
    options, views = ScoringOptions(resamples=RESAMPLES, lenient=True), views_of(run.manifest.suite)
    scores, judged = score_run(run, options)
    wanted = dict.fromkeys(column.metric for view in views.values() for column in view.columns)
    measured = MeasuredRun(run, run.variants, list(wanted), options, convention, judged)
    tallies = {variant: scored.tally for variant, scored in measured.scored.items()}
    signature = measured.scored[ORIGINAL].signature
    cells = {name: _cells(scores, view) for name, view in views.items() if name != SUITE_TABLE}
    for name, own in cells.items():
        averages = [average_cells(average, own, tallies, signature, options.level) for average in views[name].averages]
        cells[name] = [*averages, *own]
    if SUITE_TABLE in views:
        cells[SUITE_TABLE] = scores.table
    dialogues = measured.scored[ORIGINAL].tally.dialogues
    statistics = {
        place: {name: _in_order(found.dialogues, found.totals, dialogues) for name, found in by_metric.items()}
        for place in measured.places
        for by_metric in [measured.measured(place)]
    }
    return hide_seed(Result(_without_gold(scores), cells)), statistics


def _cells(scores: Scores, view: View) -> list[Cell]:
    """The metric of a view on each variant."""
    found = ((column, scores.variants[column.variant].metrics.get(column.metric)) for column in view.columns)
    return [
        Cell(column.name, column.variant, column.metric, score, "" if score else "cannot be computed", column.task)
        for column, score in found
    ]


def _in_order(dialogues: Sequence[str], totals: Floats, order: Sequence[str]) -> Floats:
    """The same rows in a submission-independent order; a dialogue in which a metric counts nothing adds nothing."""
    rows = dict(zip(dialogues, totals, strict=True))
    nothing = np.zeros(totals.shape[1])
    return np.array([rows.get(dialogue, nothing) for dialogue in order])


def _without_gold(scores: Scores) -> Scores:
    for card in scores.variants.values():
        card.slots = {slot: msgspec.structs.replace(errors, confusions=[]) for slot, errors in card.slots.items()}
        card.notes = []
    scores.notes, scores.failed = [], {}
    return scores


def hide_seed(result: Result) -> Result:
    """The same numbers under signatures that do not tell how the corpus was stressed: whoever has the corpus could
    stress it alike, labels and all."""

    def without(kept: Any) -> Any:
        if isinstance(kept, dict):
            return {name: without(value) for name, value in kept.items()}
        if isinstance(kept, list):
            return [without(value) for value in kept]
        return _SEED.sub("/seed=private", kept) if isinstance(kept, str) else kept

    return msgspec.convert(without(msgspec.to_builtins(result)), Result)


def pack_results(results: dict[str, Result]) -> bytes:
    """Results as they are kept. Not as JSON, which has no "not a number"."""
    return zlib.compress(msgspec.msgpack.encode(results))


def unpack_results(packed: bytes) -> dict[str, Result]:
    """What `pack_results` packed."""
    return msgspec.msgpack.decode(zlib.decompress(packed), type=dict[str, Result])


def pack_statistics(statistics: dict[str, Statistics]) -> bytes:
    """Statistics as they are kept."""
    plain = {
        convention: {
            place: {name: (totals.shape[1], totals.tobytes()) for name, totals in by_metric.items()}
            for place, by_metric in places.items()
        }
        for convention, places in statistics.items()
    }
    return zlib.compress(msgspec.msgpack.encode(plain))


def unpack_statistics(packed: bytes) -> dict[str, Statistics]:
    """What `pack_statistics` packed."""
    kept = msgspec.msgpack.decode(zlib.decompress(packed), type=dict[str, dict[str, dict[str, tuple[int, bytes]]]])
    return {
        convention: {
            place: {
                name: np.frombuffer(content, np.float64).reshape(-1, width)
                for name, (width, content) in by_metric.items()
            }
            for place, by_metric in places.items()
        }
        for convention, places in kept.items()
    }
