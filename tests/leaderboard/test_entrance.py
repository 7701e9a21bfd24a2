"""Signing up, in and out, in every way that it can be tried."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.database import Database
from dstress.leaderboard.tables import Role, User, WebSession, now
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""One database is enough: nothing here depends on which."""


def sign_up(client: Client, **fields: str) -> Any:
    return client.submit("/signup", **{"email": "ada@example.org", "name": "Ada", "password": PASSWORD} | fields)


def test_a_person_signs_up_out_and_in(client: Client) -> None:
    came = client.submit("/signup", email="Ada@Example.org", name="Ada", password=PASSWORD)
    assert (came.status_code, came.headers["location"]) == (303, "/")
    assert client.get("/account").status_code == 200
    client.submit("/logout")
    assert client.get("/account").headers["location"] == "/login?next=/account"
    assert client.submit("/login", email="ada@example.org", password="wrong").status_code == 403
    assert client.submit("/login", email="ada@example.org", password=PASSWORD, next="/x").headers["location"] == "/x"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"email": "nobody"}, "no e-mail address"),
        ({"email": "a@b\0.org"}, "cannot be shown"),
        ({"name": " "}, "a name is needed"),
        ({"name": "Ada\u202eadA"}, "cannot be shown"),
        ({"name": "x" * 201}, "at most 200"),
        ({"password": "short"}, "at least 10 characters"),
        ({"password": "aaaaaaaaaaaaaa"}, "different characters"),
        ({"password": "ada@example.org"}, "one&#39;s e-mail address"),
        ({"password": "x" * 1001}, "at most 1000"),
        ({"invitation": "made-up"}, "used or too old"),
    ],
)
def test_what_cannot_be_is_said(client: Client, fields: dict[str, str], problem: str) -> None:
    answer = sign_up(client, **fields)
    assert answer.status_code in (400, 422)
    assert problem in answer.text
    assert client.get("/account").status_code == 303


def test_an_address_has_one_account(client: Client, member: Client) -> None:
    assert "there is an account" in sign_up(client, email="MEMBER@example.org").text


def test_by_invitation_only(make_app: Callable[..., FastAPI]) -> None:
    app = make_app(sign_up="invitation")
    client = Client(app)
    assert "by invitation" in client.get("/signup").text
    assert "by invitation" in sign_up(client).text
    with app.state.database.session() as db:
        secret = accounts.invite(db, app.state.settings, None, role=Role.JUDGE).rpartition("=")[2]
    assert "as <b>judge</b>" in client.get(f"/join?invitation={secret}").text
    assert sign_up(client, invitation=secret).status_code == 303
    assert "judge" in client.get("/account").text
    assert "used or too old" in sign_up(Client(app), email="ben@example.org", invitation=secret).text


def test_a_planted_session_is_worth_nothing(client: Client, member: Client, database: Database) -> None:
    """Fixation: the secret that a browser comes with is not the one that it leaves with."""
    client.cookies.set("dstress", "planted")
    client.submit("/login", email="member@example.org", password=PASSWORD)
    given = client.cookies.get("dstress", domain="testserver.local")
    assert given
    assert given != "planted"
    planted = Client(client.app)
    planted.cookies.set("dstress", "planted")
    assert planted.get("/account").status_code == 303
    with database.session(write=False) as db:
        assert given not in db.scalars(select(WebSession.digest)).all()


def test_signing_in_again_ends_the_session_before(member: Client, client: Client) -> None:
    before = member.cookies.get("dstress")
    member.submit("/login", email="member@example.org", password=PASSWORD)
    client.cookies.set("dstress", before or "")
    assert client.get("/account").status_code == 303


def test_a_session_ends(member: Client, database: Database) -> None:
    assert member.get("/account").status_code == 200
    with database.session() as db:
        db.execute(update(WebSession).values(expires_at=now() - timedelta(seconds=1)))
    assert member.get("/account").status_code == 303


def test_guessing_passwords_is_slowed(client: Client, member: Client) -> None:
    guesses = [client.submit("/login", email="member@example.org", password=f"guess {n}") for n in range(12)]
    assert [guess.status_code for guess in guesses] == [403] * 10 + [429] * 2
    assert 0 < int(guesses[-1].headers["retry-after"]) <= 900
    assert client.submit("/login", email="member@example.org", password=PASSWORD).status_code == 429
    assert client.submit("/login", email="other@example.org", password=PASSWORD).status_code == 403


