"""schemathesis tries the API as its OpenAPI describes it, and as it does not: no answer is a 500."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dstress.leaderboard.tables import Role
from dstress.leaderboard.web import limits
from tests.leaderboard.clients import Client
from tests.parts import need

EXAMPLES = max(int(os.environ.get("EXAMPLES", "50")) // 5, 5)
"""Requests to each operation."""


def test_no_request_breaks_the_api(
    app: FastAPI,
    add_client: Callable[..., Client],
    program: Callable[[Client], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need("schemathesis")
    import schemathesis
    from schemathesis import GenerationMode

    monkeypatch.setattr(limits, "count", lambda *_: None)
    token = program(add_client("Everything", *Role)).headers["authorization"]
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    answers: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        operation = found.ok()
        modes = st.one_of(operation.as_strategy(), operation.as_strategy(GenerationMode.NEGATIVE))

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(modes)
        def ask(case: schemathesis.Case) -> None:
            answer = case.call(headers={"Authorization": token})
            assert answer.status_code < 500, case.as_curl_command()
            answers.setdefault(case.operation.label, set()).add(answer.status_code)

        ask()
    assert 200 in answers["GET /api/v1/account"]
