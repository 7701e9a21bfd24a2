"""Leaderboards: the newest published version of each system, in order, and how it came to that.

What people have judged is shown beside the numbers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from dstress.errors import unknown
from dstress.leaderboard.benchmarks.ranking import Entry, Row, rank
from dstress.leaderboard.benchmarks.results import Result, Statistics, View, coarse, unpack
from dstress.leaderboard.benchmarks.service import first_view, views_of_benchmark
from dstress.leaderboard.tables import (
    DONE,
    Benchmark,
    JudgingRound,
    JudgingSubject,
    StoredResult,
    Submission,
    System,
    Team,
)
from dstress.reports.tables import Table
from dstress.runs.folder import Cell
from dstress.runs.suites.base import ORIGINAL, Column
from dstress.scoring.metrics.measures import measure_of
from dstress.studies.human_check.questions import questions
from dstress.studies.human_check.verdict import Share, Verdict

_MOST_KEPT = 200


class Judged(NamedTuple):
    """A submission in the last closed rounds that judged it: the share of its items for which most judges said yes, and
    the round, by question."""

    shares: dict[str, Share]
    rounds: dict[str, int]


class Standing(NamedTuple):
    """A system's place on a board, and what is known of the version that holds it (a row of `_published`)."""

    row: Row
    published: Any

    @property
    def names(self) -> str:
        """The system's and the team's, a line each."""
        return f"{self.published.system}\n{self.published.team}"


class Board(NamedTuple):
    """A leaderboard as it is shown. `by` is the column that it is ordered by."""

    benchmark: Benchmark
    views: dict[str, View]
    view: View
    convention: str
    conventions: list[str]
    by: str
    standings: list[Standing]
    judged: dict[int, Judged]
    """What people said, by submission."""

    @property
    def questions(self) -> dict[str, str]:
        """What people were asked of any of its systems, and what that measures."""
        judged = {name for verdict in self.judged.values() for name in verdict.shares}
        asked = questions("systems") | questions("conversations")
        return {name: question.title for name, question in asked.items() if name in judged}

    @property
    def floors(self) -> dict[str, float]:
        """The floor of each column of combined scores."""
        return floors_of(self.benchmark, self.view.name)

    def mean_of(self, label: str) -> int:
        """Of how many columns a column is the mean; 0 of one that is no mean."""
        is_mean = any(average.column == label for average in self.view.averages)
        return len(self.view.behind(label)) if is_mean else 0

    @property
    def compared(self) -> dict[str, str]:
        """The columns of stressed versions, and the column of the same metric on the original."""
        original = {column.metric: column.name for column in self.view.columns if _is_of(column, stressed=False)}
        stressed = (column for column in self.view.columns if _is_of(column, stressed=True))
        return {column.name: original[column.metric] for column in stressed if column.metric in original}

    def share(self, standing: Standing, question: str) -> Share | None:
        """What people said of a system; None where nobody was asked."""
        judged = self.judged.get(standing.row.entry.key)
        return judged.shares.get(question) if judged else None


def _is_of(column: Column, *, stressed: bool) -> bool:
    """Whether a column is of a system on a whole version of the corpus, a stressed one or the original."""
    is_whole = column.slice is None and not measure_of(column.metric).of_data
    return is_whole and (column.variant != ORIGINAL) == stressed


def floors_of(benchmark: Benchmark, view: str) -> dict[str, float]:
    """The floor of each column of combined scores in a view; a benchmark of an older version has none."""
    floors: dict[str, float] = benchmark.summary.get("floors", {}).get(view, {})
    return floors


def load_board(db: Session, benchmark: Benchmark, view: str = "", convention: str = "", by: str = "") -> Board:
    """A benchmark's leaderboard; what is not said is as the organiser wants it."""
    views, conventions = views_of_benchmark(benchmark), benchmark.summary.get("conventions", [])
    view = view or first_view(benchmark)
    if view not in views:
        raise unknown("view", view, views)
    convention = convention or conventions[0]
    if convention not in conventions:
        raise unknown("convention of the benchmark", convention, conventions)
    by = by or views[view].labels[0]
    if by not in views[view].labels:
        raise unknown("column", by, views[view].labels)
    latest = {row.system_id: row for row in _published(db, benchmark)}  # in the order of versions
    versions = {row.id: row for row in latest.values()}
    rows = rank(tuple(_entry(db, row, convention) for row in versions.values()), views[view], by)
    standings = [Standing(row, versions[row.entry.key]) for row in rows]
    judged = {number: verdict for number, verdict in judged_systems(db, benchmark).items() if number in versions}
    return Board(benchmark, views, views[view], convention, conventions, by, standings, judged)


def _published(db: Session, benchmark: Benchmark) -> Sequence[Any]:
    """Every version that anybody may see, the older first."""
    columns = (Submission.id, Submission.system_id, Submission.version, Submission.published_at)
    names = (System.name.label("system"), Team.name.label("team"))
    query = select(*columns, *names).join(System, Submission.system).join(Team, System.team)
    seen = (Submission.state == DONE, Submission.published_at.is_not(None), Submission.withdrawn_at.is_(None))
    return db.execute(query.where(System.benchmark_id == benchmark.id, *seen).order_by(Submission.version)).all()


