"""What scoring a submission leaves behind: every number that a page shows, and statistics by dialogue for paired tests.

Answers become a run of the gold's suite, so that every number is that of `dstress run`. What the numbers are kept as
tells nothing of gold: confusions, which name gold values, and notes, which name the corpus's own dialogues, are left
out, and signatures keep the seed of the stressors to themselves. Statistics never leave the server.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from dstress.leaderboard.benchmarks.answers import Answers, lead_back
from dstress.leaderboard.benchmarks.package import Package
from dstress.predictions.base import Prediction
from dstress.runs.averages import average_cells
from dstress.runs.folder import Cell, RunFolder, Scores, Variant
from dstress.runs.journal import Journal
from dstress.runs.judged import JudgedRun, judge_run
from dstress.runs.scores import score_run
from dstress.runs.suites.base import ORIGINAL, Average, Column, Suite
from dstress.scoring.metrics import metrics, pair_metrics
from dstress.scoring.metrics.base import Floats, Metric
from dstress.scoring.metrics.consistency import OverRuns
from dstress.scoring.metrics.measures import measure_of, over_variants
from dstress.scoring.score import ScoringOptions
from dstress.scoring.scorecard import Score, Scorecard
from dstress.spec import parse

SUITE_TABLE = "suite"
"""The view that is the suite's own table; the others are called by their metric."""
AVERAGES = (Average("Avg."), Average("Avg.c", (ORIGINAL,)))
"""RADDLE's two means, over all variants and over the stressed ones."""
RESAMPLES = 1000
_STEPS, _FEWEST_TURNS = (1, 2, 5, 10, 20, 50, 100), 5
"""Points to which private numbers are rounded: the smallest step that is no fewer turns than these."""
Kept = TypeVar("Kept")
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

    def packed(self) -> dict[str, bytes]:
        """The columns of a `StoredResult`."""
        return {name: pack(by_convention) for name, by_convention in self._asdict().items()}


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


class _Answers(Journal):
    """A submission's answers to a variant. They are scored as they were read: there is no file behind them."""

    def __init__(self, answers: Iterable[Prediction]) -> None:
        super().__init__(Path("a submission's answers"))
        self._answers = list(answers)
        self.turns = len(self._answers)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self._answers)


class _AnsweredVariant(Variant):
    """A variant of the gold, with a submission's answers."""

    def __init__(self, run: RunFolder, spec: str, answers: Iterable[Prediction]) -> None:
        super().__init__(run, spec)
        self._answers = _Answers(answers)

    def journal(self, repeat: int = 1) -> Journal:
        return self._answers


class _AnsweredRun(RunFolder):
    """The run that a submission's answers would have come from: the gold's, which has no answers of its own."""

    def __init__(self, package: Package, answers: Answers) -> None:
        super().__init__(package.gold.path, package.gold.manifest)
        for spec in self.variants:
            self._variants[spec] = _AnsweredVariant(self, spec, lead_back(package, answers, spec))


def score_answers(package: Package, answers: Answers) -> Scored:
    """Score a submission under every convention of its benchmark; the answers are read and laid out once for all."""
    scored, conventions = Scored({}, {}), package.key.conventions
    run = _AnsweredRun(package, answers)
    views = views_of(run.manifest.suite)
    metrics = list(dict.fromkeys(column.metric for view in views.values() for column in view.columns))
    judged = judge_run(run, ScoringOptions(resamples=RESAMPLES), conventions, metrics=metrics, whole=True)
    for convention, under in zip(conventions, judged, strict=True):
        scored.results[convention], scored.statistics[convention] = _score(under, views)
    return scored


