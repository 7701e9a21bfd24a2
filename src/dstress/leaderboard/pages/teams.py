"""Teams: who is in them, and how others come in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload
from starlette.responses import Response

from dstress.leaderboard import accounts, limits
from dstress.leaderboard.access import Db, Id, SignedIn, Visitor, get_settings
from dstress.leaderboard.fields import FormLine, FormSecret
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.tables.accounts import Membership, Team, User

router = APIRouter()
_NEW, _LINKS = Limit(20, 3600), Limit(50, 3600)


@router.get("/teams")
def show_teams(request: Request, user: SignedIn, db: Db) -> Response:
    """One's own."""
    mine = select(Membership).where(Membership.user_id == user.id).options(joinedload(Membership.team))
    return render(request, "account/teams.html.j2", user, memberships=list(db.scalars(mine)))


@router.post("/teams")
def make_team(user: SignedIn, db: Db, name: FormLine) -> Response:
    """A new one."""
    limits.count(db, f"team:{user.id}", _NEW)
    team = accounts.make_team(db, user, name)
    return redirect(f"/teams/{team.id}", "The team is there.")


@router.get("/teams/{team_id}")
def show_team(request: Request, user: SignedIn, db: Db, team_id: Id) -> Response:
    """Its members."""
    return _page(request, db, user, team_id)


@router.post("/teams/{team_id}/invite")
def invite(request: Request, user: SignedIn, db: Db, team_id: Id) -> Response:
    """A link for one more member, shown on this page and never again."""
    limits.count(db, f"invite:{user.id}", _LINKS)
    if not accounts.find_membership(db, user, team_id).is_owner:
        raise accounts.AccountError("only an owner of the team can do this")
    secret = accounts.invite(db, user, team=db.get_one(Team, team_id))
    return _page(request, db, user, team_id, accounts.invitation_link(get_settings(request), secret))


@router.post("/teams/{team_id}/remove")
def remove_member(user: SignedIn, db: Db, team_id: Id, member: Annotated[int, Form(ge=1, le=2**31 - 1)]) -> Response:
    """Leave, or take somebody out."""
    accounts.remove_member(db, user, team_id, member)
    if member == user.id:
        return redirect("/teams", "You have left the team.")
    return redirect(f"/teams/{team_id}", "The member is taken out.")


@router.get("/join")
def show_invitation(request: Request, user: Visitor, db: Db, invitation: str = "") -> Response:
    """What an invitation is for."""
    found = accounts.find_invitation(db, invitation)
    team = db.get(Team, found.team_id) if found.team_id else None
    values: dict[str, Any] = {"invitation": invitation, "role": found.role, "team": team}
    return render(request, "account/join.html.j2", user, **values)


@router.post("/join")
def accept_invitation(user: SignedIn, db: Db, invitation: FormSecret) -> Response:
    """Take it on."""
    limits.count(db, f"join:{user.id}", _LINKS)
    accounts.accept_invitation(db, user, invitation)
    return redirect("/teams", "You are in.")


def _page(request: Request, db: Session, user: User, team_id: int, link: str = "") -> Response:
    own = accounts.find_membership(db, user, team_id)
    inside = select(Membership).where(Membership.team_id == team_id).options(joinedload(Membership.user))
    members = list(db.scalars(inside.order_by(Membership.joined_at)))
    team = db.get_one(Team, team_id)
    return render(request, "account/team.html.j2", user, team=team, members=members, is_owner=own.is_owner, link=link)
