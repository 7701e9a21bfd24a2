"""A new password for one who forgot theirs: by mail, or by a link that an admin makes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.responses import Response

from dstress.leaderboard import accounts, limits, mail
from dstress.leaderboard.access import Db, Visitor, client_address, get_settings
from dstress.leaderboard.fields import FormEmail, FormSecret
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.rendering import redirect, render

router = APIRouter(prefix="/password")
_MAILS, _TRIES = Limit(5, 3600), Limit(30, 3600)
_TEXT = """Somebody, probably you, asked for a new password at {site}.

This link is good for an hour, and once:

{link}

If it was not you, there is nothing to do.
"""


@router.get("/forgotten")
def show_forgotten(request: Request, user: Visitor) -> Response:
    """The form."""
    return render(request, "account/forgotten.html.j2", user)


@router.post("/forgotten")
def send_link(request: Request, db: Db, email: FormEmail) -> Response:
    """Send a link. The answer is the same whether there is such an account or not."""
    settings = get_settings(request)
    if not settings.smtp:
        raise accounts.AccountError("this server sends no mail", fix="ask an admin for a link to set a new password")
    limits.count(db, f"forgotten:{client_address(request)}", _TRIES)
    limits.count(db, f"forgotten:{email}", _MAILS)
    response = redirect("/login", f"If {email} has an account, a mail with a link is on its way.")
    user = accounts.find_user(db, email)
    if user and not user.disabled_at:
        text = _TEXT.format(site=settings.url, link=accounts.reset_link(settings, accounts.make_reset(db, user)))
        response.background = BackgroundTask(mail.send, settings, email, "A new password for dstress", text)
    return response


@router.get("/new")
def show_new(request: Request, db: Db, link: str = "") -> Response:
    """The form behind a link."""
    accounts.find_reset(db, link)
    return render(request, "account/new_password.html.j2", None, link=link)


@router.post("/new")
def set_new(request: Request, db: Db, link: FormSecret, password: FormSecret) -> Response:
    """Set it; all sessions end."""
    limits.count(db, f"new-password:{client_address(request)}", _TRIES)
    accounts.reset_password(db, link, password)
    return redirect("/login", "The new password is set. Sign in with it.")
