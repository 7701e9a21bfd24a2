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
from dstress.errors import DstressError, shorten
from dstress.leaderboard import monitoring
from dstress.leaderboard.accounts import api as accounts_api
from dstress.leaderboard.accounts import pages as accounts
from dstress.leaderboard.benchmarks import api as benchmarks_api
from dstress.leaderboard.benchmarks import pages as benchmarks
from dstress.leaderboard.collection import api as collection_api
from dstress.leaderboard.collection import pages as collection
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import open_files
from dstress.leaderboard.judging import api as judging_api
from dstress.leaderboard.judging import pages as judging
from dstress.leaderboard.playground import pages as playground
from dstress.leaderboard.settings import Settings, read_settings
from dstress.leaderboard.submissions import api as submissions_api
from dstress.leaderboard.submissions import pages as submissions
from dstress.leaderboard.tables import Role
from dstress.leaderboard.web.access import SignInNeeded, Uploads, current_user, get_database, is_api
from dstress.leaderboard.web.limits import TooOften
from dstress.leaderboard.web.rendering import STATIC, own_address, redirect, render
from dstress.leaderboard.web.security import Guard, check_csrf

PAGES = [area.router for area in (monitoring, accounts, benchmarks, submissions, judging, collection, playground)]
"""Every form on them is held to its token (`check_csrf`)."""
API = [area.router for area in (accounts_api, benchmarks_api, submissions_api, judging_api, collection_api)]
"""For programs, under `/api/v1`."""
UPLOADS = {
    "/benchmarks/{slug}/submit": Role.MEMBER,
    "/api/v1/benchmarks/{slug}/submissions": Role.MEMBER,
    "/api/v1/benchmarks": Role.ORGANISER,
}
"""Routes that take a file, and whose; no other takes a large body."""
_log = logging.getLogger(__name__)
_TITLES = {403: "Not allowed", 404: "Not found", 405: "Not possible", 413: "Too large", 429: "Too often"}


class KeptFiles(StaticFiles):
    """Static files, which browsers keep: their addresses change with their content (`rendering.static_address`)."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
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
    app.state.gauges = monitoring.Gauges()
    app.add_middleware(monitoring.Monitor, gauges=app.state.gauges, on_bug=_on_bug)
    app.add_middleware(Guard, max_file=settings.max_upload, https=settings.is_https, uploads=Uploads(UPLOADS))
    for router in PAGES:
        app.include_router(router, include_in_schema=False, dependencies=[Depends(check_csrf)])
    for router in API:
        app.include_router(router, prefix="/api/v1")
    app.mount("/static", KeptFiles(directory=STATIC), name="static")
    kinds = (HTTPException, RequestValidationError, DstressError, TooOften, SignInNeeded)
    for kind in (*kinds, DataError, IntegrityError, OperationalError):
        app.add_exception_handler(kind, _on_error)
    return app


def create_from_environment() -> FastAPI:
    """The server with the settings in the environment, as each process of `dstress serve` makes it."""
    monitoring.log_requests()
    return create_app(read_settings())


def _on_error(request: Request, error: Exception) -> Response:
    match error:
        case HTTPException():
            is_plain = error.status_code == 404 and error.detail == "Not Found"
            problem = "There is no such page." if is_plain else str(error.detail)
            return _explain(request, error.status_code, problem, headers=dict(error.headers or {}))
        case RequestValidationError():
            places = [(".".join(map(str, field["loc"][1:])), field["msg"]) for field in error.errors()]
            problem = "; ".join(f"{place}: {message.removeprefix('Value error, ')}" for place, message in places)
            return _explain(request, 422, problem)
        case DstressError():
            problem = f"{error.where}: {error.problem}" if error.where else error.problem
            return _explain(request, getattr(error, "status", 400), problem, error.fix)
        case TooOften():
            problem = f"This was tried too often. Wait {max(error.wait // 60, 1)} minutes."
            return _explain(request, 429, problem, headers={"Retry-After": str(error.wait)})
        case SignInNeeded():
            return redirect(f"/login?next={request.url.path}" if request.method == "GET" else "/login")
        case DataError():
            return _explain(request, 422, "a value cannot be stored as it is")
        case IntegrityError():
            return _explain(request, 409, "Somebody was faster by a moment. Go back and try again.")
    _log.error("the database does not answer: %s", error)
    problem = "The database does not answer. Try again in a while."
    return _explain(request, 503, problem, headers={"Retry-After": "30"})


def _on_bug(request: Request, error: Exception) -> Response:
    return _explain(request, 500, f"An error of ours. It is in the server's log under {request.state.request}.")


def _explain(
    request: Request, status: int, problem: str, fix: str = "", headers: dict[str, str] | None = None
) -> Response:
    """A problem as JSON for a program, as a page for a person."""
    problem, fix = shorten(problem), shorten(fix)
    if is_api(request):
        return JSONResponse({"problem": problem} | ({"fix": fix} if fix else {}), status, headers)
    try:
        with get_database(request).session(write=False) as db:
            user = current_user(request, db)
    except SQLAlchemyError:  # the database is what is wrong: the page's bar shows nobody
        user = None
    # A form that was refused leads back to the page on which it stands.
    came = urlsplit(request.headers.get("referer", ""))
    is_form = request.method == "POST" and came.netloc == request.headers.get("host")
    back = own_address(f"{came.path}?{came.query}" if came.query else came.path) if is_form else ""
    values = {"title": _TITLES.get(status, "Something is wrong"), "problem": problem, "fix": fix, "back": back}
    page = render(request, "problem.html.j2", user, status=status, **values)
    page.headers.update(headers or {})
    return page
