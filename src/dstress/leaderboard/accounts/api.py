"""Who a token is."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from dstress.leaderboard.accounts.service import teams_of
from dstress.leaderboard.web.access import Db, SignedIn

router = APIRouter(prefix="/account", tags=["account"])


class Account(BaseModel):
    """The person behind a token."""

    name: str
    roles: list[str]
    teams: list[str]
    """The teams' slugs, which `dstress submit --team` takes."""


@router.get("")
def show_account(user: SignedIn, db: Db) -> Account:
    """The person behind the token, to see whether it works."""
    return Account(name=user.name, roles=sorted(user.roles), teams=[team.slug for team in teams_of(db, user)])
