"""The playground of the platform: the embedded corpus's training dialogues, safe stressors, bounded input.

It reads nothing that belongs to a benchmark. What it may run is in `offered.toml`; a thread does the work, so that
pages are answered meanwhile, and each address may ask so many times a minute.
"""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter, Request
from starlette.responses import Response

from dstress.leaderboard.playground.desk import Desk, public_rules
from dstress.leaderboard.playground.page import ADDRESS, ANSWER_SECONDS, PAGE_SECONDS, render_playground
from dstress.leaderboard.web.access import Visitor, client_address, get_database
from dstress.leaderboard.web.limits import Limit, address_block, count
from dstress.leaderboard.web.rendering import render

router = APIRouter(prefix=ADDRESS)
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
    """The page, with the answers that are found at once."""
    return _answer(request, user, "playground/page.html.j2", PAGE_SECONDS)


@router.get("/answer")
def show_answer(request: Request, user: Visitor) -> Response:
    """The answers alone, for the page's script."""
    return _answer(request, user, "playground/answer.html.j2", ANSWER_SECONDS)


def _answer(request: Request, user: Visitor, template: str, seconds: float) -> Response:
    with get_database(request).session() as db:
        count(db, f"playground/{address_block(client_address(request))}", TRIES)
    body = render_playground(get_desk(), request.query_params.multi_items(), seconds)
    return render(request, template, user, body=body)
