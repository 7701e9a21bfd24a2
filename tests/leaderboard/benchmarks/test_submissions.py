"""Submissions by page and by program: checked at once, private until published, limited, and gone when withdrawn."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import islice
from math import nan
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from dstress.conventions import conventions
from dstress.corpora import load
from dstress.errors import DstressError
from dstress.leaderboard.benchmarks.answers import Reading, read_answers, take_fingerprint
from dstress.leaderboard.benchmarks.package import Package
from dstress.leaderboard.benchmarks.results import Result, coarse, score_answers
from dstress.leaderboard.benchmarks.service import open_package, require_benchmark
from dstress.leaderboard.database import Database
from dstress.leaderboard.files import open_files
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.submissions.service import NEAR_COPIES, Entrant, Upload, submit
from dstress.leaderboard.tables import AuditEntry, JudgingItem, JudgingRound, Membership, Submission, now, record
from dstress.predictions import read_predictions, write_predictions
from dstress.scoring.scorecard import Score
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


@pytest.mark.slow
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
        assert do_work() == version  # with the plots of the one that was published before
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
    assert 'class="scatter"' in page and page.count('class="spot"') == 2
    assert "not significantly different" in page or "≈" not in page
    fewer = client.get(f"/benchmarks/{benchmark}", params={"view": "jga", "hide": ["typos", "Avg."]}).text
    shown = re.findall(r'<th scope="col" class="number"[^>]*><a[^>]*>([^<]*)</a>', fewer)
    assert shown == ["Avg.c", "original", "entities"] and ">Show </span>typos" in fewer
    assert re.search(r'class="loss">−\d', fewer) and "change from the original" in fewer
    assert "&lt;script&gt;" in client.get("/systems/2").text
    badge = client.get(f"/benchmarks/{benchmark}/badges/1.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert "#1" in badge.text
    assert client.get(f"/benchmarks/{benchmark}/badges/77.svg").status_code == 404
    assert client.get(f"/benchmarks/{benchmark}", params={"q": "nobody"}).text.count("<tr data-name=") == 2
    nobody = client.get(f"/benchmarks/{benchmark}", params={"q": "nobody"}).text  # hidden, so that a script can show
    assert len(re.findall(r"<tr data-name=[^>]* hidden>", nobody)) == 2 and 'role="status">No system fits' in nobody
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


def test_an_upload_s_error_is_one_line_with_the_nearest_format(
    member: Client, benchmark: str, add_team: Callable[[Client, str], int]
) -> None:
    team = add_team(member, "We")
    files = {"answers": ("Émile's <answers> (final).txt", b"dialog,utterance\nd1,hello\n")}
    page = member.submit(f"/benchmarks/{benchmark}/submit", files=files, system="Mine", team=team)
    (problem,) = re.findall(r'<p class="problem named" role="alert">(.*?)</p>', page.text, re.DOTALL)
    assert page.status_code == 400 and "\n" not in problem
    assert problem.startswith("Émile&#39;s &lt;answers&gt; (final).txt is in no format")
    assert "The nearest is csv: the table needs a turn column" in problem
    assert '<a href="#format-csv">' in problem and 'id="format-csv"' in page.text


def test_a_file_keeps_its_name(member: Client, hand_in: HandIn, answers: dict[str, Path]) -> None:
    made = hand_in(member, answers["rules"], name="../Émile's\u202e answers (final).jsonl")
    assert made.status_code == 201
    assert "Émile&#39;s answers (final).jsonl" in member.get(f"/submissions/{made.json()['id']}").text


def test_no_message_quotes_a_long_name_whole(
    member: Client, hand_in: HandIn, answers: dict[str, Path], tmp_path: Path
) -> None:
    """Nor does a note of answers that are taken, which stays."""
    long = "x" * 100_000
    read = [json.loads(line) for line in answers["rules"].read_text(encoding="utf-8").splitlines()]
    files = {
        "dialogue.jsonl": [line | {"dialogue": f"{long}{number}"} for number, line in enumerate(read)],
        "slot.jsonl": [line | {"state": line["state"] | {f"hotel-{long}": "v"}} for line in read],
        "keys.json": [{f"{long}{number}": [] for number in range(30)}],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        said = hand_in(member, tmp_path / name)
        assert said.status_code == (201 if name == "slot.jsonl" else 400)
        assert "xxx..." in said.text and len(said.text) < 10_000, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["../../evil.jsonl", "/etc/passwd", "C:\\x.jsonl", "\x00.jsonl", ".", "a" * 500 + ".jsonl"]
)
def test_a_files_name_is_only_a_name(
    member: Client, hand_in: HandIn, answers: dict[str, Path], name: str, app: Any
) -> None:
    assert hand_in(member, answers["rules"], name=name).status_code in (201, 400, 422)
    kept = [one for one in app.state.files.names() if one.startswith("submissions/")]
    assert all(one.count("/") == 1 for one in kept)


@pytest.mark.slow
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


@pytest.mark.slow
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
        require_benchmark(db, benchmark).daily_limit = 2
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
    changed = [msgspec.structs.replace(one, state=one.state | {"taxi-day": value}) for one in read[-turns:]]
    write_predictions([*read[: -len(changed)], *changed], to)
    return to


@pytest.mark.slow
def test_one_person_in_many_teams_has_one_limit_also_at_once(
    member: Client,
    add_team: Callable[[Client, str], int],
    settings: Settings,
    benchmark: str,
    answers: dict[str, Path],
    database: Database,
) -> None:
    files, ready = open_files(settings), Barrier(4)
    with database.session() as db:
        require_benchmark(db, benchmark).daily_limit = 1
        open_package(files, require_benchmark(db, benchmark).id)

    def send(team: int) -> bool:
        content = io.BytesIO(answers["rules"].read_bytes())
        with database.session() as db:
            row = require_benchmark(db, benchmark)
            assert member.user is not None
            db.commit()
            ready.wait(30)
            try:
                submit(db, files, row, Entrant(member.user, team, "Mine"), Upload(content, "a.jsonl"))
            except DstressError:
                return False
            return True

    teams = [add_team(member, f"Team {number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, teams)) == [False, False, False, True]


def test_who_has_seen_items_of_a_round_does_not_compete(
    member: Client, judge: Client, admin: Client, hand_in: HandIn, benchmark: str, answers: dict[str, Path],
    database: Database,
) -> None:  # fmt: skip
    """Nor does a team that they are in, nor after their seat was freed."""
    with database.session() as db:
        item = JudgingItem(number=1, shown={}, questions=["correct"], subjects=["gold"], place={})
        number = require_benchmark(db, benchmark).id
        judging = JudgingRound(benchmark_id=number, title="R", kind="systems", plan={}, seats=1, items=[item])
        db.add(judging)
    assert judge.submit(f"/judging/{judging.id}/seat").status_code == 303
    assert "has judged" in hand_in(judge, answers["rules"]).json()["problem"]
    assert admin.submit(f"/judging/{judging.id}/free", seat=1).status_code == 303
    assert "has judged" in hand_in(judge, answers["rules"]).json()["problem"]
    with database.session() as db:
        team = db.scalar(select(Membership.team_id).where(Membership.user_id == judge.user.id))  # type: ignore[union-attr]
        db.add(Membership(user_id=member.user.id, team_id=team))  # type: ignore[union-attr]
    assert "has judged" in hand_in(member, answers["rules"]).json()["problem"]
    with database.session() as db:
        db.delete(db.get_one(Membership, (judge.user.id, team)))  # type: ignore[union-attr]
    assert hand_in(member, answers["rules"]).status_code == 201


def test_a_seat_in_a_round_that_is_gone_was_a_seat_in_that_one(
    judge: Client, hand_in: HandIn, benchmark: str, answers: dict[str, Path], database: Database
) -> None:
    """SQLite gives the number of a round that was deleted with its benchmark to the next round."""
    with database.session() as db:
        record(db, judge.user, "judging.seat", "1")
        db.flush()
        number = require_benchmark(db, benchmark).id
        later = now() + timedelta(seconds=1)
        db.add(JudgingRound(id=1, benchmark_id=number, title="R", kind="data", plan={}, seats=1, created_at=later))
    assert hand_in(judge, answers["rules"]).status_code == 201


def test_near_copies_are_limited_and_logged(
    member: Client, hand_in: HandIn, answers: dict[str, Path], database: Database, tmp_path: Path
) -> None:
    """Who changes an answer at a time would read gold from what the score does."""
    assert hand_in(member, answers["rules"]).status_code == 201
    again = hand_in(member, answers["rules"], "Another name")
    assert again.status_code == 400
    assert "answers of submission 1," in again.json()["problem"]
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


def test_refusals_are_no_free_tries(
    member: Client, hand_in: HandIn, answers: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That answers are the same tells what does not count there: after a few refusals none are looked at."""
    monkeypatch.setattr("dstress.leaderboard.submissions.service.REFUSALS", 2)
    told = [hand_in(member, answers["rules"]) for _ in range(4)]
    assert [one.status_code for one in told] == [201, 400, 400, 400]
    others = hand_in(member, _other_answers(answers["rules"], tmp_path / "other.jsonl", "friday"))
    for refused in (told[-1], others):
        assert "refused as copies" in refused.json()["problem"]


