"""The server: one app made of settings, a database, pages and the API."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from dstress._version import __version__
from dstress.errors import DstressError
from dstress.leaderboard import api, pages
from dstress.leaderboard.access import SignInNeeded, current_user, get_database, is_api
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import open_files
from dstress.leaderboard.limits import TooOften
from dstress.leaderboard.monitoring import Gauges, Monitor, log_requests
from dstress.leaderboard.rendering import STATIC, own_address, redirect, render
from dstress.leaderboard.security import Guard, check_csrf
from dstress.leaderboard.settings import Settings, read_settings
from dstress.leaderboard.tables.accounts import User

_log = logging.getLogger(__name__)
_TITLES = {403: "Not allowed", 404: "Not found", 405: "Not possible", 413: "Too large", 429: "Too often"}


class KeptFiles(StaticFiles):
    """Static files, which browsers keep: their addresses change with their content (`rendering.static_address`)."""

    def file_response(self, *given: Any, **options: Any) -> Response:
        response = super().file_response(*given, **options)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def create_app(settings: Settings) -> FastAPI:
    """The server as an ASGI app; its database is brought to the newest revision first."""
    database = Database(settings.database_url)
    database.migrate()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        database.close()

    app = FastAPI(title="dstress", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.openapi_url = "/api/v1/openapi.json"
    app.setup()
    app.state.settings, app.state.database, app.state.files = settings, database, open_files(settings)
    app.state.gauges = Gauges()
    app.add_middleware(Monitor, gauges=app.state.gauges, on_bug=_on_bug)
    app.add_middleware(Guard, max_body=settings.max_upload, https=settings.is_https)
    for router in pages.ROUTERS:
        app.include_router(router, include_in_schema=False, dependencies=[Depends(check_csrf)])
    for router in api.ROUTERS:
        app.include_router(router, prefix="/api/v1")
    app.mount("/static", KeptFiles(directory=STATIC), name="static")
    for kind, answer in _ANSWERS.items():
        app.add_exception_handler(kind, answer)
    return app


def create_from_environment() -> FastAPI:
    """The server with the settings in the environment, as each process of `dstress serve` makes it."""
    log_requests()
    return create_app(read_settings())


def _say(request: Request, status: int, problem: str, fix: str = "", headers: dict[str, str] | None = None) -> Response:
    """A problem as JSON for a program, as a page for a person."""
    if is_api(request):
        content = {"problem": problem} | ({"fix": fix} if fix else {})
        return JSONResponse(content, status, headers)
    title = _TITLES.get(status, "Something is wrong")
    values = {"title": title, "problem": problem, "fix": fix, "back": _form_page(request)}
    page = render(request, "problem.html.j2", _who(request), status=status, **values)
    page.headers.update(headers or {})
    return page


def _form_page(request: Request) -> str:
    """Where the form that was sent stands; empty for a page that was only looked at."""
    came = urlsplit(request.headers.get("referer", ""))
    is_ours = request.method == "POST" and came.netloc == request.headers.get("host")
    return own_address(f"{came.path}?{came.query}" if came.query else came.path) if is_ours else ""


def _who(request: Request) -> User | None:
    """The person, for the page's bar; nobody where the database is what is wrong."""
    try:
        with get_database(request).session(write=False) as db:
            return current_user(request, db)
    except SQLAlchemyError:
        return None


def _on_http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    detail = "There is no such page." if error.status_code == 404 and error.detail == "Not Found" else error.detail
    return _say(request, error.status_code, str(detail), headers=dict(error.headers or {}))


def _on_wrong_input(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    places = [(".".join(str(part) for part in one["loc"][1:]), one["msg"]) for one in error.errors()]
    problem = "; ".join(f"{place}: {message.removeprefix('Value error, ')}" for place, message in places)
    return _say(request, 422, problem)


def _on_own_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, DstressError):
        raise error
    status = getattr(error, "status", 400)
    return _say(request, status, f"{error.where}: {error.problem}" if error.where else error.problem, error.fix)


def _on_too_often(request: Request, error: Exception) -> Response:
    wait = error.wait if isinstance(error, TooOften) else 60
    problem = f"This was tried too often. Wait {max(wait // 60, 1)} minutes."
    return _say(request, 429, problem, headers={"Retry-After": str(wait)})


def _on_sign_in_needed(request: Request, error: Exception) -> Response:
    return redirect(f"/login?next={request.url.path}" if request.method == "GET" else "/login")


def _on_odd_value(request: Request, error: Exception) -> Response:
    return _say(request, 422, "a value cannot be stored as it is")


def _on_too_late(request: Request, error: Exception) -> Response:
    return _say(request, 409, "Somebody was faster by a moment. Go back and try again.")


def _on_no_database(request: Request, error: Exception) -> Response:
    _log.error("the database does not answer: %s", error)
    return _say(request, 503, "The database does not answer. Try again in a while.", headers={"Retry-After": "30"})


def _on_bug(request: Request, error: Exception) -> Response:
    return _say(request, 500, f"An error of ours. It is in the server's log under {request.state.request}.")


_ANSWERS = {
    HTTPException: _on_http,
    RequestValidationError: _on_wrong_input,
    DstressError: _on_own_error,
    TooOften: _on_too_often,
    SignInNeeded: _on_sign_in_needed,
    DataError: _on_odd_value,
    IntegrityError: _on_too_late,
    OperationalError: _on_no_database,
}
