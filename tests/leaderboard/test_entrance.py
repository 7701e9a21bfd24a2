"""Signing up, in and out, in every way that it can be tried."""

from __future__ import annotations

from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD


def test_a_person_signs_up_out_and_in(client: Client) -> None:
    came = client.submit("/signup", email="Ada@Example.org", name="Ada", password=PASSWORD)
    assert (came.status_code, came.headers["location"]) == (303, "/")
    assert client.get("/login").status_code == 303
    client.submit("/logout")
    assert client.get("/login").status_code == 200
    assert client.submit("/login", email="ada@example.org", password="wrong").status_code == 403
    assert client.submit("/login", email="ada@example.org", password=PASSWORD, next="/x").headers["location"] == "/x"
