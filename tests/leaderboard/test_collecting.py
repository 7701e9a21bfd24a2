"""Collection on the platform: tasks, the check as people type, vetting, exports."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dstress.corpora import load
from dstress.leaderboard.collection import service as store
from dstress.leaderboard.collection.elements import ElementTask
from dstress.leaderboard.collection.rewrites import KINDS, RewriteTask
from dstress.leaderboard.database import Database
from dstress.leaderboard.tables import ACCEPTED, Assignment, CollectedAnswer, Collection, CollectionTask, Role, now
from dstress.stressors.schema.variant import read_pool
from tests.leaderboard.clients import Client


@pytest.fixture
def start(organiser: Client) -> Callable[..., int]:
    def begin(kind: str = "rewrites", **fields: Any) -> int:
        form = {"kind": kind, "corpus": "reminder:test", "turns": 3, "workers": 1, "seed": 1} | fields
        made = organiser.submit("/collecting/new", **form)
        assert made.status_code == 303, made.text
        return int(made.headers["location"].rpartition("/")[2])

    return begin


def task_of(database: Database, address: str) -> RewriteTask | ElementTask:
    with database.session(write=False) as db:
        return store.read_task(db.get_one(Assignment, int(address.rpartition("/")[2])).task)


def rewrites(task: RewriteTask, mark: str = "") -> dict[str, str]:
    """Something acceptable for each kind."""
    kept, original = " ".join(task.kept), task.utterance.text
    return {
        "paraphrase": f"{mark}put differently {kept}",
        "typos": f"{mark}{original} plaese",
        "verbose": f"{mark}well now so as I was saying to you {original} and so on",
        "simplified": kept if kept and len(kept.split()) < len(original.split()) else "ok",
    }


def write(client: Client, database: Database, address: str, mark: str = "") -> Any:
    """Do the task at an address."""
    task = task_of(database, address)
    if isinstance(task, RewriteTask):
        texts = rewrites(task, mark)
    else:
        texts = {str(n): f"{mark} {n} some new words" for n in range(1, len(task.prompts) + 1)}
    return client.submit(address, **{f"text {name}": text for name, text in texts.items()})


def do_all(client: Client, database: Database, collection_id: int, mark: str = "") -> int:
    """Do tasks until nothing is left; how many it were."""
    gone, count = client.submit(f"/collecting/{collection_id}/take").headers["location"], 0
    while "/tasks/" in gone:
        answer = write(client, database, gone, mark)
        assert answer.status_code == 303, answer.text
        gone, count = answer.headers["location"], count + 1
    return count


@pytest.mark.slow
def test_rewrites_are_taken_written_vetted_and_exported(
    database: Database, organiser: Client, worker: Client, start: Callable[..., int], tmp_path: Path
) -> None:
    collection_id = start()
    assert do_all(worker, database, collection_id) == 3
    shown = organiser.get(f"/collecting/{collection_id}/vetting")
    answers = [int(found) for found in re.findall(r'<li>.*?name="answer" value="(\d+)"', shown.text, re.DOTALL)]
    assert len(answers) == 12
    organiser.submit(f"/collecting/{collection_id}/vetting", answer=answers[1:], state="accepted")
    organiser.submit(f"/collecting/{collection_id}/vetting", answer=answers[:1], state="rejected")
    packed = organiser.get(f"/collecting/{collection_id}/export")
    assert packed.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert "Apache-2.0" in archive.read("LICENCE.txt").decode()
        archive.extractall(tmp_path / "out")
    changed = 0
    for kind in KINDS:
        stressed = load(str(tmp_path / "out" / "stressed" / kind))
        changed += sum(turn.changed for dialogue in stressed for turn in dialogue.turns)
        assert len(stressed) == len(load("reminder:test"))
    assert changed == 11


def test_a_value_that_is_lost_is_told_as_people_type_and_refused(
    database: Database, worker: Client, start: Callable[..., int]
) -> None:
    collection_id = start(turns=40, seed=2)
    address = worker.submit(f"/collecting/{collection_id}/take").headers["location"]
    while not (task := task_of(database, address)).kept:  # type: ignore[union-attr]
        address = write(worker, database, address).headers["location"]
    assert isinstance(task, RewriteTask)
    lost = rewrites(task) | {"paraphrase": "something else altogether"}
    fields = {f"text {name}": text for name, text in lost.items()}
    checked = worker.submit(f"{address}/check", **fields).json()["problems"]
    assert list(checked) == ["paraphrase"] and all(words in checked["paraphrase"] for words in task.kept)
    refused = worker.submit(address, **fields)
    assert refused.status_code == 422 and "something else altogether" in refused.text
    assert write(worker, database, address).status_code == 303


def test_names_are_written_blind(database: Database, worker: Client, start: Callable[..., int]) -> None:
    """Neither the page nor the API shows what is asked for: names, nor the service's own name."""
    collection_id = start("elements")
    for _ in range(30):
        address = worker.submit(f"/collecting/{collection_id}/take").headers["location"]
        task = task_of(database, address)
        assert isinstance(task, ElementTask)
        page = worker.get(address).text
        main = page[page.index("<h1") : page.index("</main")]
        if task.asked == "names":
            for key in (prompt.key.partition(" ")[2] for prompt in task.prompts if "_" in prompt.key):
                assert key not in main
            break
        write(worker, database, address)
    assert task.asked == "names"