def _score(judged: JudgedRun, views: Mapping[str, View]) -> tuple[Result, Statistics]:
    scores, level = score_run(judged), judged.options.level
    tallies = {name: variant.scored.tally for name, variant in judged.variants.items()}
    signature = judged.variants[ORIGINAL].scored.signature
    cells: dict[str, list[Cell]] = {}
    for name, view in views.items():
        if name == SUITE_TABLE:
            continue
        own = []
        for column in view.columns:
            score = scores.variants[column.variant].metrics.get(column.metric)
            missing = "" if score else "cannot be computed"
            own.append(Cell(column.name, column.variant, column.metric, score, missing, column.task))
        averages = [average_cells(average, own, tallies, signature, level) for average in view.averages]
        cells[name] = [*averages, *own]
    if SUITE_TABLE in views:
        cells[SUITE_TABLE] = scores.table
    # The rows of all submissions are in one order, so that any two can be paired.
    dialogues = tallies[ORIGINAL].dialogues
    statistics = {
        place: {name: measured.over(dialogues) for name, measured in judged.measured(place).items()}
        for place in judged.places
    }
    # Confusions name gold values, and notes name the corpus's own dialogues.
    for card in scores.variants.values():
        card.slots = {slot: msgspec.structs.replace(errors, confusions=[]) for slot, errors in card.slots.items()}
        card.notes = []
    scores.notes, scores.failed = [], {}
    return hide_seed(Result(scores, cells)), statistics


def hide_seed(result: Result) -> Result:
    """The same numbers under signatures that do not tell how the corpus was stressed: whoever has the corpus could
    stress it alike, labels and all."""

    def without(content: Any) -> Any:
        if isinstance(content, dict):
            return {name: without(value) for name, value in content.items()}
        if isinstance(content, list):
            return [without(value) for value in content]
        return _SEED.sub("/seed=private", content) if isinstance(content, str) else content

    return msgspec.convert(without(msgspec.to_builtins(result)), Result)


def coarse(result: Result) -> Result:
    """What a team sees of a submission that is not published: every value rounded, by no fewer than five turns of
    those that it is measured over, which may be few.

    Intervals, counts, slots and slices are left out. Each of them would tell which answers were right, a submission at
    a time.
    """
    turns = int(result.scores.variants[ORIGINAL].signature.get("turns", 0))

    def round_score(metric: str, score: Score, of_columns: float = turns) -> Score:
        units = min(turns, score.n if isfinite(score.n) else of_columns)
        step = next((step for step in _STEPS if step * units >= 100 * _FEWEST_TURNS), _STEPS[-1])
        scale = measure_of(metric).scale
        value = round(score.value * scale / step) * step / scale if isfinite(score.value) else nan
        return Score(value, nan, nan, nan, score.signature)

    def round_all(scores: Mapping[str, Score]) -> dict[str, Score]:
        return {metric: round_score(metric, score) for metric, score in scores.items()}

    def round_cells(cells: Sequence[Cell]) -> list[Cell]:
        # A turn moves an average of k columns by a k-th of what it moves its own; an average itself counts no turns.
        counts = [cell.score.n for cell in cells if cell.score and isfinite(cell.score.n)]
        of_columns = min(counts, default=0) * len(counts)
        rounded = (cell.score and round_score(cell.metric, cell.score, of_columns) for cell in cells)
        return [msgspec.structs.replace(cell, score=score) for cell, score in zip(cells, rounded, strict=True)]

    scores = result.scores
    variants = {name: Scorecard(card.signature, round_all(card.metrics)) for name, card in scores.variants.items()}
    paired, across = ({name: round_all(own) for name, own in of.items()} for of in (scores.paired, scores.across))
    rounded = Scores(variants, paired, across, table=round_cells(scores.table))
    return Result(rounded, {view: round_cells(cells) for view, cells in result.cells.items()})


def pack(kept: Any) -> bytes:
    """Results, statistics or drawings as the database keeps them. Not as JSON, which has no "not a number"."""
    return zlib.compress(msgspec.msgpack.encode(kept, enc_hook=lambda array: (array.shape[1], array.tobytes())))


def unpack(packed: bytes, shape: type[Kept]) -> Kept:
    """What `pack` packed."""

    def to_array(_: type, content: Any) -> Any:
        width, numbers = content
        return np.frombuffer(numbers, np.float64).reshape(-1, width)

    return msgspec.msgpack.decode(zlib.decompress(packed), type=shape, dec_hook=to_array)
