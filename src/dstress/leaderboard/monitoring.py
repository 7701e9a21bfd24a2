"""What an operator sees: a line of JSON for each request, counts and times for Prometheus, the trace of every bug."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.responses import Response

from dstress.storage.secrets import redact_text

_log = logging.getLogger(__name__)
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
    """What is counted. Each app has its own registry; other areas add theirs to `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("dstress_requests", "Requests answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "dstress_request_seconds", "Seconds until the answer was sent", ("route",), registry=self.registry
        )


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
            self._note(scope, status, time.perf_counter() - begun, number)

    def _note(self, scope: Any, status: int, seconds: float, number: str) -> None:
        route = getattr(scope.get("route"), "path", "") or "other"  # the pattern: an address has no end of values
        self.gauges.requests.labels(scope["method"], route, str(status)).inc()
        self.gauges.seconds.labels(route).observe(seconds)
        client = scope["client"][0] if scope.get("client") else ""
        seen = {"method": scope["method"], "path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        _log.info("request", extra=seen | {"request": number, "client": client, "user": scope["state"].get("user")})
