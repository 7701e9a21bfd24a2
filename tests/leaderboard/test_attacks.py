"""Hostile values in every field of every route, bodies without end, and scripts that must stay text."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from fastapi import FastAPI, HTTPException, UploadFile
from sqlalchemy import select

from dstress.leaderboard.app import UPLOADS
from dstress.leaderboard.database import Database
from dstress.leaderboard.tables import Role, Team, User
from dstress.leaderboard.web import access, limits, security
from dstress.leaderboard.web.access import Uploads
from dstress.leaderboard.web.security import LARGEST_FORM
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD
from tests.leaderboard.routes import Entry, entries

HOSTILE = [
    "'; drop table users; --",
    "%' or 1=1) union select password_hash from users; --",
    '"><script>alert(1)</script>{{ 7919 * 7919 }}{% raw %}',
    "\ud800",
    "a\0b",
    "9" * 400,
    "x" * 30_000,
    "",
]
PLAUSIBLE = {
    "email": "somebody@example.org",
    "password": PASSWORD,
    "new": "another password",
    "days": "3",
    "member": "1",
}


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "count", lambda *_: None)


def encodable(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.slow
@pytest.mark.usefixtures("unlimited")
def test_no_field_breaks_the_server_or_reaches_the_database(
    admin: Client, client: Client, add_client: Callable[..., Client], database: Database
) -> None:
    """Each field of each form in turn, then all at once, by all who may; what comes back is never a 500."""
    wrong = []
    for number, entry in enumerate(entries()):
        person = add_client(f"Somebody{number}", *admin.user.roles if admin.user else ())
        names = [name for name in (*entry.fields, *entry.queries) if name != "csrf"]
        for hostile in HOSTILE:
            senders = [person] if entry.role else [person, client]
            tokens = {sender: sender.csrf() for sender in senders} if names else {}
            for chosen in [*([name] for name in names), names] if names else []:
                given = {name: PLAUSIBLE.get(name, "x") for name in names} | dict.fromkeys(chosen, hostile)
                for sender, token in tokens.items():
                    answer = send(sender, entry, given, token)
                    if answer.status_code >= 500 or "62710561" in answer.text:
                        wrong.append(f"{entry.name} {chosen} {hostile[:30]!r}: {answer.status_code}")
    assert wrong == []
    with database.session(write=False) as db:
        assert db.scalar(select(User.id).where(User.email == "admin@example.org"))


def send(client: Client, entry: Entry, given: dict[str, str], token: str) -> Any:
    asked = {name: encodable(value[:3000]) for name, value in given.items() if name in entry.queries}
    data = {name: encodable(value) for name, value in given.items() if name not in entry.queries}
    headers = {"x-csrf-token": token}
    return client.request(entry.method, entry.address, params=asked, data=data or None, headers=headers)


@pytest.mark.slow
@pytest.mark.usefixtures("unlimited")
def test_hostile_numbers_in_addresses_are_refused(admin: Client) -> None:
    wrong = []
    for entry in entries():
        if "{" in entry.path:
            for hostile in ("0", "-1", "9" * 30, "1e9", "%27%3B--", "%00", "..%2f..%2fetc", "%ED%A0%80", "x" * 5000):
                address = re.sub(r"{[^}]*}", hostile, entry.path)
                answer = admin.request(entry.method, address, headers={"x-csrf-token": admin.csrf()})
                if answer.status_code >= 500:
                    wrong.append(f"{entry.name} {hostile[:20]}: {answer.status_code}")
    assert wrong == []


def test_scripts_in_names_are_shown_as_text(admin: Client, member: Client, database: Database) -> None:
    script = "<script>alert(1)</script>\"'&"
    with database.session() as db:
        for user in db.scalars(select(User)):
            user.name = script
    place = member.submit("/teams", name=f"T {script}").headers["location"]
    member.submit("/account/tokens", name=script)
    for client, path in ((member, "/account"), (member, place), (member, "/account/tokens"), (member, "/teams"),
                         (admin, "/admin"), (admin, "/admin/audit"), (member, "/nowhere")):  # fmt: skip
        page = client.get(path)
        assert "<script>alert" not in page.text, path
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;" in page.text, path


def test_every_answer_forbids_foreign_scripts(member: Client, client: Client) -> None:
    for asked in (client, member):
        for path in ("/login", "/account", "/nowhere", "/static/site.css", "/api/v1/account", "/api/v1/openapi.json"):
            headers = asked.get(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"


def test_pages_have_no_inline_script_or_style(admin: Client) -> None:
    """The policy above would stop them; a page that needs them is broken."""
    for entry in entries():
        if entry.method == "GET" and not entry.is_api:
            page = admin.get(entry.address).text
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page), entry.path


def test_a_body_over_the_limit_is_refused_unread(make_app: Callable[..., FastAPI]) -> None:
    client = Client(make_app(max_upload=100_000))
    csrf = client.csrf()
    stated = client.post("/login", data={"csrf": csrf, "email": "a@b", "password": "x" * 200_000})
    assert stated.status_code == 413
    drops = (b"x" * 1000 for _ in range(1000))
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/login", content=drops, headers=form).status_code == 413
    assert client.post("/login", content=b"x", headers=form | {"content-length": "-5"}).status_code in (400, 413)


def run_aside(work: Callable[..., Any], *arguments: Any) -> None:
    """In a thread of its own, since a browser of other tests may hold this one's loop."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, work, *arguments).result()


