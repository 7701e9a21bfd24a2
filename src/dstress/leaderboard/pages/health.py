"""For machines that watch the server: whether it works, and how much it does."""

from __future__ import annotations

import ipaddress

from fastapi import APIRouter, HTTPException, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import text
from starlette.responses import JSONResponse, Response

from dstress._version import __version__
from dstress.leaderboard.access import Db, client_address

router = APIRouter()


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
