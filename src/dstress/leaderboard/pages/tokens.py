"""Personal tokens, for `dstress submit` and other programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from dstress.leaderboard import accounts, limits
from dstress.leaderboard.access import Db, Id, SignedIn
from dstress.leaderboard.fields import FormLine
from dstress.leaderboard.limits import Limit
from dstress.leaderboard.rendering import redirect, render
from dstress.leaderboard.tables.accounts import Token, User
from dstress.leaderboard.tables.base import now

router = APIRouter(prefix="/account/tokens")
_NEW = Limit(30, 3600)


@router.get("")
def show_tokens(request: Request, user: SignedIn, db: Db) -> Response:
    """Those that there are."""
    return _page(request, db, user)


@router.post("")
def make_token(
    request: Request, user: SignedIn, db: Db, name: FormLine, days: Annotated[int, Form(ge=1, le=3650)] = 365
) -> Response:
    """A new one, shown on this page and never again."""
    limits.count(db, f"token:{user.id}", _NEW)
    secret = accounts.make_token(db, user, name or "token", days)
    db.flush()
    return _page(request, db, user, secret)


@router.post("/{token_id}/revoke")
def revoke_token(user: SignedIn, db: Db, token_id: Id) -> Response:
    """End one."""
    accounts.revoke_token(db, user, token_id)
    return redirect("/account/tokens", "The token is revoked.")


def _page(request: Request, db: Session, user: User, secret: str = "") -> Response:
    kept = select(Token).where(Token.user_id == user.id, Token.revoked_at.is_(None)).order_by(Token.id.desc())
    return render(request, "account/tokens.html.j2", user, tokens=list(db.scalars(kept)), secret=secret, now=now())
