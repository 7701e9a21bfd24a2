"""What an operator sees: a line of JSON for each request, the trace of every bug, health, and counts for Prometheus."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable
from http import HTTPMethod
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, HTTPException, Request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from sqlalchemy import text
from starlette.responses import JSONResponse, Response

from dstress._version import __version__
from dstress.leaderboard.web.access import Db, client_address
from dstress.storage.secrets import redact_text

router = APIRouter()
_log = logging.getLogger(__name__)
SHARED = "PROMETHEUS_MULTIPROC_DIR"
_METHODS = frozenset(HTTPMethod)
_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON, without any secret of ours."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return redact_text(json.dumps(line, default=str))


def log_requests() -> None:
    """Send what the server and its libraries log to standard error, a line of JSON each."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = name != "uvicorn.access"  # ours says more
    logging.getLogger("alembic").setLevel(logging.WARNING)


class Gauges:
    """What is counted, in all processes of a server together: `dstress serve` names the folder that they share."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("dstress_requests", "Requests answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "dstress_request_seconds", "Seconds until the answer was sent", ("route",), registry=self.registry
        )
        if SHARED in os.environ:
            self.registry = CollectorRegistry()
            MultiProcessCollector(self.registry)  # type: ignore[no-untyped-call]


class Monitor:
    """Around the app: gives each request a number, counts it, logs it, and answers where the app failed."""

    def __init__(self, app: Any, gauges: Gauges, on_bug: Callable[[Request, Exception], Response]) -> None:
        self.app, self.gauges, self.on_bug = app, gauges, on_bug

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status, number = time.perf_counter(), 0, uuid4().hex[:16]
        scope.setdefault("state", {})["request"] = number

        async def noting(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", number.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:
            _log.exception("an error of ours", extra={"request": number, "path": scope["path"]})
            if status:
                raise
            await self.on_bug(Request(scope, receive), error)(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - begun
            route = getattr(scope.get("route"), "path", "") or "other"  # the pattern: an address has no end of values
            method = scope["method"] if scope["method"] in _METHODS else "other"  # a client may invent any
            self.gauges.requests.labels(method, route, str(status)).inc()
            self.gauges.seconds.labels(route).observe(seconds)
            client = scope["client"][0] if scope.get("client") else ""
            seen = {"method": scope["method"], "path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
            user = scope["state"].get("user")
            _log.info("request", extra=seen | {"request": number, "client": client, "user": user})


@router.get("/healthz")
def show_health(db: Db) -> Response:
    """200 while the database answers."""
    db.execute(text("select 1"))
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/metrics")
def show_metrics(request: Request) -> Response:
    """Prometheus's text; only for this machine and its own network, since it tells how busy people are."""
    try:
        near = ipaddress.ip_address(client_address(request)).is_private
    except ValueError:
        near = False
    if not near:
        raise HTTPException(404, "There is no such page.")
    return Response(generate_latest(request.app.state.gauges.registry), media_type=CONTENT_TYPE_LATEST)
