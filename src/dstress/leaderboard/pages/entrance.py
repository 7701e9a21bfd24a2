"""The way in: sign up, sign in, sign out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from dstress.leaderboard import accounts, limits
from dstress.leaderboard.access import Db, Visitor, client_address, get_settings
from dstress.leaderboard.fields import FormEmail, FormLine, FormSecret
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.rendering import own_address, redirect, render
from dstress.leaderboard.security import cookie_name, set_cookie
from dstress.leaderboard.tables.accounts import User

router = APIRouter()
_TRIES_HERE, _TRIES_ANYWHERE, _TRIES_OF_ADDRESS = Limit(10, 900), Limit(100, 3600), Limit(100, 900)
"""Wrong passwords for one account from one place, from all places, and of one place for all accounts."""
_SIGN_UPS = Limit(20, 3600)


@router.get("/login")
def show_login(request: Request, user: Visitor, next: str = "/") -> Response:
    """The form."""
    if user:
        return redirect(own_address(next))
    return render(request, "account/login.html.j2", None, next=own_address(next), email="", problem="")


@router.post("/login")
def log_in(
    request: Request, db: Db, email: FormEmail, password: FormSecret, next: Annotated[str, Form()] = "/"
) -> Response:
    """Begin a session, under a new secret: one that somebody planted before is worth nothing."""
    address = client_address(request)
    limits.count(db, f"login-from:{address}", _TRIES_OF_ADDRESS)
    limits.count(db, f"login:{email}", _TRIES_ANYWHERE)
    limits.count(db, f"login:{address}:{email}", _TRIES_HERE)
    user = accounts.log_in(db, email, password, address=address)
    if user is None:
        problem = "Address and password do not fit."
        values: dict[str, Any] = {"next": own_address(next), "email": email, "problem": problem}
        return render(request, "account/login.html.j2", None, status=403, **values)
    return _let_in(request, db, user, redirect(own_address(next)))


@router.get("/signup")
def show_sign_up(request: Request, user: Visitor, invitation: str = "") -> Response:
    """The form."""
    if user:
        return redirect("/")
    values: dict[str, Any] = {"invitation": invitation, "email": "", "name": "", "problem": ""}
    return render(request, "account/signup.html.j2", None, **values)


@router.post("/signup")
def sign_up(
    request: Request, db: Db, email: FormEmail, name: FormLine, password: FormSecret, invitation: FormSecret = ""
) -> Response:
    """Make an account and begin a session."""
    limits.count(db, f"signup:{client_address(request)}", _SIGN_UPS)
    try:
        user = accounts.sign_up(db, get_settings(request), email, name, password, invitation)
    except accounts.AccountError as error:
        db.rollback()
        values = {"invitation": invitation, "email": email, "name": name, "problem": str(error)}
        return render(request, "account/signup.html.j2", None, status=400, **values)
    return _let_in(request, db, user, redirect("/", f"Welcome, {user.name}."))


def _let_in(request: Request, db: Db, user: User, response: Response) -> Response:
    accounts.end_session(db, request.cookies.get(cookie_name(request), ""))
    agent, days = request.headers.get("user-agent", ""), get_settings(request).session_days
    set_cookie(
        response,
        request,
        accounts.begin_session(db, user, days, agent=agent, address=client_address(request)),
    )
    return response


@router.post("/logout")
def log_out(request: Request, db: Db, user: Visitor) -> Response:
    """End the session of this browser."""
    accounts.end_session(db, request.cookies.get(cookie_name(request), ""))
    response = redirect("/", "You are signed out.")
    response.delete_cookie(cookie_name(request))
    return response
