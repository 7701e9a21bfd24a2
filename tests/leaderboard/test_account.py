"""One's own account: changes, tokens, teams, the data, the way out; and what admins do with others'."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from dstress.leaderboard import accounts
from dstress.leaderboard.database import Database
from dstress.leaderboard.tables.accounts import AuditEntry, Role, Token, User
from dstress.leaderboard.tables.base import now
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD


def shown_secret(page: str) -> str:
    found = re.search(r'<code class="secret" tabindex="0">([^<]+)</code>', page)
    assert found, page
    return found[1]


def test_name_and_address_change(member: Client, judge: Client) -> None:
    assert member.submit("/account", name="Ada L.", email="member@example.org").status_code == 303
    assert "Ada L." in member.get("/account").text
    assert "not your password" in member.submit("/account", name="Ada", email="new@example.org", password="x").text
    assert member.submit("/account", name="Ada", email="new@example.org", password=PASSWORD).status_code == 303
    taken = member.submit("/account", name="Ada", email="judge@example.org", password=PASSWORD)
    assert "there is an account" in taken.text


def test_a_new_password_ends_all_other_sessions(member: Client, client: Client) -> None:
    client.submit("/login", email="member@example.org", password=PASSWORD)
    assert client.get("/account").status_code == 200
    assert member.submit("/account/password", password="wrong", new="another password").status_code == 400
    assert member.submit("/account/password", password=PASSWORD, new="another password").status_code == 303
    assert member.get("/account").status_code == 200
    assert client.get("/account").status_code == 303
    assert client.submit("/login", email="member@example.org", password=PASSWORD).status_code == 403
    assert client.submit("/login", email="member@example.org", password="another password").status_code == 303
    member.submit("/account/sessions/end")
    assert client.get("/account").status_code == 303


def test_a_stolen_session_does_not_guess_the_password(member: Client) -> None:
    tries = [member.submit("/account/delete", password=f"guess {n}").status_code for n in range(11)]
    assert tries == [400] * 10 + [429]


def test_a_token_is_shown_once_works_and_is_revoked(member: Client, judge: Client, database: Database) -> None:
    page = member.submit("/account/tokens", name="<b>laptop</b>", days="30")
    secret = shown_secret(page.text)
    assert secret not in member.get("/account/tokens").text
    assert "&lt;b&gt;laptop&lt;/b&gt;" in page.text
    program = Client(member.app, token=secret)
    assert program.get("/api/v1/account").json() == {"name": "Member", "roles": ["member"], "teams": []}
    with database.session(write=False) as db:
        token = db.scalars(select(Token)).one()
        assert secret not in (token.digest, token.name, token.hint)
    assert judge.submit(f"/account/tokens/{token.id}/revoke").status_code == 404
    assert program.get("/api/v1/account").status_code == 200
    assert member.submit(f"/account/tokens/{token.id}/revoke").status_code == 303
    refused = program.get("/api/v1/account")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert refused.json() == {"problem": "a valid token is needed"}


def test_a_token_ends_by_itself(member: Client, program: Callable[[Client], Client], database: Database) -> None:
    token = program(member)
    with database.session() as db:
        db.execute(update(Token).values(expires_at=now() - timedelta(seconds=1)))
    assert token.get("/api/v1/account").status_code == 401


def test_a_team_grows_and_shrinks(member: Client, judge: Client, worker: Client) -> None:
    assert member.user
    assert judge.user
    place = member.submit("/teams", name="The <i>Trackers</i>").headers["location"]
    assert "The &lt;i&gt;Trackers&lt;/i&gt;" in member.get(place).text
    assert judge.get(place).status_code == 404
    assert judge.submit(f"{place}/invite").status_code == 404
    assert "there is a team" in judge.submit("/teams", name="the <I>trackers</I>").text
    link = shown_secret(member.submit(f"{place}/invite").text).replace("http://testserver", "")
    secret = link.partition("=")[2]
    assert "Trackers" in judge.get(link).text
    assert judge.submit("/join", invitation=secret).status_code == 303
    assert worker.submit("/join", invitation=secret).status_code == 400
    assert judge.get(place).status_code == 200
    assert "only an owner" in judge.submit(f"{place}/invite").text
    assert "only an owner" in judge.submit(f"{place}/remove", member=str(member.user.id)).text
    assert member.submit(f"{place}/remove", member=str(member.user.id)).headers["location"] == "/teams"
    assert member.get(place).status_code == 404
    assert shown_secret(judge.submit(f"{place}/invite").text)  # who is left becomes the owner


def test_the_export_has_all_but_secrets(member: Client, judge: Client) -> None:
    member.submit("/teams", name="Mine")
    judge.submit("/teams", name="Not mine")
    secret = shown_secret(member.submit("/account/tokens", name="laptop").text)
    answer = member.get("/account/export")
    exported = answer.json()
    assert exported["users"][0]["email"] == "member@example.org"
    assert {"memberships", "tokens", "web_sessions", "audit"} <= exported.keys()
    for hidden in (secret, "argon2", "digest", "judge@example.org", "Not mine"):
        assert hidden not in json.dumps(exported)


def test_a_deleted_account_is_forgotten(
    member: Client, client: Client, program: Callable[[Client], Client], database: Database
) -> None:
    token = program(member)
    member.submit("/teams", name="Mine")
    assert member.submit("/account/delete", password=PASSWORD).status_code == 303
    assert member.get("/account").status_code == 303
    assert token.get("/api/v1/account").status_code == 401
    assert client.submit("/login", email="member@example.org", password=PASSWORD).status_code == 403
    with database.session(write=False) as db:
        left = db.scalars(select(User)).one()
        assert (left.email, left.name, left.password_hash) == (None, "deleted account", None)
    assert client.submit("/signup", email="member@example.org", name="Again", password=PASSWORD).status_code == 303


def test_the_only_admin_stays(admin: Client, add_client: Callable[..., Client]) -> None:
    assert admin.user
    assert "only admin cannot go" in admin.submit("/account/delete", password=PASSWORD).text
    assert "cannot lay down" in admin.submit(f"/admin/people/{admin.user.id}/roles", roles=["judge"]).text
    add_client("Second", Role.ADMIN)
    assert admin.submit("/account/delete", password=PASSWORD).status_code == 303


def test_an_admin_gives_roles_and_sees_who_did_what(admin: Client, member: Client, database: Database) -> None:
    assert member.user
    assert member.get("/admin").status_code == 403
    assert admin.submit(f"/admin/people/{member.user.id}/roles", roles=["judge", "organiser"]).status_code == 303
    assert "organiser" in member.get("/account").text
    assert admin.submit(f"/admin/people/{member.user.id}/roles").status_code == 303
    assert "organiser</span>" not in member.get("/account").text
    assert admin.submit("/admin/people/999/roles").status_code == 404
    log = admin.get("/admin/audit").text
    assert re.search(r"account\.roles</td><td>Member", log), "whose roles, by name"
    assert "account.roles" in log
    with database.session(write=False) as db:
        assert {entry.user_id for entry in db.scalars(select(AuditEntry))} == {admin.user.id if admin.user else 0}


def test_an_admin_searches_without_wildcards(admin: Client, member: Client, judge: Client) -> None:
    assert "judge@example.org" in admin.get("/admin?search=JUDGE").text
    assert "member@example.org" not in admin.get("/admin?search=JUDGE").text
    assert "0 shown" in admin.get("/admin?search=%25").text


def test_an_admins_link_sets_a_password_once(admin: Client, member: Client, client: Client) -> None:
    assert member.user
    link = shown_secret(admin.submit(f"/admin/people/{member.user.id}/link").text)
    secret = link.partition("=")[2]
    assert "New password" in client.get(link.replace("http://testserver", "")).text
    assert "at least 10" in client.submit("/password/new", link=secret, password="short").text
    assert client.submit("/password/new", link=secret, password="another password").status_code == 303
    assert "used or too old" in client.submit("/password/new", link=secret, password="a third password").text
    assert member.get("/account").status_code == 303
    assert client.submit("/login", email="member@example.org", password="another password").status_code == 303


def test_an_admins_invitation_gives_a_role(admin: Client, member: Client) -> None:
    link = shown_secret(admin.submit("/admin/invitations", role="judge", note="for Ada").text)
    assert member.submit("/join", invitation=link.partition("=")[2]).status_code == 303
    assert "judge" in member.get("/account").text


def test_an_invitation_is_good_once_however_many_come_at_once(
    add_client: Callable[..., Client], database: Database
) -> None:
    with database.session() as db:
        secret = accounts.invite(db, None, role=Role.JUDGE)
    people = [add_client(f"P{number}") for number in range(8)]
    tokens = {person: person.csrf() for person in people}
    with ThreadPoolExecutor(len(people)) as pool:
        sent = [
            pool.submit(person.post, "/join", data={"csrf": token, "invitation": secret})
            for person, token in tokens.items()
        ]
    assert sorted(answer.result().status_code for answer in sent) == [303] + [400] * 7


def test_two_who_take_one_address_at_once_are_told(
    client: Client, member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has looked before the other wrote."""
    monkeypatch.setattr(accounts, "find_user", lambda *_: None)
    answer = client.submit("/signup", email="member@example.org", name="Second", password=PASSWORD)
    assert (answer.status_code, "faster" in answer.text) == (409, True)


def test_a_token_tells_when_it_was_used(member: Client, program: Callable[[Client], Client]) -> None:
    token = program(member)
    assert "never" in member.get("/account/tokens").text
    token.get("/api/v1/account")
    assert "never" not in member.get("/account/tokens").text


def test_an_error_leads_back_to_the_form_and_nowhere_else(member: Client) -> None:
    fields = {"name": "M", "email": "another@example.org", "password": "wrong"}
    came = {"referer": "http://testserver/account?x=1"}
    assert (
        'href="/account?x=1">Back' in member.post("/account", data={"csrf": member.csrf()} | fields, headers=came).text
    )
    came = {"referer": "http://elsewhere.example/account"}
    assert ">Back<" not in member.post("/account", data={"csrf": member.csrf()} | fields, headers=came).text
    assert ">Back<" not in member.get("/nowhere", headers={"referer": "http://testserver/account"}).text