def test_the_same_answers_in_another_guise_are_the_same(
    member: Client, add_client: AddClient, hand_in: HandIn, answers: dict[str, Path], database: Database, tmp_path: Path
) -> None:
    """Whoever hands them in, and whatever they say beside what is scored."""
    assert hand_in(member, answers["rules"]).status_code == 201
    guises: list[Callable[[Any], dict[str, Any]]] = [
        lambda answer: {"response": "Anything else?", "domains": ("taxi",), "intent": "find"},
        lambda answer: {"state": {slot: f"  {value.upper()} ." for slot, value in answer.state.items()}},
        lambda answer: {"state": answer.state | {"no-slot": "x"}},
    ]
    read = list(read_predictions(answers["rules"]))
    for number, change in enumerate(guises):
        path = tmp_path / f"{number}.jsonl"
        write_predictions([msgspec.structs.replace(answer, **change(answer)) for answer in read], path)
        refused = hand_in(member, path)
        assert (refused.status_code, "answers of submission 1," in refused.text) == (400, True), (number, refused.text)
    refused = hand_in(add_client("Second"), answers["rules"])
    assert (refused.status_code, "somebody" in refused.json()["problem"]) == (400, True)


def test_what_a_convention_never_looks_at_makes_no_other_answers(package: Package, answers: dict[str, Path]) -> None:
    read, package = read_answers(package, answers["rules"]), Package(package.path)
    package.key = msgspec.structs.replace(package.key, conventions=("dstc8",))
    other = {
        dialogue: {
            turn: msgspec.structs.replace(answer, state={"taxi-day": "friday"} | answer.state)
            for turn, answer in turns.items()
        }
        for dialogue, turns in read.predictions.items()
    }
    first, second = (take_fingerprint(package, one) for one in (read, read._replace(predictions=other)))
    assert 0 < (first != second).mean() < 1  # only where the turn is about taxis