def test_a_worker_never_meets_a_service_in_both_directions(
    database: Database, worker: Client, start: Callable[..., int]
) -> None:
    collection_id = start("elements")
    services = len(load("reminder:test").schema.services)
    assert do_all(worker, database, collection_id) == services
    with database.session(write=False) as db:
        keys = list(db.scalars(select(CollectionTask.key).join(Assignment, Assignment.task_id == CollectionTask.id)))
    assert len(keys) == len({key.rpartition(" ")[0] for key in keys}) == services


def test_elements_become_a_pool_that_schema_variant_reads(
    database: Database, organiser: Client, start: Callable[..., int], add_client: Callable[..., Client], tmp_path: Path
) -> None:
    collection_id = start("elements", workers=2)
    for number in range(4):
        do_all(add_client(f"Worker{number}", Role.WORKER), database, collection_id, "abcd"[number])
    with database.session() as db:
        for answer in db.scalars(select(CollectedAnswer)):
            answer.state = ACCEPTED
    pool = tmp_path / "pool.toml"
    pool.write_bytes(organiser.get(f"/collecting/{collection_id}/export").content)
    assert pool.read_text().startswith("# elements of reminder:test\n") and "licence is: Apache-2.0" in pool.read_text()
    schema = load("reminder:test").schema
    assert read_pool(pool).share(schema) == 1.0
    slot = schema.services[0].slots[0]
    names = read_pool(pool).services[schema.services[0].name].slots[slot.name].names
    assert len(names) == 2 and all(name.endswith("_some_new_words") for name in names)


def test_no_task_is_done_by_more_people_than_are_wanted(
    database: Database, start: Callable[..., int], add_client: Callable[..., Client]
) -> None:
    collection_id = start(workers=2, turns=2)
    done = [do_all(add_client(f"W{number}", Role.WORKER), database, collection_id, str(number)) for number in range(3)]
    assert done == [2, 2, 0]


def test_a_task_that_is_not_done_goes_back(
    database: Database, worker: Client, start: Callable[..., int], add_client: Callable[..., Client]
) -> None:
    collection_id, other = start(turns=1), add_client("Other", Role.WORKER)
    address = worker.submit(f"/collecting/{collection_id}/take").headers["location"]
    assert worker.submit(f"/collecting/{collection_id}/take").headers["location"] == address
    assert "/tasks/" not in other.submit(f"/collecting/{collection_id}/take").headers["location"]
    with database.session() as db:
        db.get_one(Assignment, int(address.rpartition("/")[2])).taken_at = now() - timedelta(hours=3)
    taken = other.submit(f"/collecting/{collection_id}/take").headers["location"]
    assert "/tasks/" in taken and worker.get(address).status_code == 404
    assert worker.get(taken).status_code == 404  # somebody else's
    other.submit(f"{taken}/back")
    assert "/tasks/" in worker.submit(f"/collecting/{collection_id}/take").headers["location"]


def test_what_people_write_is_shown_as_text(
    database: Database, organiser: Client, worker: Client, start: Callable[..., int]
) -> None:
    collection_id = start(turns=1, title="<script>alert(1)</script>")
    do_all(worker, database, collection_id, "<script>alert(2)</script>'; DROP TABLE users; -- ")
    for client, page in ((organiser, "/vetting"), (organiser, ""), (worker, "")):
        shown = client.get(f"/collecting/{collection_id}{page}")
        assert shown.status_code == 200 and "<script>alert" not in shown.text and "&lt;script&gt;" in shown.text


def test_many_at_once_get_no_more_than_there_is(
    database: Database, start: Callable[..., int], add_client: Callable[..., Client]
) -> None:
    collection_id = start(workers=3, turns=1)
    users = [add_client(f"W{number}", Role.WORKER).user for number in range(8)]

    def take(user: Any) -> bool:
        with database.session() as db:
            return store.take_task(db, db.get_one(Collection, collection_id), user) is not None

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, users))
    assert sum(taken) == 3
    with database.session(write=False) as db:
        assert sorted(db.scalars(select(Assignment.place))) == [0, 1, 2]


