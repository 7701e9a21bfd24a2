"""From a template to a page: what every page knows, and one notice carried over a redirect."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dstress.leaderboard.security import csrf_token, set_cookie
from dstress.leaderboard.tables.accounts import Role, User

STATIC = Path(__file__).with_name("static")
_NOTICE = "dstress_notice"


@cache
def templates() -> Environment:
    """The templates. Everything is escaped, and a name that is not given is an error."""
    found = Environment(
        loader=PackageLoader("dstress.leaderboard"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.globals.update(static=static_address, Role=Role)
    found.filters["browser"] = browser_name
    return found


@cache
def static_address(name: str) -> str:
    """A static file's address, which changes with its content, so that browsers may keep it for ever."""
    return f"/static/{name}?{sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


def render(request: Request, template: str, user: User | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page. The template finds `user`, `csrf`, `path`, `notice` and `site` beside the values."""
    known = {
        "user": user,
        "csrf": csrf_token(request),
        "path": request.url.path,
        "notice": unquote(request.cookies.get(_NOTICE, "")),
        "settings": request.app.state.settings,
    }
    page = HTMLResponse(templates().get_template(template).render(known | values), status)
    page.headers["Cache-Control"] = "no-store" if user else "no-cache"
    page.headers["Vary"] = "Cookie"
    if known["notice"]:
        page.delete_cookie(_NOTICE)
    if secret := request.scope.get("state", {}).get("new_cookie"):
        set_cookie(page, request, secret)
    return page


def browser_name(agent: str) -> str:
    """What a person calls their browser, from what it calls itself."""
    names = ("Firefox", "Edg", "OPR", "Chrome", "Safari")
    systems = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux")
    name = next((name for name in names if name in agent), "")
    system = next((system for system in systems if system in agent), "")
    name = {"Edg": "Edge", "OPR": "Opera"}.get(name, name)
    return " on ".join(part for part in (name, system) if part) or agent or "unknown"


def redirect(address: str, notice: str = "") -> Response:
    """Send the browser on after a form, with a notice for the next page."""
    response = RedirectResponse(address, 303)
    if notice:
        response.set_cookie(_NOTICE, quote(notice[:300]), max_age=60, httponly=True, samesite="lax")
    return response


def own_address(address: str) -> str:
    """An address on this server to go on to; another site's becomes the first page."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and "\\" not in address
    return address if plain and address.isprintable() else "/"