@pytest.mark.parametrize(
    ("name", "spoil"), [("mwzeval", "{} zzz"), ("mwzeval", "zzz {}"), ("convlab", "{}|zzz"), ("dstc8", "{} ,")]
)
def test_a_whole_file_with_spoiled_values_is_the_same_file(
    package: Package, answers: dict[str, Path], name: str, spoil: str
) -> None:
    """Also where a value was not said, or is dontcare: a few that differ would make it a file of its own."""
    read, package = read_answers(package, answers["rules"]), Package(package.path)
    package.key = msgspec.structs.replace(package.key, conventions=(name,))
    spoiled = {
        dialogue: {
            turn: msgspec.structs.replace(
                answer, state={slot: spoil.format(value) for slot, value in answer.state.items()}
            )
            for turn, answer in turns.items()
        }
        for dialogue, turns in read.predictions.items()
    }
    first, second = (take_fingerprint(package, one) for one in (read, read._replace(predictions=spoiled)))
    assert (first == second).all()


GUISES: list[Callable[[str], str]] = [
    lambda value: f"  {value} .",
    lambda value: f"{value} zzz",
    lambda value: f"zzz {value}",
    lambda value: f"{value}|zzz",
    lambda value: value.replace(" ", "-"),
    lambda value: " ".join(value.split()[::-1]),
    lambda value: re.sub(r"^(1[3-9]|2[0-3]):(\d\d)$", lambda time: f"{int(time[1]) - 12}:{time[2]} pm", value),
]


