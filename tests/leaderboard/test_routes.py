"""Every route tried by every role, and by who owns what it is about and who does not.

A route of any area joins by being listed in `pages` or `api`, and fails here until `RIGHTS` says whom it is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.collection import service as collecting
from dstress.leaderboard.database import Database
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import (
    Assignment,
    CollectionTask,
    Invitation,
    JudgingItem,
    JudgingRound,
    JudgingSeat,
    Plots,
    Role,
    StoredResult,
    Submission,
    System,
    Token,
)
from tests.leaderboard.clients import Client
from tests.leaderboard.entered import enter_systems
from tests.leaderboard.routes import FOR_ANYBODY, Entry, entries
from tests.leaderboard.test_collecting import rewrites

SAFE = {"GET", "HEAD"}
PEOPLE = {
    "owner": (Role.ORGANISER,),
    "organiser": (Role.ORGANISER,),
    "admin": (Role.ADMIN,),
    "judge": (Role.JUDGE,),
    "worker": (Role.WORKER,),
    "participant": (),
    "nobody": (),
}
"""`owner` organises the benchmark, its round and the collection; `organiser` others; `nobody` is not signed in.

The judge has the round's only seat, the worker has a task in hand, the participant has a team with a submission.
"""
ANYBODY = set(PEOPLE)
MEMBERS = ANYBODY - {"nobody"}
OWNER = {"owner", "admin"}
_API = "/api/v1"
RIGHTS: list[tuple[set[str], str]] = [
    (set(), "GET /metrics"),  # the server's own network asks it, and these people come from elsewhere
    (
        ANYBODY,
        """
        GET /playground
        GET /healthz; GET /login; POST /login; GET /signup; POST /signup; POST /logout; GET /join; GET /
        GET /password/forgotten; POST /password/forgotten; GET /password/new; POST /password/new
        GET /benchmarks/{slug}; GET /benchmarks/{slug}/state; GET /benchmarks/{slug}/inputs/{layout}.zip
        GET /benchmarks/{slug}/history; GET /benchmarks/{slug}/leaderboard.json; GET /benchmarks/{slug}/leaderboard.csv
        GET /benchmarks/{slug}/badges/{system_id}.svg; GET /api/v1/benchmarks; GET /api/v1/benchmarks/{slug}
        GET /api/v1/benchmarks/{slug}/inputs/{layout}; GET /api/v1/benchmarks/{slug}/leaderboard
        """,
    ),
    (
        MEMBERS,
        """
        GET /account; POST /account; GET /account/security; POST /account/password; POST /account/sessions/end
        GET /account/data; GET /account/export; POST /account/delete; GET /account/tokens; POST /account/tokens
        GET /teams; POST /teams; POST /join; GET /submissions; GET /judging; GET /collecting
        GET /benchmarks/{slug}/submit; POST /benchmarks/{slug}/submit; POST /api/v1/benchmarks/{slug}/submissions
        GET /collecting/{collection_id}; GET /api/v1/account; GET /api/v1/submissions; GET /api/v1/collections
        GET /api/v1/judging/rounds; GET /api/v1/judging/rounds/{round_id}
        """,
    ),
    (
        {"participant"},
        """
        POST /account/tokens/{token_id}/revoke; GET /teams/{team_id}; POST /teams/{team_id}/invite
        POST /teams/{team_id}/remove; GET /submissions/{submission_id}; GET /submissions/{submission_id}/state
        POST /submissions/{submission_id}/{action}; GET /systems/{system_id}; GET /systems/{system_id}/plots
        POST /systems/{system_id}/address
        GET /api/v1/submissions/{submission_id}; GET /api/v1/submissions/{submission_id}/scores
        POST /api/v1/submissions/{submission_id}/{action}
        """,
    ),
    (
        {"owner", "organiser", "admin"},
        """
        GET /benchmarks/new; POST /benchmarks/new; POST /api/v1/benchmarks; GET /judging/new
        GET /collecting/new; POST /collecting/new; POST /api/v1/collections
        """,
    ),
    (
        OWNER,
        """
        POST /benchmarks/{slug}/terms; POST /benchmarks/{slug}/delete; DELETE /api/v1/benchmarks/{slug}
        POST /judging/new; POST /api/v1/judging/rounds; POST /judging/{round_id}/free; POST /judging/{round_id}/close
        POST /api/v1/judging/rounds/{round_id}/close; POST /collecting/{collection_id}/close
        GET /collecting/{collection_id}/vetting; POST /collecting/{collection_id}/vetting
        GET /collecting/{collection_id}/export; GET /api/v1/collections/{collection_id}/export
        """,
    ),
    ({"owner", "organiser", "admin", "judge"}, "GET /judging/{round_id}"),
    ({"judge", "admin"}, "POST /judging/{round_id}/seat; POST /api/v1/judging/rounds/{round_id}/seat"),
    (
        {"judge"},
        """
        POST /judging/{round_id}/clear; GET /judging/{round_id}/{number}; POST /judging/{round_id}/{number}
        GET /api/v1/judging/rounds/{round_id}/items; PUT /api/v1/judging/rounds/{round_id}/items/{number}
        POST /judging/{round_id}/{number}/say; POST /judging/{round_id}/{number}/again
        POST /api/v1/judging/rounds/{round_id}/items/{number}/say
        """,
    ),
    ({"worker", "admin"}, "POST /collecting/{collection_id}/take; POST /api/v1/collections/{collection_id}/tasks"),
    (
        {"worker"},
        """
        GET /collecting/tasks/{assignment_id}; POST /collecting/tasks/{assignment_id}
        POST /collecting/tasks/{assignment_id}/check; POST /collecting/tasks/{assignment_id}/back
        POST /api/v1/collections/tasks/{assignment_id}/check; POST /api/v1/collections/tasks/{assignment_id}
        """,
    ),
    (
        {"admin"},
        """
        POST /invitations/{invitation_id}/revoke; GET /admin
        POST /admin/people/{user_id}/roles; POST /admin/people/{user_id}/disable
        POST /admin/people/{user_id}/link; POST /admin/invitations; GET /admin/audit
        """,
    ),
]
"""Whom a route answers, about objects as `PEOPLE` have them."""


def ask(client: Client, entry: Entry, **given: Any) -> Any:
    return client.request(entry.method, entry.address, **given)


def is_refused(entry: Entry, answer: Any, somebody: bool) -> bool:
    """Whether an answer is the one that a person without the role must get."""
    if somebody:
        return bool(answer.status_code == 403)
    if entry.is_api:
        return bool(answer.status_code == 401)
    return bool(answer.status_code == 303 and answer.headers["location"].startswith("/login"))


@pytest.mark.slow
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


@pytest.mark.slow
def test_every_route_by_who_owns_its_object_and_who_does_not(
    database: Database, settings: Settings, client: Client, add_client: Callable[..., Client],
    program: Callable[[Client], Client],
) -> None:  # fmt: skip
    people = {name: client if name == "nobody" else add_client(name, *roles) for name, roles in PEOPLE.items()}
    users = {name: person.user for name, person in people.items() if person.user}
    entered = enter_systems(database, settings, users["owner"])
    plan = collecting.CollectionPlan(kind="rewrites", corpus="reminder:test", turns=2)
    with database.session() as db:
        published = db.get_one(Submission, entered.submissions["Rules"])
        team = accounts.make_team(db, users["participant"], "Participants")
        own = System(benchmark_id=entered.benchmark, team_id=team.id, name="Own")
        values = ("state", "file", "file_name", "size", "format", "fingerprint")
        submission = Submission(system=own, version=1, **{name: getattr(published, name) for name in values})
        scored = {name: getattr(published.result, name) for name in ("results", "statistics", "version", "worker")}
        submission.result, submission.plots = StoredResult(**scored), Plots()
        judging = JudgingRound(
            benchmark_id=entered.benchmark, title="Round", kind="systems", plan={}, seats=1,
            created_by=users["owner"].id, items=[JudgingItem(
                number=1, shown=dict.fromkeys(("history", "system", "user", "goal", "response"), "words"),
                questions=["correct"], subjects=["gold"], place={},
            )],
        )  # fmt: skip
        collection = collecting.start_collection(db, plan, users["owner"])
        tasks = [Assignment(task_id=task.id, place=0, user_id=users["worker"].id) for task in collection.tasks]
        accounts.make_token(db, users["participant"], "to revoke")
        accounts.invite(db, settings, users["admin"], role=Role.JUDGE)
        db.add_all([submission, judging, *tasks])
        db.flush()
        db.add(JudgingSeat(round_id=judging.id, seat=1, user_id=users["judge"].id))
        places = {
            "slug": "small-benchmark", "layout": "dstress", "submission_id": submission.id, "system_id": own.id,
            "action": "hide", "round_id": judging.id, "number": 1, "collection_id": collection.id, "team_id": team.id,
            "assignment_id": tasks[0].id, "token_id": db.scalar(select(Token.id)),
            "invitation_id": db.scalar(select(Invitation.id)),
            "user_id": accounts.add_user(db, "spare@example.org", "Spare").id,
        }  # fmt: skip
        task = collecting.read_task(db.get_one(CollectionTask, tasks[0].task_id))
        texts = rewrites(task)  # type: ignore[arg-type]
    elsewhere = {
        "GET /benchmarks/{slug}/badges/{system_id}.svg": {"system_id": published.system_id},
        "POST /collecting/tasks/{assignment_id}/back": {"assignment_id": tasks[1].id},
    }
    written = {f"text {name}": text for name, text in texts.items()}
    bodies: dict[str, dict[str, Any]] = {
        "POST /benchmarks/{slug}/terms": {"title": "Small benchmark"},
        "POST /benchmarks/{slug}/delete": {"name": "not its name"},
        "POST /teams/{team_id}/remove": {"member": 2**31 - 1},
        "POST /judging/new": {"choice": f"{entered.benchmark} systems original", "turns": 1},
        "POST /judging/{round_id}/free": {"seat": 2},
        "POST /judging/{round_id}/{number}/say": {"text": "hello"},
        f"POST {_API}/judging/rounds/{{round_id}}/items/{{number}}/say": {"text": "hello"},
        "POST /collecting/tasks/{assignment_id}": written,
        "POST /collecting/tasks/{assignment_id}/check": written,
        "POST /collecting/{collection_id}/vetting": {"answer": [1], "state": "accepted"},
        f"POST {_API}/judging/rounds": {"benchmark": "small-benchmark", "turns": 1},
        f"PUT {_API}/judging/rounds/{{round_id}}/items/{{number}}": {"correct": True},
        f"POST {_API}/collections/tasks/{{assignment_id}}/check": {"texts": texts},
        f"POST {_API}/collections/tasks/{{assignment_id}}": {"texts": texts},
    }
    rights = {name.strip(): who for who, names in RIGHTS for name in re.split("[;\n]", names) if name.strip()}
    routes = list(entries())
    assert {entry.name for entry in routes} == rights.keys()
    by_role = {None: ANYBODY, Role.MEMBER: MEMBERS} | {
        role: {name for name, roles in PEOPLE.items() if role in roles or Role.ADMIN in roles}
        for role in Role
        if role != Role.MEMBER
    }
    programs = {name: program(person) if person.user else person for name, person in people.items()}
    wrong = []
    for entry in routes:
        address = entry.path.format(**(places | elsewhere.get(entry.name, {})))
        body = bodies.get(entry.name, {})
        for name in reversed(PEOPLE):  # those who may not before those who may
            asking = programs[name] if entry.is_api else people[name]
            if entry.name in ("POST /logout", "POST /account/sessions/end") and name != "nobody":
                asking = add_client(f"{name}-{entry.path.rpartition('/')[2]}", *PEOPLE[name])
            if entry.is_api:
                sent: dict[str, Any] = {} if entry.method in SAFE else {"json": body}
            else:
                sent = {} if entry.method in SAFE else {"data": {"csrf": asking.csrf()} | body}
            answer = asking.request(entry.method, address, **sent)
            to_login = answer.status_code == 303 and answer.headers["location"].startswith("/login")
            refused = answer.status_code in (401, 403, 404) or (to_login and entry.role is not None)
            # A form that is wrong says nothing of who may send it, where that is for the object to say.
            unknown = answer.status_code == 422 and rights[entry.name] != by_role[entry.role]
            if refused == (name in rights[entry.name]) or unknown or answer.status_code >= 500:
                wrong.append(f"{entry.name} by {name}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
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
