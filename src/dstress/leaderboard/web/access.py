"""Who asks, and whether they may: what a route takes as parameters. A route that takes none of these fails the tests.

    Visitor     anybody; the person, or None        SignedIn    a person who is signed in
    Organiser, Judge, Worker, Admin                 a person with that role (an admin has all)
    Db          the session of this request: commits before the answer is sent, rolls back on any error
    Stored      the server's files

Pages know a person by the session's cookie, the API (`/api/`) by a token, `Authorization: Bearer ...`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Annotated, Any, cast
from weakref import WeakKeyDictionary

from fastapi import Depends, HTTPException, Path, Request
from sqlalchemy import select, update
from sqlalchemy.orm import Session, joinedload
from starlette.concurrency import run_in_threadpool
from starlette.routing import compile_path

from dstress.leaderboard.database import Database
from dstress.leaderboard.files import Files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import Role, Token, User, WebSession, now
from dstress.leaderboard.web.security import SAFE_METHODS, cookie_name, digest

_SEEN_EVERY = timedelta(minutes=10)
"""How exactly it is known when a session or a token was last used; a write at every reading would cost too much."""

_UPLOADS_AT_ONCE = 8
"""In a process: each may lie on the disk whole before it is read."""


class SignInNeeded(Exception):
    """A page is asked for that needs to know who asks."""


def get_database(request: Request) -> Database:
    """The server's database, for what needs a transaction of its own."""
    return cast(Database, request.app.state.database)


def get_settings(request: Request) -> Settings:
    """The server's settings."""
    return cast(Settings, request.app.state.settings)


def get_files(request: Request) -> Files:
    """The server's files."""
    return cast(Files, request.app.state.files)


def get_session(request: Request) -> Iterator[Session]:
    """The request's session."""
    with get_database(request).session(write=request.method not in SAFE_METHODS) as session:
        yield session


Db = Annotated[Session, Depends(get_session, scope="function")]
Stored = Annotated[Files, Depends(get_files)]
Id = Annotated[int, Path(ge=1, le=2**31 - 1)]
"""A row's number in an address."""


class Places:
    """So many at once in a process; the others wait, where they hold no thread that a reader needs."""

    def __init__(self, number: int) -> None:
        self.number, self.waiting = number, 0
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def __call__(self) -> AsyncIterator[None]:
        """Hold a place."""
        places = self._by_loop.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.number))
        self.waiting += 1
        try:
            await places.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            places.release()


UPLOAD_SLOT = Depends(Places(2), scope="function")
"""For `dependencies=[...]` of a route that reads an upload: that takes all of a core, and pages must be answered."""


def client_address(request: Request) -> str:
    """Where a request comes from; a server that listens on IPv6 sees IPv4 clients as `::ffff:1.2.3.4`."""
    return request.client.host.removeprefix("::ffff:") if request.client else ""


def is_api(request: Request) -> bool:
    """Whether a program asks."""
    return request.url.path.startswith("/api/")


def current_user(request: Request, db: Db) -> User | None:
    """The person who asks; None if nobody is signed in."""
    key = _find_key(request, db)
    db.commit()  # the route's own transaction begins with its first statement: slow work before it blocks nobody
    user = key.user if key and not key.user.deleted_at and not key.user.disabled_at else None
    request.state.user = user.id if user else None
    if key and user and (key.seen_at is None or now() - key.seen_at > _SEEN_EVERY):
        with get_database(request).session() as own:
            own.execute(update(type(key)).where(type(key).id == key.id).values(seen_at=now()))
    return user


def _find_key(request: Request, db: Session) -> WebSession | Token | None:
    """What lets a request in: for the API a token that still holds, for a page a session that does."""
    kind: Any = WebSession
    secret = request.cookies.get(cookie_name(request), "")
    if is_api(request):
        kind = Token
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        secret = secret.strip() if scheme.lower() == "bearer" else ""
    if not secret:
        return None
    query = select(kind).where(kind.digest == digest(secret)).options(joinedload(kind.user))
    key: WebSession | Token | None = db.scalar(query)
    if key is None or (key.expires_at and key.expires_at < now()) or (isinstance(key, Token) and key.revoked_at):
        return None
    return key


Visitor = Annotated[User | None, Depends(current_user)]


class Require:
    """A dependency that lets a person with a role pass; without one, everybody who is signed in."""

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


SignedIn = Annotated[User, Depends(Require())]
Organiser = Annotated[User, Depends(Require(Role.ORGANISER))]
Judge = Annotated[User, Depends(Require(Role.JUDGE))]
Worker = Annotated[User, Depends(Require(Role.WORKER))]
Admin = Annotated[User, Depends(Require(Role.ADMIN))]


class Uploads:
    """Who may send a file, and how many are on their way at once: asked before anything of a body is read."""

    def __init__(self, roles: Mapping[str, Role]) -> None:
        self.roles = [(compile_path(path)[0], role) for path, role in roles.items()]
        self._places, self._sending = Places(_UPLOADS_AT_ONCE), Counter[int]()

    @property
    def are_wanted(self) -> bool:
        """Whether somebody waits for a place."""
        return self._places.waiting > 0

    @asynccontextmanager
    async def admit(self, scope: Any) -> AsyncIterator[bool]:
        """Let a request bring a file; False where it is for a route that takes none."""
        role = next((role for path, role in self.roles if path.match(scope["path"])), None)
        if role is None or scope["method"] != "POST":
            yield False
            return
        user = await run_in_threadpool(self._find_sender, Request(scope), role)
        if self._sending[user]:
            raise HTTPException(429, "another file of yours is on its way; send one after the other")
        self._sending[user] += 1
        try:
            async with asynccontextmanager(self._places)():
                yield True
        finally:
            del self._sending[user]

    def _find_sender(self, request: Request, role: Role) -> int:
        with get_database(request).session(write=False) as db:
            user = current_user(request, db)
        if user is None:
            raise HTTPException(401, "sign in before you send a file", headers={"WWW-Authenticate": "Bearer"})
        return Require(role)(request, user).id
