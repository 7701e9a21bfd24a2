"""What every request passes: cookies, tokens against forged forms, headers for the browser, limits on bodies."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response

LARGEST_FORM, _BODY_SECONDS = 1_000_000, 600
"""Bytes of a body that is no file, and seconds in which any body must have come."""
_GRACE, _PACE = 30, 200_000
"""While others wait for a place: seconds that a file has, and bytes of it that must come in each further one."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""No script and no style but from our own files, so that a script in a name would not run even if it got through."""


def new_secret() -> str:
    """A secret that nobody guesses, for a cookie, a link or a token."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret. It is random and long, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def cookie_name(request: Request) -> str:
    """The session cookie's name; with https its prefix keeps other hosts of the domain from setting it."""
    return "__Host-dstress" if request.app.state.settings.is_https else "dstress"


def set_cookie(response: Response, request: Request, secret: str) -> None:
    """Give the browser its secret, out of reach of scripts and of other sites' forms."""
    settings = request.app.state.settings
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=settings.session_days * 24 * 3600,
        httponly=True,
        samesite="lax",
        secure=settings.is_https,
    )


def browser_secret(request: Request) -> str:
    """The secret of the browser; one that has none yet gets one with the page that is being made."""
    secret = request.cookies.get(cookie_name(request), "")
    if not secret:
        secret = request.scope.setdefault("state", {}).setdefault("new_cookie", new_secret())
    return str(secret)


def csrf_token(request: Request) -> str:
    """What a form carries: only a page that we made for this browser knows it."""
    return hmac.new(browser_secret(request).encode(), b"csrf", hashlib.sha256).hexdigest()


async def check_csrf(request: Request) -> None:
    """Refuse a form that another site sent. Held for every page; the API takes tokens and no cookies."""
    if request.method in SAFE_METHODS:
        return
    origin = request.headers.get("origin")
    if origin and origin != "null" and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "this form was sent by another site")
    token = request.headers.get("x-csrf-token", "")
    if not token:
        token = str((await request.form()).get("csrf", ""))
    if not hmac.compare_digest(token.encode("utf-8", "replace"), csrf_token(request).encode()):
        raise HTTPException(403, "this form is too old; go back, load the page again and send it once more")


class Guard:
    """Around the whole server: headers on every answer, no large body but a file's, no zero byte in an address.

    `uploads.admit` says whether a request may bring a file, before any of it is read, and holds its place until the
    answer. Whoever sends slowly loses the place once others wait for it.
    """

    def __init__(self, app: Any, max_file: int, https: bool, uploads: Any) -> None:
        self.app, self.max_file, self.uploads = app, max_file, uploads
        self.headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stated = dict(scope["headers"]).get(b"content-length", b"0" if scope["method"] in SAFE_METHODS else b"")
        read, most, begun, is_file, is_whole = 0, min(LARGEST_FORM, self.max_file), 0.0, False, False
        clock = asyncio.get_running_loop().time

        async def limited() -> Any:
            nonlocal read, most, begun, is_file, is_whole
            if not begun:  # only now, since an error in here becomes an answer
                if not stated or int(stated) > most:
                    is_file = await held.enter_async_context(self.uploads.admit(scope))
                most, begun = self.max_file if is_file else most, clock()
                if int(stated or 0) > most:
                    raise HTTPException(413, f"a request may have {most:,} bytes")
            message = None
            while message is None:
                if is_file and not is_whole and self.uploads.are_wanted and clock() > begun + _GRACE + read / _PACE:
                    raise HTTPException(408, "others wait to send a file, and yours comes too slowly; try again later")
                try:
                    async with asyncio.timeout_at(None if is_whole else min(begun + _BODY_SECONDS, clock() + 1)):
                        message = await receive()
                except TimeoutError:
                    if clock() > begun + _BODY_SECONDS:
                        raise HTTPException(408, f"a request may take {_BODY_SECONDS} seconds") from None
            read, is_whole = read + len(message.get("body", b"")), not message.get("more_body")
            if read > most:
                raise HTTPException(413, f"a request may have {most:,} bytes")
            return message

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            await PlainTextResponse("no address has a zero byte", 400)(scope, receive, with_headers)
        elif (stated and not stated.isdigit()) or len(stated) > 20:
            await PlainTextResponse("no body is so long", 413)(scope, receive, with_headers)
        else:
            async with AsyncExitStack() as held:
                await self.app(scope, limited, with_headers)