_kept: OrderedDict[tuple[Any, ...], Entry] = OrderedDict()
"""Results that were unpacked, the latest used last; they never change."""
_keeping = threading.Lock()


def _entry(db: Session, row: Any, convention: str) -> Entry:
    """A published version under a convention; the same object each time, by which `rank` knows its tests again."""
    # With the time, since SQLite gives a deleted submission's number again.
    key = (str(db.get_bind().engine.url), row.id, row.published_at, convention)
    with _keeping:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    stored = db.get_one(StoredResult, row.id, options=[undefer(StoredResult.statistics)])
    result = unpack(stored.results, dict[str, Result])[convention]
    entry = Entry(row.id, result, unpack(stored.statistics, dict[str, Statistics])[convention])
    with _keeping:
        _kept[key] = entry
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return entry


def verdict_of(round_: JudgingRound) -> Verdict | None:
    """The verdict of a closed round."""
    return msgspec.convert(round_.verdict, Verdict) if round_.verdict else None


def judged_systems(db: Session, benchmark: Benchmark) -> dict[int, Judged]:
    """What people said of each submission that they were shown."""
    query = (
        select(JudgingRound, JudgingSubject.label, JudgingSubject.submission_id)
        .join(JudgingSubject, JudgingSubject.round_id == JudgingRound.id)
        .where(JudgingRound.benchmark_id == benchmark.id, JudgingRound.closed_at.is_not(None))
        .where(JudgingSubject.submission_id.is_not(None))
        .order_by(JudgingRound.closed_at)
    )
    judged: dict[int, Judged] = {}
    for round_, label, submission in db.execute(query):
        verdict = verdict_of(round_)
        if verdict and submission and label in verdict.variants:
            shares = verdict.variants[label]
            before = judged.get(submission, Judged({}, {}))
            judged[submission] = Judged(before.shares | shares, before.rounds | dict.fromkeys(shares, round_.id))
    return judged


def load_result(db: Session, submission: Submission, convention: str = "") -> Result | None:
    """A submission's numbers under a convention, by default the benchmark's first; None while there are none.

    Exact once they are published: then everybody sees what the team has learnt of gold.
    """
    stored = db.get(StoredResult, submission.id)
    if stored is None:
        return None
    results = unpack(stored.results, dict[str, Result])
    if convention and convention not in results:
        raise unknown("convention of the benchmark", convention, results)
    result = results[convention or next(iter(results))]
    return result if submission.published_at else coarse(result)


class Milestone(NamedTuple):
    """A version that was published: its value in the board's first column, and whether it was the best until then."""

    published: Any
    cell: Cell | None
    is_best: bool


def load_history(db: Session, board: Board) -> list[Milestone]:
    """Every published version in the order of publishing."""
    milestones: list[Milestone] = []
    best = None
    columns = board.view.behind(board.by)
    sign = measure_of(columns[0].metric).sign if columns else 1
    for row in sorted(_published(db, board.benchmark), key=lambda row: row.published_at):
        cell = _entry(db, row, board.convention).result.cell(board.view.name, board.by)
        value = sign * cell.score.value if cell and cell.score and isfinite(cell.score.value) else None
        is_best = value is not None and (best is None or value > best)
        best = value if is_best else best
        milestones.append(Milestone(row, cell, is_best))
    return milestones


def board_content(board: Board) -> dict[str, Any]:
    """A leaderboard as JSON has it."""
    return {
        "benchmark": board.benchmark.slug,
        "title": board.benchmark.title,
        "view": board.view.name,
        "convention": board.convention,
        "ordered_by": board.by,
        "columns": board.view.labels,
        "floors": board.floors,
        "systems": [
            {
                "rank": standing.row.rank,
                "system": standing.published.system,
                "team": standing.published.team,
                "version": standing.published.version,
                "published_at": standing.published.published_at.isoformat(),
                "p_above": standing.row.p if isfinite(standing.row.p) else None,
                "differs_from_above": None if not isfinite(standing.row.p) else not standing.row.tied,
                "scores": {
                    label: msgspec.to_builtins(cell.score) if cell and cell.score else None
                    for label, cell in zip(board.view.labels, standing.row.cells, strict=True)
                },
                "judged": {name: msgspec.to_builtins(board.share(standing, name)) for name in board.questions},
            }
            for standing in board.standings
        ],
    }


def board_table(board: Board) -> Table:
    """A leaderboard as CSV has it: full numbers, an interval as two of them."""
    records = []
    for standing in board.standings:
        record: dict[str, Any] = {
            "rank": standing.row.rank,
            "system": _as_text(standing.published.system),
            "team": _as_text(standing.published.team),
            "version": standing.published.version,
        }
        for label, cell in zip(board.view.labels, standing.row.cells, strict=True):
            score = cell.score if cell else None
            record |= {label: score.value if score else None}
            record |= {f"{label} low": score.low if score else None, f"{label} high": score.high if score else None}
        for name, title in board.questions.items():
            share = board.share(standing, name)
            record |= {f"judged {title}": share.value if share else None}
        records.append(record | {"p above": standing.row.p})
    return Table(("rank", "system", "team", "version"), [], board.benchmark.title, records)


def _as_text(name: str) -> str:
    """A name that a spreadsheet takes for a name, and not for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
