"""What operators see."""

from __future__ import annotations

import json
import logging

import pytest
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from dstress.leaderboard.monitoring import JsonFormatter
from tests.leaderboard.clients import Client


def test_health(client: Client) -> None:
    assert client.get("/healthz").json()["status"] == "ok"


def test_a_server_without_its_database_is_not_well(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("select 1", {}, Exception("gone"))

    monkeypatch.setattr(Session, "execute", refuse)
    assert client.get("/healthz").status_code == 503


def test_metrics_count_by_route_and_only_near(app: FastAPI, member: Client) -> None:
    member.get("/teams/99")
    assert member.get("/metrics").status_code == 404, "the test client has no address of this machine"
    near = Client(app, address="127.0.0.1")
    counted = near.get("/metrics").text
    assert 'dstress_requests_total{method="GET",route="/teams/{team_id}",status="404"} 1.0' in counted
    assert "dstress_request_seconds_bucket" in counted
    near.request("INVENTED", "/login")
    counted = near.get("/metrics").text
    assert 'method="other"' in counted and "INVENTED" not in counted
    assert Client(app, address="8.8.8.8").get("/metrics").status_code == 404


def test_each_request_is_a_line_of_json(member: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    member.get("/account")
    (record,) = [record for record in caplog.records if record.message == "request"]
    line = json.loads(JsonFormatter().format(record))
    assert member.user
    assert {"method": "GET", "path": "/account", "status": 200, "user": member.user.id}.items() <= line.items()
    assert line["ms"] > 0
    assert line["time"].endswith("Z")


def test_no_secret_of_ours_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_API_KEY", "sk-very-secret")
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "sent sk-very-secret", None, None)
    assert "sk-very-secret" not in JsonFormatter().format(record)
