"""The viewer's pages: the list, a run's report, and any runs beside each other. Every route only reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from dstress._version import __version__
from dstress.errors import DstressError
from dstress.leaderboard.viewer.shelf import ListedRun, Shelf, reading_any, side_by_side
from dstress.reports.numbers import PAGE
from dstress.reports.rendering import page_file, templates

LOOPBACK = "127.0.0.1"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_REFRESHED_POLICY = f"{_POLICY}; script-src 'self'; connect-src 'self'"
"""Only a list with unfinished runs has a script."""
_REPORT_POLICY = "sandbox allow-scripts allow-downloads allow-top-navigation-by-user-activation; frame-ancestors 'none'"
"""A report may have been made by somebody else: it runs its script, and has no part in the viewer's address."""
_MOST_COMPARED = 12

_SORTS: dict[str, Callable[[ListedRun], Any]] = {
    "scored": lambda run: -run.scored,
    "name": lambda run: run.name,
    "tracker": lambda run: run.tracker,
    "corpus": lambda run: run.corpus,
    "suite": lambda run: run.suite,
    "jga": lambda run: -run.jga.value if run.jga else 1.0,
    "drop": lambda run: run.drop if run.drop is not None else 2.0,
}


def create_viewer(folder: Path) -> FastAPI:
    """The viewer of a folder. It answers only to this machine's own names, so that no page elsewhere can ask it."""
    shelf = Shelf(folder)
    app = FastAPI(title="dstress view", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost", "[::1]"])
    own = files(__package__)
    style = page_file("report.css") + own.joinpath("viewer.css").read_text(encoding="utf-8")
    script = own.joinpath("refresh.js").read_text(encoding="utf-8")
    environment = templates(__package__, ".")
    environment.filters["date"] = lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    environment.filters["interval"] = lambda score: PAGE.interval(score.low, score.high) if score else ""

    def page(template: str, status: int = 200, policy: str = _POLICY, **content: Any) -> HTMLResponse:
        text = environment.get_template(template).render(folder=shelf.folder.name, version=__version__, **content)
        return HTMLResponse(text, status, {"Content-Security-Policy": policy, **_HEADERS})

    @app.get("/style.css")
    def show_style() -> Response:
        return Response(style, media_type="text/css", headers=_HEADERS)

    @app.get("/refresh.js")
    def show_script() -> Response:
        return Response(script, media_type="text/javascript", headers=_HEADERS)

    @app.get("/")
    def show_list(sort: str = "scored", q: str = "") -> HTMLResponse:
        runs = sorted(shelf.list(), key=_SORTS.get(sort, _SORTS["scored"]))
        words = q.casefold().split()
        shown = []
        for run in runs:
            text = " ".join((run.name, run.tracker, run.corpus, run.suite)).casefold()
            if all(word in text for word in words):
                shown.append(run)
        policy = _REFRESHED_POLICY if any(run.progress for run in shown) else _POLICY
        return page("runs.html.j2", policy=policy, runs=shown, total=len(runs), sort=sort, q=q)

    @app.get("/report")
    def show_report(run: str) -> HTMLResponse:
        return HTMLResponse(shelf.report(run), headers={"Content-Security-Policy": _REPORT_POLICY, **_HEADERS})

    @app.get("/compare")
    def show_comparison(run: Annotated[Sequence[str], Query()] = (), baseline: str = "") -> HTMLResponse:
        names = list(dict.fromkeys(run))
        if baseline in names:
            names = [baseline, *(name for name in names if name != baseline)]
        if not 2 <= len(names) <= _MOST_COMPARED:
            raise DstressError(
                "a comparison needs two runs or more", fix=f"tick 2 to {_MOST_COMPARED} runs in the list"
            )
        try:
            return HTMLResponse(
                shelf.comparison(names), headers={"Content-Security-Policy": _REPORT_POLICY, **_HEADERS}
            )
        except DstressError as error:
            with reading_any(", ".join(names)):
                beside = side_by_side({name: shelf.open(name).scores for name in names})
            return page("compare.html.j2", names=names, refusal=error, table=beside)

    @app.exception_handler(DstressError)
    def show_error(request: Request, error: Exception) -> HTMLResponse:
        return page("error.html.j2", 404, error=error)

    return app


_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