def test_nobody_vets_their_own(
    database: Database, start: Callable[..., int], add_client: Callable[..., Client]
) -> None:
    both, collection_id = add_client("Both", Role.WORKER, Role.ADMIN), start(turns=1)
    do_all(both, database, collection_id)
    with database.session(write=False) as db:
        ids = list(db.scalars(select(CollectedAnswer.id)))
    told = both.submit(f"/collecting/{collection_id}/vetting", answer=ids, state="accepted")
    assert told.status_code == 303
    with database.session(write=False) as db:
        assert {answer.state for answer in db.scalars(select(CollectedAnswer))} == {"pending"}


def test_a_closed_collection_hands_out_nothing(worker: Client, organiser: Client, start: Callable[..., int]) -> None:
    collection_id = start()
    organiser.submit(f"/collecting/{collection_id}/close")
    assert worker.submit(f"/collecting/{collection_id}/take").status_code == 400


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["/etc/passwd", "../x:test", "reminder:nope", "nothing:test"])
def test_only_corpora_of_the_server_are_asked_about(organiser: Client, corpus: str) -> None:
    refused = organiser.submit("/collecting/new", kind="rewrites", corpus=corpus)
    assert refused.status_code == 400 and "unknown corpus of this server" in refused.text


def test_the_api_collects_too(
    database: Database, worker: Client, organiser: Client, program: Callable[[Client], Client]
) -> None:
    ours, theirs = program(organiser), program(worker)
    made = ours.post("/api/v1/collections", json={"kind": "rewrites", "corpus": "reminder:test", "turns": 1})
    assert made.status_code == 201, made.text
    address = f"/api/v1/collections/{made.json()['id']}"
    task = theirs.post(f"{address}/tasks").json()
    assert task["names"] == list(KINDS) and "state" not in str(task["asks"])
    texts = rewrites(task_of(database, f"/{task['id']}"))  # type: ignore[arg-type]
    own = f"/api/v1/collections/tasks/{task['id']}"
    assert "paraphrase" in theirs.post(f"{own}/check", json={"texts": texts | {"paraphrase": ""}}).json()
    assert theirs.post(own, json={"texts": texts}).json() == {}
    assert theirs.post(own, json={"texts": texts}).status_code == 400
    assert theirs.post(f"{address}/tasks").json() is None
    assert ours.get("/api/v1/collections").json()[0]["answers"] == {"pending": 4, "accepted": 0, "rejected": 0}
    assert theirs.get(f"{address}/export").status_code == 403
    elements = ours.post("/api/v1/collections", json={"kind": "elements", "corpus": "reminder:test"}).json()["id"]
    asked = theirs.post(f"/api/v1/collections/{elements}/tasks").json()
    assert all(prompt.keys() == {"kind", "shown", "example", "values"} for prompt in asked["asks"]["prompts"])
    assert asked["names"][0] == "1"


def test_a_collection_asks_for_workers_of_a_language(
    worker: Client, database: Database, start: Callable[..., int], program: Callable[[Client], Client]
) -> None:
    number = start(locales="en-gb,  DE")
    assert "en-GB, de" in worker.get(f"/collecting/{number}").text
    refused = program(worker).post(f"/api/v1/collections/{number}/tasks")
    assert refused.status_code == 400 and "en-GB or de" in refused.json()["fix"]
    assert "Take a task" not in worker.get(f"/collecting/{number}").text
    profile = {"name": "Worker", "email": "worker@example.org"}
    for locale, status in (("en-US", 400), ("en", 400), ("de-AT", 303), ("EN-gb", 303)):
        assert worker.submit("/account", locale=locale, **profile).status_code == 303
        assert worker.submit(f"/collecting/{number}/take").status_code == status, locale
    assert worker.submit("/account", locale="English", **profile).status_code == 422


def test_a_collection_asks_for_workers_whose_answers_are_accepted(
    worker: Client, organiser: Client, database: Database, start: Callable[..., int]
) -> None:
    first, second = start(turns=1), start(turns=1, approval=80, seed=2)
    assert "Take a task" in worker.get(f"/collecting/{second}").text  # nothing is vetted yet
    do_all(worker, database, first)
    with database.session(write=False) as db:
        ids = [answer.id for answer in store.list_answers(db, db.get_one(Collection, first), "pending")]
    organiser.submit(f"/collecting/{first}/vetting", answer=ids, state="accepted")
    organiser.submit(f"/collecting/{first}/vetting", answer=ids[:1], state="rejected")
    page = worker.get(f"/collecting/{second}").text
    assert "80 % were accepted; of yours, 75 % were" in page and "Take a task" not in page
    assert worker.submit(f"/collecting/{second}/take").status_code == 400
    organiser.submit(f"/collecting/{first}/vetting", answer=ids[:1], state="accepted")
    assert worker.submit(f"/collecting/{second}/take").status_code == 303