@pytest.mark.parametrize("name", ["exact", "trade", "trippy", "dstc8", "multiwoz22", "convlab", "mwzeval"])
def test_a_value_that_scores_the_same_whatever_gold_says_is_the_same_answer(name: str) -> None:
    """Whoever spoils every value a little, so that no score changes, has no other file: each convention in turn."""
    corpus, convention = load("reminder:test"), conventions.create(name)
    reading, same, apart = Reading(convention, corpus), 0, 0

    def scored(slot: str, value: str, golds: Iterable[str]) -> list[float]:
        prepared = convention.predicted(slot, value)
        forms = [convention.gold(slot, (gold,)) for gold in golds]
        kind = corpus.schema.slots[slot]
        return [convention.similarity(slot, form, prepared, kind) if form and prepared else 0.0 for form in forms]

    def settled(slot: str, value: str, dialogue: str) -> str | None:
        prepared = convention.predicted(slot, value)
        return None if prepared is None else reading.settle(slot, prepared, dialogue)

    for dialogue in islice(corpus, 8):
        for slot, (value, *_) in dialogue.turns[-1].state.items():
            golds = [*corpus.schema.slots[slot].values, value]
            if not any(scored(slot, value, golds)):  # mwzeval counts a predicted dontcare as wrong
                continue
            for guise in GUISES:
                other = guise(value)
                if scored(slot, value, golds) == scored(slot, other, golds):
                    same += 1
                    assert settled(slot, value, dialogue.id) == settled(slot, other, dialogue.id), (slot, value, other)
            different = {gold for gold in golds if scored(slot, gold, golds) != scored(slot, value, golds)}
            apart += len(different)
            assert settled(slot, value, dialogue.id) not in {settled(slot, gold, dialogue.id) for gold in different}
    assert same > 5 and apart > 20


def test_a_number_over_few_turns_is_rounded_by_as_many(package: Package, answers: dict[str, Path]) -> None:
    """A metric may look at some turns only, and an average at such columns."""
    result = score_answers(package, read_answers(package, answers["rules"])).results["exact"]
    for card in result.scores.variants.values():
        card.signature["turns"] = "1000"
        card.metrics = {
            "jga": msgspec.structs.replace(card.metrics["jga"], value=0.123, n=1000.0),
            "coref-jga": msgspec.structs.replace(card.metrics["jga"], value=0.123, n=46.0),
        }
    column = result.cells["jga"][-1]
    cells = [msgspec.structs.replace(column, score=score) for score in card.metrics.values()]
    average = msgspec.structs.replace(column, metric="average", score=Score(12.3, nan, nan, nan, ""))
    rounded = coarse(Result(result.scores, {"jga": [average, *cells]}))
    assert {name: score.value for name, score in rounded.scores.variants["typos"].metrics.items()} == {
        "jga": pytest.approx(0.12),
        "coref-jga": pytest.approx(0.2),  # five of 46 turns are 11 points
    }
    assert [cell.score and cell.score.value for cell in rounded.cells["jga"]] == pytest.approx([10, 0.12, 0.2])


def test_private_numbers_are_rounded_and_published_ones_exact(
    member: Client, client: Client, hand_in: HandIn, answers: dict[str, Path], do_work: Callable[[], int],
    program: Callable[[Client], Client],
) -> None:  # fmt: skip
    number = hand_in(member, answers["rules"]).json()["id"]
    do_work()
    asking, address = program(member), f"/api/v1/submissions/{number}/scores"
    for convention in ("exact", "trade"):
        rounded = asking.get(address, params={"convention": convention}).json()
        scores = [cell["score"] for cells in rounded["cells"].values() for cell in cells if cell["score"]]
        scores += [one for card in rounded["scores"]["variants"].values() for one in card["metrics"].values()]
        scores += [one for by_metric in rounded["scores"]["paired"].values() for one in by_metric.values()]
        for score in scores:
            assert (score["low"], score["high"], score["n"]) == (None, None, None)
            points = score["value"] * (1 if "average" in score["signature"] else 100)
            assert round(points, 9) in (0, 20, 40, 50, 60, 80, 100), score  # five of 25 turns, or of fewer
        for card in rounded["scores"]["variants"].values():
            assert not card["slots"] and not card["slices"] and not card["notes"]
        assert not rounded["scores"]["drops"]
    assert "Wrong" not in member.get("/systems/1").text
    assert member.get("/systems/1/plots").status_code == 404
    assert asking.post(f"/api/v1/submissions/{number}/publish").status_code == 200
    exact = asking.get(address).json()
    assert exact["scores"]["variants"]["original"]["slots"]
    assert exact["cells"]["jga"][-1]["score"]["low"] is not None
    assert "Wrong" in client.get("/systems/1").text
    asking.post(f"/api/v1/submissions/{number}/hide")
    assert not asking.get(address).json()["scores"]["variants"]["original"]["slots"]


