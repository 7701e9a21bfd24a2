"""A forgotten password: by mail, in words that do not tell who has an account."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import update

from dstress.leaderboard.tables import PasswordReset, now
from tests.fakes.smtp import running_smtp
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""One database is enough: nothing here depends on which."""

ASKED = "If {} has an account, a mail with a link is on its way."


def ask(client: Client, email: str) -> str:
    answer = client.submit("/password/forgotten", email=email)
    assert answer.status_code == 303
    return str(client.get("/login").text)


def test_by_mail(make_app: Callable[..., FastAPI]) -> None:
    with running_smtp() as smtp:
        app = make_app(smtp=smtp.url)
        client = Client(app)
        client.submit("/signup", email="ada@example.org", name="Ada", password=PASSWORD)
        other = Client(app)
        assert ASKED.format("ada@example.org") in ask(other, "ada@example.org")
        assert ASKED.format("nobody@example.org") in ask(other, "nobody@example.org")
        (mail,) = smtp.mails
    assert mail["To"] == "ada@example.org"
    (link,) = [line for line in mail.get_content().splitlines() if line.startswith("http")]
    assert link.startswith("http://testserver/password/new?link=")
    assert "New password" in other.get(link.removeprefix("http://testserver")).text
    secret = link.partition("=")[2]
    assert other.submit("/password/new", link=secret, password="another password").status_code == 303
    assert client.get("/account").status_code == 303, "whoever was signed in is out"
    assert other.submit("/password/new", link=secret, password="another password").status_code == 400


def test_a_link_is_good_for_an_hour(make_app: Callable[..., FastAPI]) -> None:
    with running_smtp() as smtp:
        app = make_app(smtp=smtp.url)
        client = Client(app)
        client.submit("/signup", email="ada@example.org", name="Ada", password=PASSWORD)
        ask(Client(app), "ada@example.org")
        secret = smtp.mails[0].get_content().partition("link=")[2].split()[0]
    with app.state.database.session() as db:
        db.execute(update(PasswordReset).values(expires_at=now() - timedelta(seconds=1)))
    assert "too old" in client.submit("/password/new", link=secret, password="another password").text


def test_mails_are_counted(make_app: Callable[..., FastAPI]) -> None:
    with running_smtp() as smtp:
        client = Client(make_app(smtp=smtp.url))
        codes = [client.submit("/password/forgotten", email="ada@example.org").status_code for _ in range(6)]
    assert codes == [303] * 5 + [429]


def test_a_mail_server_that_is_not_there_tells_nobody(
    make_app: Callable[..., FastAPI], caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(make_app(smtp="smtp://127.0.0.1:1"))
    client.submit("/signup", email="ada@example.org", name="Ada", password=PASSWORD)
    client.submit("/logout")
    assert ASKED.format("ada@example.org") in ask(client, "ada@example.org")
    assert "a mail could not be sent" in caplog.text


def test_without_mail_the_page_says_whom_to_ask(client: Client) -> None:
    assert "Ask its admin" in client.get("/password/forgotten").text
    assert "ask an admin" in client.submit("/password/forgotten", email="ada@example.org").text
