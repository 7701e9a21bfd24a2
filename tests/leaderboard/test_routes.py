"""Every route tried by every role. A route of any area joins by being listed in `pages` or `api`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dstress.leaderboard.tables.accounts import Role
from tests.leaderboard.clients import Client
from tests.leaderboard.routes import FOR_ANYBODY, Entry, entries

SAFE = {"GET", "HEAD"}


def ask(client: Client, entry: Entry, **given: Any) -> Any:
    return client.request(entry.method, entry.address, **given)


def is_refused(entry: Entry, answer: Any, somebody: bool) -> bool:
    """Whether an answer is the one that a person without the role must get."""
    if somebody:
        return bool(answer.status_code == 403)
    if entry.is_api:
        return bool(answer.status_code == 401)
    return bool(answer.status_code == 303 and answer.headers["location"].startswith("/login"))


def test_every_route_by_every_role(
    client: Client, add_client: Callable[..., Client], program: Callable[[Client], Client]
) -> None:
    wrong = []
    for number, entry in enumerate(entries()):
        data = {} if entry.is_api or entry.method in SAFE else {"csrf": client.csrf()}
        answer = ask(client, entry, data=data)
        refused = is_refused(entry, answer, somebody=False)
        if answer.status_code >= 500 or refused != (entry.role is not None):
            wrong.append(f"{entry.name} by nobody: {answer.status_code}")
        for role in Role:
            person = add_client(f"{role}{number}", role)
            asking = program(person) if entry.is_api else person
            data = {} if entry.is_api or entry.method in SAFE else {"csrf": person.csrf()}
            answer = ask(asking, entry, data=data)
            may = entry.role is None or entry.role in (role, Role.MEMBER) or role == Role.ADMIN
            bad = answer.status_code in (401, 403) if may else not is_refused(entry, answer, somebody=True)
            if answer.status_code >= 500 or bad:
                wrong.append(f"{entry.name} by {role}: {answer.status_code}")
    assert wrong == []


def test_no_form_is_taken_without_its_token(client: Client, admin: Client) -> None:
    """Nor with another browser's."""
    wrong = []
    for entry in entries():
        if not entry.is_api and entry.method not in SAFE:
            for sender, token in ((client, ""), (admin, ""), (admin, client.csrf())):
                answer = ask(sender, entry, data={"csrf": token})
                if answer.status_code != 403:
                    wrong.append(f"{entry.name}: {answer.status_code}")
    assert wrong == []


def test_cookies_do_not_open_the_api_nor_tokens_the_pages(admin: Client, program: Callable[[Client], Client]) -> None:
    """A browser sends cookies with forged requests too; the API, which has no forms, must not believe them."""
    token = program(admin)
    for entry in entries():
        if entry.role is not None:
            answer = ask(admin if entry.is_api else token, entry)
            assert answer.status_code == (401 if entry.is_api else 303 if entry.method in SAFE else 403), entry.name


def test_nothing_is_listed_as_open_that_is_not_there() -> None:
    assert {entry.name for entry in entries()} >= FOR_ANYBODY
