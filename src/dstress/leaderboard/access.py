"""Who asks, and whether they may: what a route takes as parameters. A route that takes none of these fails the tests.

    Visitor     anybody; the person, or None        SignedIn    a person who is signed in
    Organiser, Judge, Worker, Admin                 a person with that role (an admin has all)
    Db          the session of this request: commits before the answer is sent, rolls back on any error

Pages know a person by the session's cookie, the API (`/api/`) by a token, `Authorization: Bearer ...`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import Depends, HTTPException, Path, Request
from sqlalchemy import select, update
from sqlalchemy.orm import Session, joinedload

from dstress.leaderboard.database import Database
from dstress.leaderboard.files import Files
from dstress.leaderboard.security import SAFE_METHODS, cookie_name, digest
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables.accounts import Role, Token, User, WebSession
from dstress.leaderboard.tables.base import now

_SEEN_EVERY = timedelta(minutes=10)
"""How exactly it is known when a session or a token was last used; a write at every reading would cost too much."""


_UPLOADS_AT_ONCE = 2
"""In a process: reading one takes all of a core, and while fifty are read no page is answered."""
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class SignInNeeded(Exception):
    """A page is asked for that needs to know who asks."""


def get_database(request: Request) -> Database:
    """The server's database, for what needs a transaction of its own."""
    found = request.app.state.database
    if not isinstance(found, Database):
        raise TypeError("the app has no database")
    return found


def get_settings(request: Request) -> Settings:
    """The server's settings."""
    found = request.app.state.settings
    if not isinstance(found, Settings):
        raise TypeError("the app has no settings")
    return found


def get_files(request: Request) -> Files:
    """The server's files."""
    found = request.app.state.files
    if not isinstance(found, Files):
        raise TypeError("the app has no files")
    return found


def get_session(request: Request) -> Iterator[Session]:
    """The request's session."""
    with get_database(request).session(write=request.method not in SAFE_METHODS) as session:
        yield session


Db = Annotated[Session, Depends(get_session, scope="function")]
Id = Annotated[int, Path(ge=1, le=2**31 - 1)]
"""A row's number in an address."""


async def hold_upload_slot() -> AsyncIterator[None]:
    """Let few uploads be read at once; the others wait here, where they hold no thread that a reader needs."""
    slots = _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_UPLOADS_AT_ONCE))
    async with slots:
        yield


UPLOAD_SLOT = Depends(hold_upload_slot, scope="function")
"""For `dependencies=[...]` of a route that reads an upload."""


def current_user(request: Request, db: Db) -> User | None:
    """The person who asks; None if nobody is signed in."""
    key = _find_token(request, db) if is_api(request) else _find_web_session(request, db)
    db.commit()  # the route's own transaction begins with its first statement: slow work before it blocks nobody
    user = key.user if key and not key.user.deleted_at and not key.user.disabled_at else None
    request.state.user = user.id if user else None
    if key and user and (key.seen_at is None or now() - key.seen_at > _SEEN_EVERY):
        with get_database(request).session() as own:
            own.execute(update(type(key)).where(type(key).id == key.id).values(seen_at=now()))
    return user


def client_address(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client else ""


def is_api(request: Request) -> bool:
    """Whether a program asks."""
    return request.url.path.startswith("/api/")


def _find_web_session(request: Request, db: Session) -> WebSession | None:
    secret = request.cookies.get(cookie_name(request), "")
    if not secret:
        return None
    asked = select(WebSession).where(WebSession.digest == digest(secret)).options(joinedload(WebSession.user))
    found = db.scalar(asked)
    return found if found and found.expires_at > now() else None


def _find_token(request: Request, db: Session) -> Token | None:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret:
        return None
    found = db.scalar(select(Token).where(Token.digest == digest(secret.strip())).options(joinedload(Token.user)))
    if not found or found.revoked_at or (found.expires_at and found.expires_at < now()):
        return None
    return found


class Require:
    """Lets a person with a role pass; without one, everybody who is signed in."""

    def __init__(self, role: Role = Role.MEMBER) -> None:
        self.role = role

    def __call__(self, request: Request, user: Visitor) -> User:
        """The person; or a way to the log-in page, or a refusal."""
        if user is None:
            if is_api(request):
                raise HTTPException(401, "a valid token is needed", headers={"WWW-Authenticate": "Bearer"})
            raise SignInNeeded
        if not user.has(self.role):
            raise HTTPException(403, f"this needs the role {self.role}")
        return user


def require(role: Role = Role.MEMBER) -> Require:
    """A dependency that lets a role pass."""
    return Require(role)


Visitor = Annotated[User | None, Depends(current_user)]
SignedIn = Annotated[User, Depends(require())]
Organiser = Annotated[User, Depends(require(Role.ORGANISER))]
Judge = Annotated[User, Depends(require(Role.JUDGE))]
Worker = Annotated[User, Depends(require(Role.WORKER))]
Admin = Annotated[User, Depends(require(Role.ADMIN))]
