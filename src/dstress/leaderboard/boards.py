"""Leaderboards out of the database: the newest published version of each system, in order; and how it came to that."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from dstress.analysis.human_check.questions import questions
from dstress.analysis.human_check.verdict import Share
from dstress.errors import unknown
from dstress.leaderboard.benchmark_store import first_view, views_of_benchmark
from dstress.leaderboard.benchmarks.board import Entry, Row, rank
from dstress.leaderboard.benchmarks.results import Result, View, unpack_results, unpack_statistics
from dstress.leaderboard.tables.accounts import Team
from dstress.leaderboard.tables.benchmarks import DONE, Benchmark, StoredResult, Submission, System
from dstress.leaderboard.verdicts import Judged, judged_systems
from dstress.metrics.measures import measure_of
from dstress.reports.tables import Table
from dstress.runs.folder import Cell

_KEPT_BOARDS = 200


class Standing(NamedTuple):
    """A system's place on a board."""

    row: Row
    system_id: int
    system: str
    team: str
    version: int
    published_at: datetime


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
        asked = {name for judged in self.judged.values() for name in judged.shares}
        return {name: one.title for name, one in questions("systems").items() if name in asked}

    def share(self, standing: Standing, question: str) -> Share | None:
        """What people said of a system; None where nobody was asked."""
        judged = self.judged.get(standing.row.entry.key)
        return judged.shares.get(question) if judged else None


class _Kept:
    """What was made of rows that never change, the latest used: results are unpacked and tested once in a process."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Any, made: Any) -> None:
        with self._lock:
            self._found[key] = made
            while len(self._found) > _KEPT_BOARDS:
                self._found.popitem(last=False)


_entries, _rankings = _Kept(), _Kept()


def load_board(db: Session, benchmark: Benchmark, view: str = "", convention: str = "", by: str = "") -> Board:
    """A benchmark's leaderboard; what is not said is as the organiser wants it."""
    views, conventions = views_of_benchmark(benchmark), benchmark.summary.get("conventions", [])
    shown = view or first_view(benchmark)
    if shown not in views:
        raise unknown("view", shown, views)
    chosen = convention or conventions[0]
    if chosen not in conventions:
        raise unknown("convention of the benchmark", chosen, conventions)
    by = by or views[shown].labels[0]
    if by not in views[shown].labels:
        raise unknown("column", by, views[shown].labels)
    latest = {row.system_id: row for row in _published(db, benchmark)}  # in the order of versions
    names = {row.id: row for row in latest.values()}
    realm = str(db.get_bind().engine.url)
    key = (realm, benchmark.id, tuple((row.id, row.published_at) for row in names.values()), shown, chosen, by)
    rows: list[Row] | None = _rankings.get(key)
    if rows is None:
        rows = rank([_entry(db, realm, row, chosen) for row in names.values()], views[shown], by)
        _rankings.put(key, rows)
    standings = [
        Standing(row, found.system_id, found.system, found.team, found.version, found.published_at)
        for row in rows
        for found in [names[row.entry.key]]
    ]
    judged = judged_systems(db, benchmark)
    kept = {one.row.entry.key: judged[one.row.entry.key] for one in standings if one.row.entry.key in judged}
    return Board(benchmark, views, views[shown], chosen, conventions, by, standings, kept)


def _published(db: Session, benchmark: Benchmark) -> Sequence[Any]:
    """Every version that anybody may see, the older first."""
    columns = (Submission.id, Submission.system_id, Submission.version, Submission.published_at)
    names = (System.name.label("system"), Team.name.label("team"))
    query = select(*columns, *names).join(System, Submission.system).join(Team, System.team)
    seen = (Submission.state == DONE, Submission.published_at.is_not(None), Submission.withdrawn_at.is_(None))
    return db.execute(query.where(System.benchmark_id == benchmark.id, *seen).order_by(Submission.version)).all()


def _entry(db: Session, realm: str, row: Any, convention: str) -> Entry:
    key = (realm, row.id, row.published_at, convention)  # SQLite gives a deleted submission's number again
    found: Entry | None = _entries.get(key)
    if found is None:
        stored = db.get_one(StoredResult, row.id, options=[undefer(StoredResult.statistics)])
        result, statistics = unpack_results(stored.results), unpack_statistics(stored.statistics)
        found = Entry(row.id, result[convention], statistics[convention])
        _entries.put(key, found)
    return found


def load_result(db: Session, submission: Submission, convention: str = "") -> Result | None:
    """A submission's numbers under a convention, by default the benchmark's first; None while there are none."""
    stored = db.get(StoredResult, submission.id)
    if stored is None:
        return None
    results = unpack_results(stored.results)
    if convention and convention not in results:
        raise unknown("convention of the benchmark", convention, results)
    return results[convention or next(iter(results))]


class Milestone(NamedTuple):
    """A version that was published: its value in the board's first column, and whether it was the best until then."""

    standing: Any
    cell: Cell | None
    is_best: bool


def load_history(db: Session, board: Board) -> list[Milestone]:
    """Every published version in the order of publishing."""
    realm, milestones, best = str(db.get_bind().engine.url), [], None
    sign = measure_of(board.view.behind(board.by)[0].metric).sign if board.view.behind(board.by) else 1
    for row in sorted(_published(db, board.benchmark), key=lambda row: row.published_at):
        cell = _entry(db, realm, row, board.convention).result.cell(board.view.name, board.by)
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
        "systems": [
            {
                "rank": one.row.rank,
                "system": one.system,
                "team": one.team,
                "version": one.version,
                "published_at": one.published_at.isoformat(),
                "p_above": one.row.p if isfinite(one.row.p) else None,
                "differs_from_above": None if not isfinite(one.row.p) else not one.row.tied,
                "scores": {
                    label: msgspec.to_builtins(cell.score) if cell and cell.score else None
                    for label, cell in zip(board.view.labels, one.row.cells, strict=True)
                },
                "judged": {name: msgspec.to_builtins(board.share(one, name)) for name in board.questions},
            }
            for one in board.standings
        ],
    }


def board_table(board: Board) -> Table:
    """A leaderboard as CSV has it: full numbers, an interval as two of them."""
    records = []
    for one in board.standings:
        record: dict[str, Any] = {
            "rank": one.row.rank,
            "system": _as_text(one.system),
            "team": _as_text(one.team),
            "version": one.version,
        }
        for label, cell in zip(board.view.labels, one.row.cells, strict=True):
            score = cell.score if cell else None
            record |= {label: score.value if score else None}
            record |= {f"{label} low": score.low if score else None, f"{label} high": score.high if score else None}
        for name, title in board.questions.items():
            share = board.share(one, name)
            record |= {f"judged {title}": share.value if share else None}
        records.append(record | {"p above": one.row.p})
    return Table(("rank", "system", "team", "version"), [], board.benchmark.title, records)


def _as_text(name: str) -> str:
    """A name that a spreadsheet takes for a name, and not for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
