"""The pages, a module for each area with its `router`. Every form is held to its token (`check_csrf`)."""

from __future__ import annotations

from dstress.leaderboard.pages import account, entrance

ROUTERS = [
    entrance.router,
    account.router,
]
