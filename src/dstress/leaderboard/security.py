"""What every request passes: cookies, tokens against forged forms, headers for the browser, a limit on size."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response

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
    known = request.cookies.get(cookie_name(request), "")
    if not known:
        known = request.scope.setdefault("state", {}).setdefault("new_cookie", new_secret())
    return str(known)


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
    given = request.headers.get("x-csrf-token", "")
    if not given:
        given = str((await request.form()).get("csrf", ""))
    if not hmac.compare_digest(given.encode("utf-8", "replace"), csrf_token(request).encode()):
        raise HTTPException(403, "this form is too old; go back, load the page again and send it once more")


class Guard:
    """Around the whole server: headers on every answer, no body over the limit, no zero byte in an address."""

    def __init__(self, app: Any, max_body: int, https: bool) -> None:
        self.app, self.max_body = app, max_body
        self.headers = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        read = 0

        async def limited() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.max_body:
                raise HTTPException(413, f"a request may have {self.max_body:,} bytes")
            return message

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        if refusal := self._refusal(scope):
            await refusal(scope, receive, with_headers)
        else:
            await self.app(scope, limited, with_headers)

    def _refusal(self, scope: Any) -> Response | None:
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return PlainTextResponse("no address has a zero byte", 400)
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if not stated.isdigit() or int(stated[:20]) > self.max_body:
            return PlainTextResponse(f"a request may have {self.max_body:,} bytes", 413)
        return None
