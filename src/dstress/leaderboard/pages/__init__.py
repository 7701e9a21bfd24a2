"""The pages, a module for each area with its `router`. Every form is held to its token (`check_csrf`)."""

from __future__ import annotations

from dstress.leaderboard.pages import (
    account,
    admin,
    benchmarks,
    collecting,
    entrance,
    health,
    judging,
    passwords,
    submissions,
    systems,
    teams,
    tokens,
)

ROUTERS = [
    health.router,
    entrance.router,
    passwords.router,
    account.router,
    tokens.router,
    teams.router,
    admin.router,
    benchmarks.router,
    submissions.router,
    systems.router,
    judging.router,
    collecting.router,
]
