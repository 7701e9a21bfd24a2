"""One's own account."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from dstress.leaderboard.access import Db, SignedIn
from dstress.leaderboard.accounts import teams_of
from dstress.leaderboard.rendering import render

router = APIRouter(prefix="/account")


@router.get("")
def show_account(request: Request, user: SignedIn, db: Db) -> Response:
    """The overview."""
    return render(request, "account/account.html.j2", user, teams=teams_of(db, user))