def send_large(app: FastAPI, entry: Entry, stated: bool, headers: dict[str, str]) -> tuple[int, int]:
    """The status of an answer to 100 MB, and how many bytes of them were read."""
    read, statuses = 0, []
    headers = headers | {"content-type": "multipart/form-data; boundary=b"}
    headers |= {"content-length": "100000000"} if stated else {}
    scope = {
        "type": "http", "method": entry.method, "path": entry.address, "raw_path": b"", "query_string": b"",
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()], "client": ("192.0.2.1", 1),
        "scheme": "http", "server": ("testserver", 80), "root_path": "", "http_version": "1.1",
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        nonlocal read
        begin = b"" if read else b'--b\r\nContent-Disposition: form-data; name="answers"; filename="a"\r\n\r\n'
        read += 65_536
        more = read < 100_000_000
        body = begin.ljust(65_536, b"x") if more else b"\r\n--b--\r\n".rjust(65_536, b"x")
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    run_aside(app, scope, receive, send)
    return statuses[0], read


def test_nobody_sends_a_large_body(app: FastAPI) -> None:
    """Nothing of it is read where its length is stated, and no more than a form's where it is not."""
    for entry in entries():
        if entry.method not in ("GET", "HEAD"):
            for stated in (True, False):
                status, read = send_large(app, entry, stated, {})
                assert status in (401, 403, 413) or (status, read) == (303, 0), (entry.name, stated, status)
                assert read <= (0 if stated else LARGEST_FORM + 65_536), (entry.name, stated, read)


def test_who_may_send_files_sends_one_at_a_time(
    app: FastAPI, member: Client, program: Callable[[Client], Client]
) -> None:
    """Only to the routes that take files, and only in the role that these need."""
    headers = {"authorization": program(member).headers["authorization"]}
    routes = {entry.name: entry for entry in entries()}
    assert send_large(app, routes["POST /api/v1/benchmarks"], True, headers) == (403, 0)
    assert send_large(app, routes["POST /api/v1/judging/rounds"], True, headers)[1] == 0
    assert send_large(app, routes["POST /api/v1/benchmarks/{slug}/submissions"], True, headers)[1] > LARGEST_FORM
    lines = [(name.encode(), text.encode()) for name, text in headers.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/files",
        "app": app,
        "headers": lines,
        "query_string": b"",
    }
    uploads = Uploads({"/api/v1/files": Role.MEMBER})

    async def send_two() -> None:
        for _ in range(2):  # the place is free again afterwards
            async with uploads.admit(scope) as may:
                assert may
                with pytest.raises(HTTPException, match="one after the other"):
                    async with uploads.admit(scope):
                        pass

    run_aside(send_two)


def test_who_sends_slowly_gives_way_to_who_waits(
    make_app: Callable[..., FastAPI], add_client: Callable[..., Client], program: Callable[[Client], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Members who drip their files, one for each place, keep nobody else out for long."""
    monkeypatch.setattr(access, "_UPLOADS_AT_ONCE", 2)
    monkeypatch.setattr(security, "_GRACE", 0.2)
    app, answers = make_app(), list[tuple[str, int]]()

    async def ask(name: str, token: str, pause: float) -> None:
        lines = {"authorization": token, "content-type": "multipart/form-data; boundary=b", "content-length": "9000000"}
        scope = {
            "type": "http", "method": "POST", "path": "/api/v1/benchmarks/none/submissions", "raw_path": b"",
            "query_string": b"", "headers": [(key.encode(), text.encode()) for key, text in lines.items()],
            "client": ("192.0.2.1", 1), "scheme": "http", "server": ("testserver", 80), "root_path": "",
            "http_version": "1.1",
        }  # fmt: skip
        sent = 0

        async def receive() -> dict[str, Any]:
            nonlocal sent
            await anyio.sleep(pause)
            begin = b"" if sent else b'--b\r\nContent-Disposition: form-data; name="answers"; filename="a"\r\n\r\n'
            sent += 9_000_000 if not pause else len(begin) or 1
            body = begin.ljust(8_999_991, b"x") + b"\r\n--b--\r\n" if not pause else begin or b"x"
            return {"type": "http.request", "body": body, "more_body": sent < 9_000_000}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answers.append((name, message["status"]))

        await app(scope, receive, send)

    tokens = [program(add_client(name)).headers["authorization"] for name in ("One", "Two", "Three")]

    async def send_all() -> None:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for name, token in zip(("slow", "slow", "quick"), tokens, strict=True):
                    group.start_soon(ask, name, token, 0.0 if name == "quick" else 0.05)
                    await anyio.sleep(0.1)
                while not any(name == "quick" for name, _ in answers):
                    await anyio.sleep(0.05)
                group.cancel_scope.cancel()

    run_aside(send_all)
    assert ("slow", 408) in answers
    assert next(status for name, status in answers if name == "quick") not in (408, 429, 503)


def test_routes_that_take_files_are_named() -> None:
    taking = {
        entry.path
        for entry in entries()
        for part in entry.parts
        if any(field.annotation is UploadFile for field in getattr(part, "model_fields", {}).values())
    }
    assert taking == set(UPLOADS)


def test_a_bug_shows_no_trace(app: FastAPI, admin: Client, caplog: pytest.LogCaptureFixture) -> None:
    """What went wrong is in the log under the number that the page shows, and nowhere else."""

    @app.get("/broken")
    def broken() -> None:
        raise ZeroDivisionError("secret detail")

    answer = admin.get("/broken")
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert "secret detail" in caplog.text
    assert "content-security-policy" in answer.headers


def test_the_team_of_others_is_out_of_reach(member: Client, judge: Client, database: Database) -> None:
    place = judge.submit("/teams", name="Others").headers["location"]
    with database.session(write=False) as db:
        team = db.scalars(select(Team)).one()
    assert judge.user
    for path, fields in ((f"{place}/invite", {}), (f"{place}/remove", {"member": str(judge.user.id)})):
        assert member.submit(path, **fields).status_code == 404
    assert "Others" not in member.get(f"/teams/{team.id}").text
