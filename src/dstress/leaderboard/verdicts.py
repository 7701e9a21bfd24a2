"""What people have said of the systems on a benchmark, for its leaderboard."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from dstress.analysis.human_check.verdict import Share, Verdict
from dstress.leaderboard.tables.benchmarks import Benchmark
from dstress.leaderboard.tables.judging import JudgingRound, JudgingSubject


class Judged(NamedTuple):
    """A submission in the last closed round that judged it: the share of its items for which most judges said yes."""

    round: int
    judges: int
    shares: dict[str, Share]


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
    found: dict[int, Judged] = {}
    for round_, label, submission in db.execute(query):
        verdict = verdict_of(round_)
        if verdict and submission and label in verdict.variants:
            found[submission] = Judged(round_.id, len(verdict.judges), verdict.variants[label])
    return found
