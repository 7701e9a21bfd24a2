"""The playground of the platform: the embedded corpus's training dialogues, safe stressors, bounded input.

It reads nothing that belongs to a benchmark. What it may run is in `offered.toml`; a thread does the work, so that
pages are answered meanwhile, and each address may ask so many times a minute.
"""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from dstress.leaderboard.playground.desk import Desk, public_rules
from dstress.leaderboard.playground.page import ADDRESS, render_playground
from dstress.leaderboard.web.access import Places, Visitor, client_address, get_database
from dstress.leaderboard.web.limits import Limit, address_block, count
from dstress.leaderboard.web.rendering import render

_PLACE = Depends(Places(4), scope="function")
"""Requests wait for answers in threads, of which the server's other pages need most."""
router = APIRouter(prefix=ADDRESS, dependencies=[_PLACE])
CORPUS = "reminder:train"
"""Its dialogues are a part of the package: nobody's gold."""
TRIES = Limit(120, 60)
"""Requests of an address in a minute; one who types makes about one a second."""


@cache
def get_desk() -> Desk:
    """The process's own playground, made when it is first visited."""
    return Desk([CORPUS], public_rules())


@router.get("")
def show_page(request: Request, user: Visitor) -> Response:
    """The page with its answers; the script asks for it again as a person types."""
    with get_database(request).session() as db:
        count(db, f"playground/{address_block(client_address(request))}", TRIES)
    body = render_playground(get_desk(), request.query_params.multi_items())
    return render(request, "playground/page.html.j2", user, body=body)
