"""One's own account: name and address, password and sessions, one's data, and the way out."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.leaderboard import accounts, limits
from dstress.leaderboard.access import Db, SignedIn
from dstress.leaderboard.fields import FormEmail, FormLine, FormSecret
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.security import cookie_name, digest
from dstress.leaderboard.tables.accounts import User, WebSession

router = APIRouter(prefix="/account")
_CHECKS = Limit(10, 900)
"""How often one's own password may be asked for: a stolen session must not guess it."""


@router.get("")
def show_account(request: Request, user: SignedIn) -> Response:
    """Name, address, roles."""
    return render(request, "account/profile.html.j2", user)


@router.post("")
def change_account(
    request: Request, user: SignedIn, db: Db, name: FormLine, email: FormEmail, password: FormSecret = ""
) -> Response:
    """A new name, or with the password a new address."""
    if email != user.email:
        _check(db, user, password)
    accounts.change_profile(db, user, name, email)
    return redirect("/account", "Saved.")


@router.get("/security")
def show_security(request: Request, user: SignedIn, db: Db) -> Response:
    """Password and sessions."""
    begun = db.scalars(select(WebSession).where(WebSession.user_id == user.id).order_by(WebSession.created_at.desc()))
    here = digest(request.cookies.get(cookie_name(request), ""))
    return render(request, "account/security.html.j2", user, sessions=list(begun), here=here)


@router.post("/password")
def change_password(request: Request, user: SignedIn, db: Db, password: FormSecret, new: FormSecret) -> Response:
    """A new password; all other sessions end."""
    _check(db, user, password)
    accounts.set_password(db, user, new, keep=request.cookies.get(cookie_name(request), ""))
    return redirect("/account/security", "The password is changed, and all other sessions are ended.")


@router.post("/sessions/end")
def end_sessions(request: Request, user: SignedIn, db: Db) -> Response:
    """End all sessions but this one."""
    accounts.end_sessions(db, user, keep=request.cookies.get(cookie_name(request), ""))
    return redirect("/account/security", "All other sessions are ended.")


@router.get("/data")
def show_data(request: Request, user: SignedIn) -> Response:
    """What is kept, and the way out."""
    return render(request, "account/data.html.j2", user)


@router.get("/export")
def export_data(user: SignedIn, db: Db) -> Response:
    """All that the database has about the person."""
    content = json.dumps(accounts.export_data(db, user), indent=2, ensure_ascii=False)
    names = {"Content-Disposition": 'attachment; filename="dstress-account.json"', "Cache-Control": "no-store"}
    return Response(content, media_type="application/json", headers=names)


@router.post("/delete")
def delete_account(request: Request, user: SignedIn, db: Db, password: FormSecret) -> Response:
    """Go for good."""
    _check(db, user, password)
    accounts.delete_account(db, user)
    response = redirect("/login", "The account is deleted.")
    response.delete_cookie(cookie_name(request))
    return response


def _check(db: Session, user: User, password: str) -> None:
    limits.count(db, f"check:{user.id}", _CHECKS)
    if not accounts.check_password(user, password):
        raise accounts.AccountError("this is not your password", fix="go back and try again")
