"""From a template to a page: what every page knows, and one notice carried over a redirect."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fastapi import Request
from jinja2 import Environment
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dstress.leaderboard.tables import Role, User
from dstress.leaderboard.web.security import csrf_token, set_cookie
from dstress.reports import rendering
from dstress.reports.numbers import PAGE
from dstress.runs.folder import Cell
from dstress.scoring.metrics.measures import measure_of

STATIC = Path(__file__).parents[1] / "static"
_NOTICE = "dstress_notice"


@cache
def templates() -> Environment:
    """The platform's templates, with what every page uses."""
    environment = rendering.templates("dstress.leaderboard", "templates")
    environment.globals |= {
        "static": static_address,
        "Role": Role,
        "PAGE": PAGE,
        "show_value": show_value,
        "show_interval": show_interval,
        "show_change": show_change,
    }
    environment.filters["browser"] = browser_name
    return environment


@cache
def static_address(name: str) -> str:
    """A static file's address, which changes with its content, so that browsers may keep it for ever."""
    return f"/static/{name}?{sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


def render(request: Request, template: str, user: User | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page. The template finds `user`, `path`, `notice`, `settings` and a form's `csrf` field beside the values."""
    shared = {
        "user": user,
        "csrf": Markup('<input type="hidden" name="csrf" value="{}">').format(csrf_token(request)),
        "path": request.url.path,
        "notice": unquote(request.cookies.get(_NOTICE, "")),
        "settings": request.app.state.settings,
    }
    page = HTMLResponse(templates().get_template(template).render(shared | values), status)
    page.headers["Cache-Control"] = "no-store" if user else "no-cache"
    page.headers["Vary"] = "Cookie"
    if shared["notice"]:
        page.delete_cookie(_NOTICE)
    if secret := request.scope.get("state", {}).get("new_cookie"):
        set_cookie(page, request, secret)
    return page


@cache
def _unit(metric: str) -> str:
    """A board asks for it once a cell, and a server's metrics do not change."""
    return measure_of(metric).unit


def show_value(cell: Cell | None) -> str:
    """A cell's number in its unit, without the unit."""
    if cell is None or cell.score is None:
        return PAGE.unknown
    return PAGE.measured(cell.score.value, _unit(cell.metric))


def show_interval(cell: Cell | None) -> str:
    """Where a cell's number lies."""
    if cell is None or cell.score is None:
        return ""
    return PAGE.measured_interval(cell.score.low, cell.score.high, _unit(cell.metric))


def show_change(cell: Cell | None, original: Cell | None) -> str:
    """How far a cell's number is from that on the original, in its unit; nothing where one of them is not known."""
    if not (cell and cell.score and original and original.score):
        return ""
    shown = PAGE.measured_change(cell.score.value - original.score.value, measure_of(cell.metric).unit)
    return "" if shown == PAGE.unknown else shown


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
