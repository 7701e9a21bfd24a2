"""The API for programs, under `/api/v1`, a module for each area with its `router`."""

from __future__ import annotations

from dstress.leaderboard.api import account, benchmarks, collecting, judging, submissions

ROUTERS = [
    account.router,
    benchmarks.router,
    submissions.router,
    judging.router,
    collecting.router,
]
