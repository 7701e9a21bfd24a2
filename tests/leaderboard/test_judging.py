"""Human evaluation on the platform: blinded, each judge for themselves, and counted when the round is closed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from dstress.errors import DstressError
from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.benchmarks.board import judged_systems, verdict_of
from dstress.leaderboard.database import Database
from dstress.leaderboard.judging import service as rounds
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import (
    Benchmark,
    JudgingAnswer,
    JudgingItem,
    JudgingRound,
    JudgingSeat,
    Membership,
    Role,
    Submission,
    System,
    User,
)
from dstress.studies.human_check.verdict import krippendorff_alpha
from tests.leaderboard.clients import Client
from tests.leaderboard.entered import Entered, enter_systems

TYPOS = "typos(rate=0.2)"


@pytest.fixture
def entered(database: Database, settings: Settings, organiser: Client) -> Entered:
    return enter_systems(database, settings, organiser.user)


@pytest.fixture
def start(organiser: Client, entered: Entered) -> Callable[..., int]:
    def begin(choice: str = "systems original", **fields: Any) -> int:
        form = {"turns": 5, "seats": 3, "top": 2, "seed": 1} | fields
        made = organiser.submit("/judging/new", choice=f"{entered.benchmark} {choice}", **form)
        assert made.status_code == 303, made.text
        return int(made.headers["location"].rpartition("/")[2])

    return begin


def items_of(database: Database, round_id: int) -> dict[int, JudgingItem]:
    with database.session(write=False) as db:
        found = db.scalars(select(JudgingItem).where(JudgingItem.round_id == round_id))
        return {item.id: item for item in found}


def test_systems_are_drawn_from_the_top_and_gold_is_among_them(
    database: Database, entered: Entered, start: Callable[..., int]
) -> None:
    items = items_of(database, start(top=1, turns=500))
    subjects = {subject for item in items.values() for subject in item.subjects}
    assert subjects == {"gold", str(entered.submissions["Rules"])}
    assert all(item.questions == ["correct"] for item in items.values())
    places = {(item.place["dialogue"], item.place["turn"]) for item in items.values()}
    for subject in subjects:
        shown = [item.place for item in items.values() if subject in item.subjects]
        assert len(shown) == len(places)


def test_an_item_shows_nothing_of_who_is_behind_it(
    database: Database, judge: Client, entered: Entered, start: Callable[..., int]
) -> None:
    round_id = start()
    judge.submit(f"/judging/{round_id}/seat")
    dialogues = {item.place["dialogue"] for item in items_of(database, round_id).values()}
    for number in range(1, 4):
        shown = judge.get(f"/judging/{round_id}/{number}").text
        main = shown[shown.index("<main") : shown.index("</main")]
        assert not re.search(r"gold|Rules|Empty|Team", main)
        assert not any(dialogue in main for dialogue in dialogues)


def answer_all(client: Client, round_id: int, database: Database, say: Callable[[JudgingItem], bool]) -> None:
    """Judge every item of a round, in the order in which the pages come."""
    gone = client.submit(f"/judging/{round_id}/seat").headers["location"]
    assert client.user is not None
    for _ in range(1000):
        if not re.fullmatch(r"/judging/\d+/\d+", gone):
            return
        with database.session(write=False) as db:
            found, seat = db.get_one(JudgingRound, round_id), None
            seat = rounds.seat_of(db, found, client.user)
            assert seat is not None
            place = rounds.places_of(db, seat)[int(gone.rpartition("/")[2]) - 1]
        said = "yes" if say(place.item) else "no"
        gone = client.submit(gone, **dict.fromkeys(place.item.questions, said)).headers["location"]
    raise AssertionError("the items never end")


@pytest.mark.slow
def test_three_judges_and_their_majority(
    database: Database, organiser: Client, client: Client, entered: Entered, start: Callable[..., int],
    add_client: Callable[..., Client],
) -> None:  # fmt: skip
    round_id = start(turns=12)
    gold = lambda item: "gold" in item.subjects  # noqa: E731
    judges = [add_client(name, Role.JUDGE) for name in ("Ann", "Ben", "Cay")]
    for one, say in zip(judges, (gold, gold, lambda item: True), strict=True):
        answer_all(one, round_id, database, say)
    assert client.get(f"/judging/{round_id}").status_code == 404  # nothing is public before it is closed
    assert organiser.submit(f"/judging/{round_id}/close").status_code == 303
    with database.session(write=False) as db:
        found = db.get_one(JudgingRound, round_id)
        verdict = verdict_of(found)
        assert verdict is not None and verdict.judges == ["judge 1", "judge 2", "judge 3"]
        items = items_of(database, round_id).values()
        assert verdict.variants["gold"]["correct"].value == 1.0
        for name, submission in entered.submissions.items():
            own = [item for item in items if str(submission) in item.subjects]
            share = verdict.variants[str(submission)]["correct"]
            assert share.value == sum(map(gold, own)) / len(own), name
        votes = [[gold(item), gold(item), True] for item in items]
        assert verdict.agreement["correct"] == pytest.approx(krippendorff_alpha(votes))
        judged = judged_systems(db, db.get_one(Benchmark, entered.benchmark))
        assert judged.keys() == set(entered.submissions.values())
        empty = judged[entered.submissions["Empty"]].shares["correct"].value
        assert empty is not None and empty < 1
    board = client.get("/benchmarks/small-benchmark").text
    assert "by people" in board and f'<a href="/judging/{round_id}">{100 * empty:.1f}</a>' in board
    content = client.get("/benchmarks/small-benchmark/leaderboard.json").json()["systems"]
    assert {one["system"]: one["judged"]["correct"]["value"] for one in content}["Empty"] == empty
    assert "judged correctness" in client.get("/benchmarks/small-benchmark/leaderboard.csv").text
    page = client.get(f"/judging/{round_id}")
    assert page.status_code == 200 and "Rules" in page.text and "Krippendorff" in page.text and "Ann" not in page.text
    late = judges[0].submit(f"/judging/{round_id}/1", correct="yes")
    assert late.status_code == 400 and "closed" in late.text


def test_a_judge_s_answers_are_theirs_and_can_be_cleared(
    database: Database, judge: Client, start: Callable[..., int], add_client: Callable[..., Client]
) -> None:
    round_id, other = start(), add_client("Other", Role.JUDGE)
    answer_all(judge, round_id, database, lambda item: True)
    other.submit(f"/judging/{round_id}/seat")
    total = len(items_of(database, round_id))
    for number in range(1, total + 1):
        shown = other.get(f"/judging/{round_id}/{number}").text
        assert " checked" not in shown and f"0 of {total} answered" in shown
        assert judge.get(f"/judging/{round_id}/{number}").text.count(" checked") == 1
    judge.submit(f"/judging/{round_id}/1")  # nothing chosen: cleared
    assert " checked" not in judge.get(f"/judging/{round_id}/1").text
    jumped = judge.submit(f"/judging/{round_id}/2", correct="no").headers["location"]
    assert jumped == f"/judging/{round_id}/1"  # the next without an answer, round to the beginning
    judge.submit(f"/judging/{round_id}/clear")
    with database.session(write=False) as db:
        assert not list(db.scalars(select(JudgingAnswer)))


def test_every_judge_has_an_order_of_their_own(database: Database, start: Callable[..., int]) -> None:
    round_id = start(turns=12)
    with database.session() as db:
        users = [accounts.add_user(db, f"{n}@example.org", n, Role.JUDGE) for n in "abc"]
        found = db.get_one(JudgingRound, round_id)
        seats = [rounds.take_seat(db, found, user) for user in users]
        orders = [[place.item.id for place in rounds.places_of(db, seat)] for seat in seats]
    assert len({tuple(order) for order in orders}) == 3 and len({frozenset(order) for order in orders}) == 1


def test_there_are_as_many_seats_as_judges_are_wanted(
    judge: Client, organiser: Client, start: Callable[..., int], add_client: Callable[..., Client], database: Database
) -> None:
    round_id, other = start(seats=1), add_client("Other", Role.JUDGE)
    assert judge.submit(f"/judging/{round_id}/seat").status_code == 303
    assert judge.submit(f"/judging/{round_id}/seat").status_code == 303  # again: the same one
    refused = other.submit(f"/judging/{round_id}/seat")
    assert refused.status_code == 400 and "all seats" in refused.text
    judge.submit(f"/judging/{round_id}/1", correct="yes")
    organiser.submit(f"/judging/{round_id}/free", seat=1)
    with database.session(write=False) as db:
        assert not list(db.scalars(select(JudgingAnswer))) and not list(db.scalars(select(JudgingSeat)))
    assert other.submit(f"/judging/{round_id}/seat").status_code == 303
    assert judge.get(f"/judging/{round_id}/1").status_code == 403


def test_many_at_once_get_no_more_seats_than_there_are(
    database: Database, start: Callable[..., int], add_client: Callable[..., Client]
) -> None:
    round_id = start(seats=3)
    users = [add_client(f"J{number}", Role.JUDGE).user for number in range(8)]

    def sit(user: Any) -> int:
        try:
            with database.session() as db:
                return rounds.take_seat(db, db.get_one(JudgingRound, round_id), user).seat
        except DstressError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(sit, users)) == [0, 0, 0, 0, 0, 1, 2, 3]


def test_who_competes_does_not_judge(
    database: Database, judge: Client, entered: Entered, start: Callable[..., int]
) -> None:
    round_id = start()
    with database.session() as db:
        assert judge.user is not None
        user = db.get_one(User, judge.user.id)
        team = accounts.make_team(db, user, "Rivals")
        db.add(System(benchmark_id=entered.benchmark, team_id=team.id, name="Rival"))
    refused = judge.submit(f"/judging/{round_id}/seat")
    assert refused.status_code == 400 and "your team has a system" in refused.text


@pytest.mark.parametrize("way", ["joins", "has submitted"])
def test_a_judge_who_competes_later_sees_no_items(
    database: Database, judge: Client, program: Callable[[Client], Client], entered: Entered,
    start: Callable[..., int], way: str,
) -> None:  # fmt: skip
    round_id = start()
    address = f"/api/v1/judging/rounds/{round_id}"
    judge.submit(f"/judging/{round_id}/seat")
    assert judge.user is not None and program(judge).get(f"{address}/items").status_code == 200
    with database.session() as db:
        submission = db.get_one(Submission, entered.submissions["Rules"])
        if way == "joins":
            db.add(Membership(user_id=judge.user.id, team_id=submission.system.team_id))
        else:
            submission.submitted_by = judge.user.id  # for a team that they have left
    for method, path in (("GET", "/items"), ("PUT", "/items/1"), ("POST", "/seat")):
        refused = program(judge).request(method, address + path, json={"correct": True})
        assert refused.status_code == 400 and "your team has a system" in refused.text, path
    assert judge.get(f"/judging/{round_id}/1").status_code == 400


def test_stressed_turns_are_judged_beside_their_originals(
    database: Database, judge: Client, organiser: Client, start: Callable[..., int]
) -> None:
    round_id = start(f"data {TYPOS}", seats=1, turns=6)
    items = items_of(database, round_id).values()
    assert {tuple(item.subjects) for item in items} == {("original",), (TYPOS,)} and len(items) == 12
    answer_all(judge, round_id, database, lambda item: item.subjects == ["original"])
    organiser.submit(f"/judging/{round_id}/close")
    with database.session(write=False) as db:
        verdict = verdict_of(db.get_one(JudgingRound, round_id))
    assert verdict is not None
    for question in ("human_like", "correct"):
        assert verdict.variants["original"][question].value == 1 and verdict.variants[TYPOS][question].value == 0


def test_the_api_judges_too(
    database: Database, judge: Client, organiser: Client, program: Callable[[Client], Client], entered: Entered
) -> None:
    ours, theirs = program(organiser), program(judge)
    wanted = {"benchmark": "small-benchmark", "kind": "systems", "turns": 3, "seats": 1, "top": 2}
    made = ours.post("/api/v1/judging/rounds", json=wanted)
    assert made.status_code == 201, made.text
    address = f"/api/v1/judging/rounds/{made.json()['id']}"
    assert theirs.get(f"{address}/items").status_code == 403
    assert theirs.post(f"{address}/seat").status_code == 200
    items = theirs.get(f"{address}/items").json()
    assert [item["number"] for item in items] == list(range(1, len(items) + 1))
    assert items[0].keys() == {"number", "shown", "questions", "answers"} and items[0]["answers"] == {}
    for item in items:
        put = theirs.put(f"{address}/items/{item['number']}", json={"correct": True})
        assert put.status_code == 200 and put.json()["answers"] == {"correct": True}
    assert theirs.put(f"{address}/items/1", json={"correct": None}).json()["answers"] == {}
    assert theirs.put(f"{address}/items/1", json={"nonsense": True}).status_code in (400, 422)
    assert theirs.put(f"{address}/items/999", json={"correct": True}).status_code == 404
    assert theirs.post(f"{address}/close").status_code == 403
    closed = ours.post(f"{address}/close")
    assert closed.status_code == 200
    seen = program(judge).get(address).json()
    assert seen["verdict"]["subjects"]["Rules"]["correct"]["decided"] > 0 and json.dumps(seen).count("judge 1") == 1
    assert [one["id"] for one in theirs.get("/api/v1/judging/rounds").json()] == [made.json()["id"]]


@pytest.mark.parametrize("name", ["Rules", "gold"])
def test_a_verdict_has_both_of_two_subjects_of_one_name(
    database: Database, judge: Client, organiser: Client, client: Client, program: Callable[[Client], Client],
    entered: Entered, start: Callable[..., int], name: str,
) -> None:  # fmt: skip
    number = entered.submissions["Empty"]
    with database.session() as db:
        db.get_one(Submission, number).system.name = name
    round_id = start(turns=3, seats=1)
    answer_all(judge, round_id, database, lambda item: "gold" in item.subjects)
    address = f"/api/v1/judging/rounds/{round_id}"
    subjects = program(organiser).post(f"{address}/close").json()["verdict"]["subjects"]
    other = f"Rules (submission {entered.submissions['Rules']})" if name == "Rules" else "Rules"
    assert subjects.keys() == {"gold", other, f"{name} (submission {number})"}
    assert f"{name} (submission {number})" in client.get(f"/judging/{round_id}").text


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["999999 systems original", "x systems original", "1", "1 odd original"])
def test_a_round_of_nothing_is_refused(organiser: Client, entered: Entered, choice: str) -> None:
    form = {"turns": 5, "seats": 3, "top": 2, "seed": 1, "choice": choice}
    assert organiser.submit("/judging/new", **form).status_code == 404


def test_an_unknown_version_is_told(organiser: Client, entered: Entered) -> None:
    form = {"turns": 5, "seats": 3, "top": 2, "seed": 1, "choice": f"{entered.benchmark} systems <b>"}
    told = organiser.submit("/judging/new", **form)
    assert told.status_code == 400 and "&lt;b&gt;" in told.text and "<b>" not in told.text
