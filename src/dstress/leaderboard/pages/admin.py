"""For admins: people and their roles, invitations, the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Query, Request
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.leaderboard import accounts
from dstress.leaderboard.access import Admin, Db, Id, get_settings
from dstress.leaderboard.fields import FormLine
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.tables.accounts import AuditEntry, Role, User

router = APIRouter(prefix="/admin")
_PAGE = 100
_OF_PEOPLE = {"account.add", "account.roles", "account.disable", "account.enable", "password.link"}


@router.get("")
def show_people(request: Request, user: Admin, db: Db, search: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Everybody, newest first, or those whose name or address has a word in it."""
    return _people(request, db, user, search)


def _people(request: Request, db: Session, user: User, search: str = "", link: str = "") -> Response:
    asked = select(User).where(User.deleted_at.is_(None)).order_by(User.id.desc()).limit(_PAGE)
    if search:
        names, word = func.lower(User.name), search.lower()
        asked = asked.where(or_(*(column.contains(word, autoescape=True) for column in (names, User.email))))
    values: dict[str, Any] = {"people": list(db.scalars(asked)), "search": search, "link": link, "most": _PAGE}
    return render(request, "admin/people.html.j2", user, **values)


@router.post("/people/{user_id}/roles")
def set_roles(user: Admin, db: Db, user_id: Id, roles: Annotated[list[Role] | None, Form()] = None) -> Response:
    """Give a person exactly these roles."""
    person = _find(db, user_id)
    accounts.set_roles(db, person, set(roles or ()), user)
    return redirect("/admin", f"The roles of {person.name} are saved.")


@router.post("/people/{user_id}/disable")
def disable(user: Admin, db: Db, user_id: Id, disabled: Annotated[bool, Form()] = True) -> Response:
    """Shut a person out, or let them in again."""
    person = _find(db, user_id)
    if person.id == user.id:
        raise accounts.AccountError("an admin cannot shut themselves out")
    accounts.disable(db, person, user, is_disabled=disabled)
    return redirect("/admin", f"{person.name} is {'shut out' if disabled else 'let in again'}.")


@router.post("/people/{user_id}/link")
def make_link(request: Request, user: Admin, db: Db, user_id: Id) -> Response:
    """A link with which a person sets a new password, to be given to them."""
    secret = accounts.make_reset(db, _find(db, user_id), user)
    return _people(request, db, user, link=accounts.reset_link(get_settings(request), secret))


@router.post("/invitations")
def invite(
    request: Request, user: Admin, db: Db, role: Annotated[Role, Form()] = Role.MEMBER, note: FormLine = ""
) -> Response:
    """A link with which somebody signs up and gets a role."""
    secret = accounts.invite(db, user, role=role, note=note)
    return _people(request, db, user, link=accounts.invitation_link(get_settings(request), secret))


@router.get("/audit")
def show_audit(
    request: Request, user: Admin, db: Db, before: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
) -> Response:
    """Who did what, newest first."""
    asked = select(AuditEntry, User.name).outerjoin(User, User.id == AuditEntry.user_id)
    if before:
        asked = asked.where(AuditEntry.id < before)
    rows = [(entry, name) for entry, name in db.execute(asked.order_by(AuditEntry.id.desc()).limit(_PAGE))]
    older = rows[-1][0].id if len(rows) == _PAGE else 0
    return render(request, "admin/audit.html.j2", user, rows=rows, older=older, names=_names(db, rows))


def _names(db: Session, rows: Sequence[tuple[AuditEntry, str]]) -> dict[int, str]:
    """Entry -> the name of the person whose account it is about."""
    about = {entry.id: int(entry.target) for entry, _ in rows if entry.action in _OF_PEOPLE and entry.target.isdigit()}
    people = {person.id: person.name for person in db.scalars(select(User).where(User.id.in_(about.values())))}
    return {entry: people[person] for entry, person in about.items() if person in people}


def _find(db: Session, user_id: int) -> User:
    found = db.get(User, user_id)
    if found is None or found.deleted_at:
        raise HTTPException(404, "There is no such person.")
    return found
