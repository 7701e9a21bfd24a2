"""The playground on this machine alone: every stressor, every argument, every corpus of the data home."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from dstress._version import __version__
from dstress.corpora import EMBEDDED, load, reminder, store
from dstress.leaderboard.playground.desk import Desk, Rules
from dstress.leaderboard.playground.page import ADDRESS, render_playground
from dstress.leaderboard.web.rendering import STATIC
from dstress.reports.rendering import page_file, templates

_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src "
    "data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def open_desk(corpus: str) -> Desk:
    """A playground of a corpus, and of the others that are imported; a corpus that is not there is told at once."""
    opened = load(corpus)
    name = corpus if ":" in corpus or not opened.split else f"{corpus}:{opened.split}"
    return Desk(list(dict.fromkeys([name, *_corpora()])), Rules())


def _corpora() -> Iterator[str]:
    yield from (f"{EMBEDDED}:{split}" for split in reminder.SIZES)
    for name in store.stored_names():
        if entry := store.read_manifest(name):
            yield from (f"{name}:{split}" for split in entry.splits)


def create_playground(desk: Desk) -> FastAPI:
    """The app. It answers only to this machine's own names, and runs nothing that another site's page asks for."""
    app = FastAPI(title="dstress view", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)
    style = "".join([page_file("report.css"), (STATIC / "playground.css").read_text(encoding="utf-8")])
    script = (STATIC / "playground.js").read_text(encoding="utf-8")

    @app.get("/")
    def go_there() -> Response:
        return RedirectResponse(ADDRESS)

    @app.get(ADDRESS)
    def show_page(request: Request) -> HTMLResponse:
        # A spec may name any class or file of this machine, so that a link on some page must not run one.
        if request.query_params and request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise HTTPException(403, "another site sent this request; paste the address into the browser instead")
        body = render_playground(desk, request.query_params.multi_items())
        frame = templates(__package__, ".").get_template("frame.html.j2")
        return HTMLResponse(frame.render(body=body, version=__version__), headers=_HEADERS)

    @app.get("/style.css")
    def show_style() -> Response:
        return Response(style, media_type="text/css", headers=_HEADERS)

    @app.get("/playground.js")
    def show_script() -> Response:
        return Response(script, media_type="text/javascript", headers=_HEADERS)

    # What most people look at first is ready when their browser is.
    Thread(target=desk.answer, args=([], 0.0), daemon=True).start()
    return app
