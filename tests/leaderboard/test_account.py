"""One's own account: changes, tokens, teams, the data, the way out; and what admins do with others'."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.database import Database
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import AuditEntry, Role, Token, User, now
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""One database is enough: nothing here depends on which."""


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


@pytest.mark.parametrize(
    "name",
    [
        "Track\u200bers",
        "Trackers\u2060",
        "\ufeffTrackers",
        "Track\u00aders",
        "Trackers\u3164",
        "Track\U0001d173ers",
        "\U0001bca0Trackers",
        "Trackers\ufff9",
    ],
)
def test_a_name_that_only_looks_the_same_is_the_same(member: Client, judge: Client, name: str) -> None:
    assert member.submit("/teams", name="Trackers").status_code == 303
    assert "there is a team of this name" in judge.submit("/teams", name=name).text


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


def test_an_admins_link_sets_a_password_once(
    admin: Client, member: Client, client: Client, program: Callable[[Client], Client]
) -> None:
    assert member.user
    token = program(member)
    assert token.get("/api/v1/account").status_code == 200
    link = shown_secret(admin.submit(f"/admin/people/{member.user.id}/link").text)
    secret = link.partition("=")[2]
    assert "New password" in client.get(link.replace("http://testserver", "")).text
    assert "at least 10" in client.submit("/password/new", link=secret, password="short").text
    assert client.submit("/password/new", link=secret, password="another password").status_code == 303
    assert "used or too old" in client.submit("/password/new", link=secret, password="a third password").text
    assert member.get("/account").status_code == 303
    assert token.get("/api/v1/account").status_code == 401
    assert client.submit("/login", email="member@example.org", password="another password").status_code == 303


def test_an_admins_invitation_gives_a_role(admin: Client, member: Client) -> None:
    link = shown_secret(admin.submit("/admin/invitations", role="judge", note="for Ada").text)
    assert member.submit("/join", invitation=link.partition("=")[2]).status_code == 303
    assert "judge" in member.get("/account").text


def test_an_invitation_is_revoked_by_who_may_make_it(
    admin: Client, member: Client, judge: Client, worker: Client, database: Database
) -> None:
    links = [shown_secret(admin.submit("/admin/invitations", role="judge", note="for Ada").text)]
    place = member.submit("/teams", name="We").headers["location"]
    links.append(shown_secret(member.submit(f"{place}/invite").text))
    assert "for Ada" in admin.get("/admin").text
    assert "/invitations/2/revoke" in member.get(place).text
    for number, owner, others in ((1, admin, (member, judge)), (2, member, (admin, judge))):
        for other in others:
            assert other.submit(f"/invitations/{number}/revoke").status_code == 404
        assert owner.submit(f"/invitations/{number}/revoke").status_code == 303
    assert "for Ada" not in admin.get("/admin").text
    for link in links:
        assert worker.submit("/join", invitation=link.partition("=")[2]).status_code == 400


@pytest.mark.parametrize("how", ["removed", "shut out"])
def test_an_invitation_is_worth_what_its_maker_may_still_do(
    admin: Client, member: Client, judge: Client, worker: Client, how: str
) -> None:
    """Somebody who is put out does not come back by a link of their own."""
    if how == "removed":
        place = member.submit("/teams", name="We").headers["location"]
        worker.submit("/join", invitation=shown_secret(member.submit(f"{place}/invite").text).partition("=")[2])
        judge.submit("/join", invitation=shown_secret(member.submit(f"{place}/invite").text).partition("=")[2])
        link = shown_secret(member.submit(f"{place}/invite").text)
        member.submit(f"{place}/remove", member=str(member.user.id))  # type: ignore[union-attr]
        comer = member
    else:
        admin.submit(f"/admin/people/{judge.user.id}/roles", roles="admin")  # type: ignore[union-attr]
        link = shown_secret(judge.submit("/admin/invitations", role="admin", note="for me").text)
        admin.submit(f"/admin/people/{judge.user.id}/disable")  # type: ignore[union-attr]
        assert "for me" not in admin.get("/admin").text
        comer = worker
    refused = comer.submit("/join", invitation=link.partition("=")[2])
    assert (refused.status_code, "may make none any more" in refused.text) == (400, True)


@pytest.mark.parametrize("change", ["password", "address"])
def test_a_link_to_a_new_password_ends_with_the_password_and_the_address(
    member: Client, client: Client, database: Database, settings: Settings, change: str
) -> None:
    with database.session() as db:
        user = db.get_one(User, member.user.id)  # type: ignore[union-attr]
        link = accounts.make_reset(db, settings, user).partition("=")[2]
    if change == "password":
        member.submit("/account/password", password=PASSWORD, new="quite another one")
    else:
        member.submit("/account", name="Member", email="new@example.org", password=PASSWORD)
    assert client.submit("/password/new", link=link, password="of somebody else").status_code == 400


@pytest.mark.parametrize(
    ("name", "again"), [("Äpfel", "äpfel"), ("Straße", "STRASSE"), ("\uff37e", "we"), ("We", "WE")]
)
def test_a_team_has_its_name_in_any_capitals(member: Client, judge: Client, name: str, again: str) -> None:
    assert member.submit("/teams", name=name).status_code == 303
    assert "a team of this name" in judge.submit("/teams", name=again).text


def test_an_invitation_is_good_once_however_many_come_at_once(
    add_client: Callable[..., Client], database: Database, settings: Settings
) -> None:
    with database.session() as db:
        secret = accounts.invite(db, settings, None, role=Role.JUDGE).rpartition("=")[2]
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