@pytest.mark.slow
def test_whoever_guesses_locks_out_themselves_and_not_the_owner(
    app: FastAPI, member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(accounts, "check_password", lambda *_: False)
        for place in range(12):
            guesser = Client(app, address=f"10.0.0.{place}")
            form = {"csrf": guesser.csrf(), "email": "member@example.org", "password": "x"}
            assert [guesser.post("/login", data=form).status_code for _ in range(11)] == [403] * 10 + [429]
        one_block = [Client(app, address=f"2001:db8::{place}") for place in range(1, 12)]
        csrf = [(guesser, guesser.csrf()) for guesser in one_block]
        form = {"email": "member@example.org", "password": "x"}
        codes = [guesser.post("/login", data=form | {"csrf": secret}).status_code for guesser, secret in csrf]
        assert codes == [403] * 10 + [429]
    owner = Client(app, address="192.0.2.7")
    assert owner.submit("/login", email="member@example.org", password=PASSWORD).status_code == 303


def test_a_network_is_one_guesser_and_another_is_none(app: FastAPI) -> None:
    """A /64 of IPv6 belongs to one person; IPv4 clients of a server on IPv6 are not all one network."""
    guesser = Client(app)
    for path, fields in (
        ("/signup", {"email": "a@b.org", "name": "A", "password": "short"}),
        ("/password/new", {"link": "x", "password": "some password"}),
    ):
        form = fields | {"csrf": guesser.csrf()}

        def send(address: str, path: str = path, form: dict[str, str] = form) -> int:
            one = Client(app, address=address)
            one.cookies.update(guesser.cookies)
            return int(one.post(path, data=form).status_code)

        codes = [send(f"2001:db8::{place:x}") for place in range(31)]
        assert (codes[0], codes[-1]) == (400, 429)
        assert {send(f"::ffff:192.0.2.{place}") for place in range(31)} == {400}


@pytest.mark.slow
def test_many_addresses_from_one_place_are_slowed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "check_password", lambda *_: False)
    csrf = client.csrf()
    codes = [
        client.post("/login", data={"csrf": csrf, "email": f"p{n}@example.org", "password": "x"}).status_code
        for n in range(102)
    ]
    assert codes == [403] * 100 + [429] * 2


@pytest.mark.parametrize("address", ["//evil.org", "https://evil.org", "/\\evil.org", "javascript:x", "/a\r\nb: c", ""])
def test_no_address_of_another_site_is_gone_on_to(client: Client, member: Client, address: str) -> None:
    assert (
        client.submit("/login", email="member@example.org", password=PASSWORD, next=address).headers["location"] == "/"
    )


def test_a_form_of_another_site_is_refused(member: Client) -> None:
    csrf = member.csrf()
    forged = member.post("/logout", data={"csrf": csrf}, headers={"Origin": "https://evil.org"})
    assert forged.status_code == 403
    assert "another site" in forged.text
    assert member.post("/logout", data={"csrf": csrf}, headers={"Origin": "http://testserver"}).status_code == 303


def test_cookies_are_out_of_reach(make_app: Callable[..., FastAPI]) -> None:
    plain = Client(make_app()).get("/login").headers["set-cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    secure = Client(make_app(url="https://testserver")).get("/login")
    assert secure.headers["set-cookie"].startswith("__Host-dstress=")
    assert "Secure" in secure.headers["set-cookie"]
    assert "max-age" in secure.headers["strict-transport-security"]


def test_a_disabled_person_is_out_at_once(
    member: Client, admin: Client, program: Callable[[Client], Client], client: Client
) -> None:
    token = program(member)
    assert token.get("/api/v1/account").status_code == 200
    assert member.user is not None
    admin.submit(f"/admin/people/{member.user.id}/disable", disabled="true")
    assert member.get("/account").status_code == 303
    assert token.get("/api/v1/account").status_code == 401
    assert client.submit("/login", email="member@example.org", password=PASSWORD).status_code == 403
    admin.submit(f"/admin/people/{member.user.id}/disable", disabled="false")
    assert client.submit("/login", email="member@example.org", password=PASSWORD).status_code == 303


def test_passwords_are_kept_as_argon2(member: Client, database: Database) -> None:
    with database.session(write=False) as db:
        kept = db.scalar(select(User.password_hash))
    assert kept
    assert kept.startswith("$argon2id$")
    assert PASSWORD not in kept
