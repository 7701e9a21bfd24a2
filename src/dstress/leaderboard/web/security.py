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

    `admit` says whether a request may bring a file, before any of it is read, and holds its place until the answer.
    """

    def __init__(self, app: Any, max_file: int, https: bool, admit: Callable[[Any], Any]) -> None:
        self.app, self.max_file, self.admit = app, max_file, admit
        self.headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stated = dict(scope["headers"]).get(b"content-length", b"0" if scope["method"] in SAFE_METHODS else b"")
        read, most, end, is_whole = 0, min(LARGEST_FORM, self.max_file), 0.0, False

        async def limited() -> Any:
            nonlocal read, most, end, is_whole
            if not end:  # only now, since an error in here becomes an answer
                end = asyncio.get_running_loop().time() + _BODY_SECONDS
                if (not stated or int(stated) > most) and await held.enter_async_context(self.admit(scope)):
                    most = self.max_file
                if int(stated or 0) > most:
                    raise HTTPException(413, f"a request may have {most:,} bytes")
            try:
                async with asyncio.timeout_at(None if is_whole else end):
                    message = await receive()
            except TimeoutError:
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
