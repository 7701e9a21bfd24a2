"""Submissions by page and by program: checked at once, private until published, limited, and gone when withdrawn."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from dstress.leaderboard.benchmark_store import find_benchmark
from dstress.leaderboard.benchmarks.package import Package
from dstress.leaderboard.database import Database
from dstress.leaderboard.submissions import NEAR_COPIES
from dstress.leaderboard.tables.accounts import AuditEntry
from dstress.leaderboard.tables.base import now
from dstress.leaderboard.tables.benchmarks import Submission
from dstress.predictions import read_predictions, write_predictions
from tests.leaderboard.clients import Client

HandIn = Callable[..., Any]
AddClient = Callable[..., Client]


def test_from_a_file_to_the_board(
    member: Client, client: Client, benchmark: str, answers: dict[str, Path], do_work: Callable[[], int]
) -> None:
    """The way of a person with a browser; nobody else sees anything until it is published."""
    page = member.get(f"/benchmarks/{benchmark}/submit")
    assert 'name="new_team"' in page.text
    sent = member.submit(
        f"/benchmarks/{benchmark}/submit",
        files={"answers": ("rules.jsonl", answers["rules"].read_bytes())},
        system="Mine",
        new_team="We",
        team="0",
    )
    assert sent.status_code == 303, sent.text
    address = sent.headers["location"]
    assert member.get(f"{address}/state").json() == {"state": "waiting"}
    assert "waiting for a worker" in member.get(address).text
    assert do_work() == 1
    assert member.get(f"{address}/state").json() == {"state": "done"}
    assert "Mine" not in client.get(f"/benchmarks/{benchmark}").text
    assert client.get("/systems/1").status_code == 404
    assert member.get("/systems/1").status_code == 200
    member.submit(f"{address}/publish")
    assert "Mine" in client.get(f"/benchmarks/{benchmark}").text
    assert client.get("/systems/1").status_code == 200
    board = client.get(f"/benchmarks/{benchmark}/leaderboard.json").json()
    assert [(one["system"], one["team"], one["rank"]) for one in board["systems"]] == [("Mine", "We", 1)]
    member.submit(f"{address}/hide")
    assert "Mine" not in client.get(f"/benchmarks/{benchmark}").text
    member.submit(f"{address}/publish")
    member.submit(f"{address}/withdraw")
    assert "Mine" not in client.get(f"/benchmarks/{benchmark}").text
    assert member.submit(f"{address}/publish").status_code == 400


def test_versions_history_and_order(
    member: Client,
    client: Client,
    benchmark: str,
    answers: dict[str, Path],
    hand_in: HandIn,
    do_work: Callable[[], int],
    program: Callable[[Client], Client],
) -> None:
    asking = program(member)
    for version, name in enumerate(("empty", "rules"), start=1):
        made = hand_in(member, answers[name]).json()
        assert (made["version"], made["state"]) == (version, "waiting")
        assert do_work() == 1
        assert asking.post(f"/api/v1/submissions/{made['id']}/publish").json()["published_at"]
    board = client.get(f"/benchmarks/{benchmark}/leaderboard.json", params={"view": "jga"}).json()
    assert [one["version"] for one in board["systems"]] == [2]
    history = client.get(f"/benchmarks/{benchmark}/history").text
    assert history.count("best until then") == 2
    assert "version=1" in history
    old = client.get("/systems/1", params={"version": 1}).text
    new = client.get("/systems/1").text
    assert old != new
    assert client.get("/systems/1", params={"version": 3}).status_code == 404


def test_a_board_in_every_form(
    member: Client,
    client: Client,
    add_client: AddClient,
    benchmark: str,
    answers: dict[str, Path],
    hand_in: HandIn,
    do_work: Callable[[], int],
    program: Callable[[Client], Client],
) -> None:
    other = add_client("Other")
    for who, name, system in ((member, "rules", "=1+1"), (other, "empty", "<script>alert(1)</script>")):
        made = hand_in(who, answers[name], system).json()
        do_work()
        program(who).post(f"/api/v1/submissions/{made['id']}/publish")
    for view in ("suite", "jga", "slot-f1"):
        for convention in ("exact", "trade"):
            where = {"view": view, "convention": convention}
            board = client.get(f"/api/v1/benchmarks/{benchmark}/leaderboard", params=where).json()
            assert [one["rank"] for one in board["systems"]] == [1, 2]
            first = board["columns"][0]
            values = [one["scores"][first]["value"] for one in board["systems"]]
            assert values[0] > values[1]
            assert f"conv:{convention}" in board["systems"][0]["scores"][first]["signature"]
            read = csv.DictReader(
                io.StringIO(client.get(f"/benchmarks/{benchmark}/leaderboard.csv", params=where).text)
            )
            rows = list(read)
            assert [float(row[first]) for row in rows] == values
            assert rows[0]["system"] == "'=1+1"  # no formula of a stranger's in anybody's spreadsheet
    page = client.get(f"/benchmarks/{benchmark}").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;script&gt;" in client.get("/systems/2").text
    badge = client.get(f"/benchmarks/{benchmark}/badges/1.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert "#1" in badge.text
    assert client.get(f"/benchmarks/{benchmark}/badges/77.svg").status_code == 404
    assert client.get(f"/benchmarks/{benchmark}", params={"q": "nobody"}).text.count("No system fits") == 1
    assert client.get(f"/benchmarks/{benchmark}", params={"view": "nonsense"}).status_code == 400
    assert client.get(f"/benchmarks/{benchmark}", params={"by": "nonsense"}).status_code == 400


def test_a_flawed_file_is_told_at_once_and_kept_nowhere(
    member: Client, database: Database, hand_in: HandIn, answers: dict[str, Path], tmp_path: Path, app: Any
) -> None:
    lines = answers["rules"].read_text(encoding="utf-8").splitlines()
    (tmp_path / "mine.jsonl").write_text("\n".join(lines[:-40]), encoding="utf-8")
    refused = hand_in(member, tmp_path / "mine.jsonl")
    assert refused.status_code == 400
    assert "missing turns" in refused.json()["problem"]
    assert str(tmp_path) not in refused.text
    assert [name for name in app.state.files.names() if name.startswith("submissions/")] == []
    with database.session(write=False) as db:
        assert db.scalar(select(Submission)) is None


@pytest.mark.parametrize(
    "name", ["../../evil.jsonl", "/etc/passwd", "C:\\x.jsonl", "\x00.jsonl", ".", "a" * 500 + ".jsonl"]
)
def test_a_files_name_is_only_a_name(
    member: Client, hand_in: HandIn, answers: dict[str, Path], name: str, app: Any
) -> None:
    assert hand_in(member, answers["rules"], name=name).status_code in (201, 400, 422)
    kept = [one for one in app.state.files.names() if one.startswith("submissions/")]
    assert all(one.count("/") == 1 for one in kept)


def test_bombs_and_deep_nesting_are_refused(member: Client, hand_in: HandIn, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", bytes(300 << 20))
    with zipfile.ZipFile(tmp_path / "up.zip", "w") as archive:
        archive.writestr("../x.jsonl", "{}")
    (tmp_path / "deep.json").write_text("[" * 500_000, encoding="utf-8")
    (tmp_path / "wide.json").write_bytes(b'{"a":' * 200_000 + b"1" + b"}" * 200_000)
    for name in ("bomb.zip", "up.zip", "deep.json", "wide.json"):
        refused = hand_in(member, tmp_path / name)
        assert refused.status_code == 400, (name, refused.text)
        assert refused.json()["problem"]


def test_a_hundred_megabytes_of_json_are_answered(member: Client, hand_in: HandIn, tmp_path: Path) -> None:
    line = json.dumps({"dialogue": "x", "turn": 0, "state": {"hotel-area": "y" * 1000}}) + "\n"
    (tmp_path / "large.jsonl").write_text(line * (100_000_000 // len(line)), encoding="utf-8")
    refused = hand_in(member, tmp_path / "large.jsonl")
    assert refused.status_code == 400
    assert len(refused.text) < 2000


def test_a_team_has_its_limit_and_so_has_a_person(
    member: Client,
    add_team: Callable[[Client, str], int],
    program: Callable[[Client], Client],
    benchmark: str,
    package: Package,
    answers: dict[str, Path],
    database: Database,
    tmp_path: Path,
) -> None:
    """Making more teams gives nobody more submissions."""
    with database.session() as db:
        find_benchmark(db, benchmark).daily_limit = 2  # type: ignore[union-attr]
    teams = [add_team(member, f"Team {number}") for number in range(3)]
    statuses = []
    for number, _ in enumerate(teams):
        path = _other_answers(answers["rules"], tmp_path / f"{number}.jsonl", f"v{number}")
        files = {"answers": (path.name, path.read_bytes())}
        data = {"system": "Mine", "team": f"team-{number}"}
        statuses.append(program(member).post(f"/api/v1/benchmarks/{benchmark}/submissions", data=data, files=files))
    assert [answer.status_code for answer in statuses] == [201, 201, 400]
    assert "2 submissions a day" in statuses[2].json()["problem"]


def _other_answers(path: Path, to: Path, value: str, turns: int = 10_000) -> Path:
    """The same with another value in some turns."""
    read = list(read_predictions(path))
    changed = [msgspec.structs.replace(one, state=one.state | {"trip-to": value}) for one in read[-turns:]]
    write_predictions([*read[: -len(changed)], *changed], to)
    return to


def test_near_copies_are_limited_and_logged(
    member: Client, hand_in: HandIn, answers: dict[str, Path], database: Database, tmp_path: Path
) -> None:
    """Who changes an answer at a time would read gold from what the score does."""
    assert hand_in(member, answers["rules"]).status_code == 201
    again = hand_in(member, answers["rules"], "Another name")
    assert again.status_code == 400
    assert "word for word" in again.json()["problem"]
    with database.session() as db:
        for row in db.scalars(select(Submission)):
            row.system.benchmark.daily_limit = 100
    found = []
    for number in range(NEAR_COPIES + 1):
        path = _other_answers(answers["rules"], tmp_path / f"{number}.jsonl", f"probe {number}", turns=1)
        found.append(hand_in(member, path).status_code)
    assert found == [201] * (NEAR_COPIES - 1) + [400, 400]
    with database.session(write=False) as db:
        actions = list(db.scalars(select(AuditEntry.action).where(AuditEntry.action.contains("near_copy"))))
    assert actions.count("submission.near_copy") == NEAR_COPIES - 1
    assert actions.count("submission.refuse_near_copy") == 2


def test_nothing_is_taken_after_the_deadline(
    member: Client, hand_in: HandIn, answers: dict[str, Path], database: Database, benchmark: str
) -> None:
    with database.session() as db:
        find_benchmark(db, benchmark).deadline = now() - timedelta(seconds=1)  # type: ignore[union-attr]
    refused = hand_in(member, answers["rules"])
    assert (refused.status_code, refused.json()["fix"]) == (400, "the deadline is over")


def test_others_reach_neither_submissions_nor_gold(
    member: Client,
    client: Client,
    add_client: AddClient,
    organiser: Client,
    admin: Client,
    benchmark: str,
    package: Package,
    answers: dict[str, Path],
    hand_in: HandIn,
    do_work: Callable[[], int],
    program: Callable[[Client], Client],
) -> None:
    made = hand_in(member, answers["rules"]).json()
    do_work()
    others = [client, add_client("Rival"), organiser, admin]
    for person in others:
        for ending in ("", "/state"):
            assert person.get(f"/submissions/{made['id']}{ending}").status_code in (303, 404)
        assert person.get("/systems/1").status_code == 404
        assert person.get(f"/benchmarks/{benchmark}/badges/1.svg").status_code == 404
        if person.user:
            asking = program(person)
            for ending in ("", "/scores"):
                assert asking.get(f"/api/v1/submissions/{made['id']}{ending}").status_code == 404
            for action in ("publish", "hide", "withdraw"):
                assert person.submit(f"/submissions/{made['id']}/{action}").status_code == 404
                assert asking.post(f"/api/v1/submissions/{made['id']}/{action}").status_code == 404
            assert asking.get("/api/v1/submissions").json() == []
    private = {case.dialogue for case in package.key.cases}
    for layout in ("../package", "..%2fpackage", "package", "key", "%2e%2e/package"):
        answer = client.get(f"/benchmarks/{benchmark}/inputs/{layout}.zip")
        assert answer.status_code in (404, 405)
    for person in (*others, member):
        texts = [
            person.get(path, follow_redirects=True).text for path in ("/", f"/benchmarks/{benchmark}", "/systems/1")
        ]
        assert not [name for name in private for text in texts if name in text]
    scores = program(member).get(f"/api/v1/submissions/{made['id']}/scores").text
    assert not [name for name in private if f'"{name}' in scores]
    assert '"confusions":[]' in scores.replace(" ", "")


def test_only_the_team_sends_for_the_team(
    member: Client,
    add_client: AddClient,
    add_team: Callable[[Client, str], int],
    benchmark: str,
    answers: dict[str, Path],
) -> None:
    team = add_team(member, "We")
    rival = add_client("Rival")
    sent = rival.submit(
        f"/benchmarks/{benchmark}/submit",
        files={"answers": ("a.jsonl", answers["rules"].read_bytes())},
        system="Mine",
        team=str(team),
    )
    assert sent.status_code == 400
    assert "no such team of yours" in sent.text


def test_an_organiser_makes_a_benchmark(
    organiser: Client, member: Client, client: Client, do_work: Callable[[], int], database: Database
) -> None:
    fields = {"title": "Winter", "suite": "quick", "corpus": "reminder:test", "limit": "2", "conventions": "exact"}
    assert member.submit("/benchmarks/new", **fields).status_code == 403
    for wrong in (
        {"corpus": "/etc/passwd:test"},
        {"suite": "../x.toml"},
        {"metrics": "os:system"},
        {"conventions": "subprocess:Popen"},
        {"daily_limit": "0"},
        {"deadline": "soon"},
    ):
        refused = organiser.submit("/benchmarks/new", **(fields | wrong))
        assert refused.status_code == 400, wrong
    made = organiser.submit("/benchmarks/new", **fields, deadline="2099-01-01T10:00")
    assert made.headers["location"] == "/benchmarks/winter"
    assert "being made" in client.get("/benchmarks/winter").text
    assert client.get("/benchmarks/winter/leaderboard.json").status_code == 404
    assert do_work() == 1
    page = client.get("/benchmarks/winter").text
    assert "2099-01-01 10:00 UTC" in page
    assert "Apache-2.0" in page
    with zipfile.ZipFile(io.BytesIO(client.get("/benchmarks/winter/inputs/sgd.zip").content)) as archive:
        assert "README.txt" in archive.namelist()
    terms = {"title": "Winter 2", "view": "slot-f1", "daily_limit": "9", "deadline": ""}
    assert organiser.submit("/benchmarks/winter/terms", **terms).status_code == 303
    assert "Winter 2" in client.get("/benchmarks/winter").text


def test_another_organisers_terms_are_not_ours(organiser: Client, add_client: AddClient, benchmark: str) -> None:
    from dstress.leaderboard.tables.accounts import Role

    other = add_client("Another", Role.ORGANISER)
    assert other.submit(f"/benchmarks/{benchmark}/terms", title="x").status_code == 403


def test_a_package_is_handed_in_whole(
    organiser: Client, member: Client, program: Callable[[Client], Client], package: Package, tmp_path: Path
) -> None:
    from dstress.leaderboard.benchmarks.archive import pack_package

    with (tmp_path / "package.zip").open("wb") as out:
        pack_package(package, out)
    content = (tmp_path / "package.zip").read_bytes()
    send: dict[str, Any] = {"data": {"title": "Whole"}, "files": {"package": ("p.zip", content)}}
    assert program(member).post("/api/v1/benchmarks", **send).status_code == 403
    made = program(organiser).post("/api/v1/benchmarks", **send)
    assert made.status_code == 201, made.text
    assert made.json()["turns"] == sum(len(case.asked) for case in package.key.cases)
    for wrong in (
        b"no zip",
        _changed(content, "gold/run.toml", b'"jga"', b'"os:system"'),
        _changed(content, "gold/run.toml", b'"jga"', b'"ss(os:system)"'),
        _changed(content, "gold/run.toml", b"limit =", b'metrics = ["os:system"]\nlimit ='),
        _changed(content, "key.json"),
    ):
        send = {"data": {"title": "Whole"}, "files": {"package": ("p.zip", wrong)}}
        assert program(organiser).post("/api/v1/benchmarks", **send).status_code == 400


def _changed(content: bytes, name: str, before: bytes = b"", after: bytes = b"") -> bytes:
    """An archive with other bytes in a member; without such, without the member."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as archive:
        for member in source.namelist():
            if member != name:
                archive.writestr(member, source.read(member))
            elif before:
                archive.writestr(member, source.read(member).replace(before, after))
    return out.getvalue()


def test_a_persons_data_name_their_submissions(member: Client, hand_in: HandIn, answers: dict[str, Path]) -> None:
    hand_in(member, answers["rules"])
    exported = member.get("/account/export")
    assert exported.status_code == 200
    (submission,) = exported.json()["submissions"]
    assert submission["file_name"] == "rules.jsonl"
