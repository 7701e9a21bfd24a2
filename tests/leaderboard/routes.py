"""Every route of the server, and whom it is for, read from the parameters that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from dstress.leaderboard.app import API, PAGES
from dstress.leaderboard.tables import Role
from dstress.leaderboard.web.access import Require, current_user

FOR_ANYBODY = {
    "POST /login",
    "POST /signup",
    "POST /password/forgotten",
    "GET /password/new",
    "POST /password/new",
    "GET /healthz",
    "GET /metrics",
}
"""Routes that do not ask who comes."""


class Entry(NamedTuple):
    """A method of a route, and the role that it needs; None is for anybody."""

    method: str
    path: str
    role: Role | None
    is_api: bool
    fields: tuple[str, ...] = ()
    """What its form takes."""
    queries: tuple[str, ...] = ()
    """What its address takes behind the question mark."""
    parts: tuple[Any, ...] = ()
    """The types of what its form takes."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def address(self) -> str:
        return re.sub(r"{[^}]*}", "1", self.path)


def entries() -> Iterator[Entry]:
    """Every route, those of all areas; one that does not say whom it is for is an error."""
    for routers, prefix in ((PAGES, ""), (API, "/api/v1")):
        for router in routers:
            for route in router.routes:
                assert isinstance(route, APIRoute), route
                for method in sorted(route.methods):
                    path = prefix + route.path
                    needs = list(_all(route.dependant))
                    fields = tuple(param.alias for below in needs for param in below.body_params)
                    queries = tuple(param.alias for below in needs for param in below.query_params)
                    parts = tuple(param.field_info.annotation for below in needs for param in below.body_params)
                    yield Entry(method, path, _role(route, f"{method} {path}"), bool(prefix), fields, queries, parts)


def _role(route: APIRoute, name: str) -> Role | None:
    calls = [found.call for found in _all(route.dependant)]
    required = [call.role for call in calls if isinstance(call, Require)]
    assert len(required) <= 1, f"{name} asks for two roles"
    if required:
        return required[0]
    assert current_user in calls or name in FOR_ANYBODY, f"{name} does not say whom it is for"
    return None


def _all(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for below in dependant.dependencies:
        yield from _all(below)