def test_what_a_team_learns_of_gold_is_counted_and_logged(
    member: Client, hand_in: HandIn, answers: dict[str, Path], do_work: Callable[[], int], database: Database,
    program: Callable[[Client], Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("dstress.leaderboard.benchmarks.service.BUDGET_DAYS", 4)  # of 5 submissions
    asking = program(member)
    for name in ("rules", "empty"):
        assert hand_in(member, answers[name]).status_code == 201
    do_work()
    for action in ("publish", "hide", "publish"):  # the second time tells nothing new
        assert asking.post(f"/api/v1/submissions/1/{action}").status_code == 200
    refused = asking.post("/api/v1/submissions/2/publish")
    assert (refused.status_code, "learnt" in refused.json()["problem"]) == (400, True)
    refused = hand_in(member, _other_answers(answers["rules"], tmp_path / "other.jsonl", "friday"))
    assert (refused.status_code, "learnt" in refused.json()["problem"]) == (400, True)
    with database.session(write=False) as db:
        entries = db.scalars(select(AuditEntry).where(AuditEntry.action.startswith("submission.")))
        logged = [(entry.action.partition(".")[2], entry.details.get("information_left")) for entry in entries]
    assert logged == [
        ("make", 19), ("make", 18), ("publish", 8), ("hide", None), ("publish", 8), ("refuse_information", None),
        ("refuse_information", None),
    ]  # fmt: skip


def test_plots_are_drawn_by_the_worker_once_a_submission_is_published(
    member: Client, client: Client, hand_in: HandIn, answers: dict[str, Path], do_work: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """No page draws: it takes seconds, and two who ask at once would have it done twice."""
    number = hand_in(member, answers["rules"]).json()["id"]
    assert do_work() == 1
    member.submit(f"/submissions/{number}/publish")
    with monkeypatch.context() as patch:
        patch.setattr("dstress.reports.charts.draw_adaptive_svg", None)
        assert "is drawing the plots" in client.get("/systems/1/plots").text
    assert do_work() == 1
    monkeypatch.setattr("dstress.leaderboard.submissions.plots.make_plots", None)
    pages = [client.get("/systems/1/plots", params={"convention": one}).text for one in ("exact", "trade")]
    assert all(page.count("<svg") > 2 for page in pages)
    assert client.get("/systems/1/plots", params={"convention": "sgd"}).status_code == 404
    for action in ("hide", "publish"):
        member.submit(f"/submissions/{number}/{action}")
    assert do_work() == 0


def test_nothing_is_taken_after_the_deadline(
    member: Client, hand_in: HandIn, answers: dict[str, Path], database: Database, benchmark: str
) -> None:
    with database.session() as db:
        require_benchmark(db, benchmark).deadline = now() - timedelta(seconds=1)
    refused = hand_in(member, answers["rules"])
    assert (refused.status_code, refused.json()["fix"]) == (400, "the deadline is over")


@pytest.mark.slow
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
    rounded = program(member).get(f"/api/v1/submissions/{made['id']}/scores").text
    member.submit(f"/submissions/{made['id']}/publish")
    exact = program(member).get(f"/api/v1/submissions/{made['id']}/scores").text
    assert not [name for name in private if f'"{name}' in rounded + exact]
    assert "confusions" not in rounded and '"confusions":[]' in exact.replace(" ", "")


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
        {"deadline": "9999-12-31T23:59-12:00"},
        {"deadline": "0001-01-01T00:00+12:00"},
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
    terms = {"title": "Winter 2", "view": "slot-f1", "daily_limit": "9", "deadline": "2099-05-31"}
    assert organiser.submit("/benchmarks/winter/terms", **terms).status_code == 303
    changed = client.get("/benchmarks/winter").text
    assert "Winter 2" in changed and "2099-05-31 23:59 UTC" in changed


def test_another_organisers_terms_are_not_ours(organiser: Client, add_client: AddClient, benchmark: str) -> None:
    from dstress.leaderboard.tables import Role

    other = add_client("Another", Role.ORGANISER)
    assert other.submit(f"/benchmarks/{benchmark}/terms", title="x").status_code == 403


def test_a_package_is_handed_in_whole(
    organiser: Client, member: Client, program: Callable[[Client], Client], package: Package, tmp_path: Path
) -> None:
    from dstress.leaderboard.benchmarks.package import pack_package

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
