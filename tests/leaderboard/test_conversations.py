"""Judges talk to submitted systems: goals that give nothing away, and addresses that lead nowhere else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

import dstress
from dstress.errors import DstressError
from dstress.leaderboard.benchmarks.board import judged_systems
from dstress.leaderboard.database import Database
from dstress.leaderboard.judging import conversation
from dstress.leaderboard.judging.conversation import ask_system, checked_address, draw_goals, is_public
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import Benchmark, Membership, Role, Submission, System, Team
from dstress.llm.post import Unanswered
from tests.leaderboard.clients import Client
from tests.leaderboard.entered import Entered, enter_systems


class Bot(BaseHTTPRequestHandler):
    """Answers with what it heard, or misbehaves when it is told to."""

    heard: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (context,) = sent["contexts"]
        self.heard.append(context | {"headers": dict(self.headers)})
        user, status = context["user"], 200
        reply: Any = {"answers": [{"state": {}, "response": f"You said: {user}\x1b[0m <b>"}]}
        if user == "large":
            reply["answers"][0]["response"] = "x" * (1 << 19)
        elif user == "malformed":
            reply = {"answers": 7}
        elif user == "silent":
            reply["answers"][0]["response"] = " "
        elif user == "broken":
            status = 500
        elif user == "slow":
            time.sleep(2)
        if user == "elsewhere":
            self.send_response(302)
            self.send_header("Location", self.path + "2")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Tests need no log."""


@pytest.fixture
def bot() -> Iterator[str]:
    """The address of a system on this machine."""
    Bot.heard.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bot)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/track"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("192.168.0.1", False), ("172.16.0.9", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("::1", False), ("::", False), ("fe80::1%eth0", False), ("fd00::1", False), ("ff02::1", False),
        ("::ffff:127.0.0.1", False), ("::ffff:10.0.0.1", False), ("2002:7f00:1::", False), ("64:ff9b::7f00:1", False),
    ],
)  # fmt: skip
def test_what_is_public(address: str, public: bool) -> None:
    assert is_public(address) == public


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "http://", "nonsense", "http://me:word@example.org/", "http://${HOME}/x"]
)
def test_what_is_no_address_of_a_system(url: str) -> None:
    with pytest.raises(DstressError):
        checked_address(url)


def ask(bot: str, user: str, *allowed: str) -> str:
    schema = dstress.load("reminder:test").schema
    return ask_system(bot, schema, "d1", [("Hello.", "Hi.")], user, allowed)


def test_a_private_address_is_asked_only_where_it_is_allowed(bot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named = bot.replace("127.0.0.1", "localhost")
    monkeypatch.setenv("HTTP_PROXY", bot)
    for address in (bot, named):
        with pytest.raises(Unanswered, match="private address"):
            ask(address, "a table")
    assert Bot.heard == []
    assert ask(bot, "a table", "127.0.0.1") == "You said: a table[0m <b>"
    (heard,) = Bot.heard
    assert heard["history"] == [{"system": "", "user": "Hello."}]
    assert (heard["system"], heard["user"], heard["turn"]) == ("Hi.", "a table", 1)
    assert not {"Authorization", "Cookie"} & heard["headers"].keys()


def test_the_address_that_was_looked_at_is_the_one_that_is_asked(bot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that means another machine a moment later leads nowhere."""
    answers = iter(["93.184.216.34", "127.0.0.1"])
    connected = []

    def look_up(host: str, port: int, **more: Any) -> list[Any]:
        return [(2, 1, 6, "", (next(answers), port))]

    monkeypatch.setattr(conversation.socket, "getaddrinfo", look_up)
    monkeypatch.setattr(
        conversation.httpcore.SyncBackend, "connect_tcp", lambda self, host, *rest: connected.append(host) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        ask("http://bot.example.org/track", "hello")
    assert connected == ["93.184.216.34"]


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        ("large", "refused"),
        ("malformed", "malformed"),
        ("silent", "malformed"),
        ("broken", "refused"),
        ("elsewhere", "refused"),
        ("slow", "timeout"),
    ],
)
def test_a_system_that_misbehaves_is_told_by_its_kind(
    bot: str, user: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "TIMEOUT", 0.5)
    with pytest.raises(Unanswered) as problem:
        ask(bot, user, "127.0.0.1")
    assert problem.value.category == kind and len(Bot.heard) == 1  # no redirect is followed, and nothing sent again


def test_goals_are_no_dialogue_s_own() -> None:
    corpus = dstress.load("reminder:test")
    goals = draw_goals(corpus, corpus.database, 50, seed=1)
    assert goals == draw_goals(corpus, corpus.database, 50, seed=1) and len(goals) == 50
    own = {goal for dialogue in corpus for goal in draw_goals([dialogue], None, 1, seed=1)}
    assert not own & set(goals)
    (venue,) = (row for row in corpus.database.tables["rooms"] if row["name"] == "Grey Swan Inn")
    told = [goal for goal in goals if "rooms name: Grey Swan Inn" in goal and "rooms area" in goal]
    assert all(f"rooms area: {venue['area']}" in goal for goal in told)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return Settings(settings.folder, settings.database, url=settings.url, private_hosts="127.0.0.1")


@pytest.fixture
def entered(database: Database, settings: Settings, organiser: Client) -> Entered:
    return enter_systems(database, settings, organiser.user)


def own(database: Database, client: Client, entered: Entered, name: str = "Rules") -> int:
    """Put a person into the team of a system."""
    with database.session() as db:
        system = db.get_one(Submission, entered.submissions[name]).system
        db.add(Membership(user_id=client.user.id, team_id=system.team_id))  # type: ignore[union-attr]
        return system.id


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_judge_talks_and_then_judges(
    database: Database, entered: Entered, organiser: Client, member: Client, judge: Client, bot: str,
    program: Callable[[Client], Client],
) -> None:  # fmt: skip
    form = {"choice": f"{entered.benchmark} conversations original", "turns": 2, "seats": 1, "top": 3, "seed": 1}
    assert "no system on the leaderboard has an address" in organiser.submit("/judging/new", **form).text
    system = own(database, member, entered)
    assert judge.submit(f"/systems/{system}/address", address=bot).status_code == 404
    assert member.submit(f"/systems/{system}/address", address=bot).status_code == 303
    assert bot in member.get(f"/systems/{system}").text and bot not in judge.get(f"/systems/{system}").text
    address = organiser.submit("/judging/new", **form).headers["location"]
    assert judge.submit(f"{address}/seat").status_code == 303

    page = judge.get(f"{address}/1").text
    assert "Goal" in page and "127.0.0.1" not in page and "Rules" not in page
    early = judge.submit(f"{address}/1", success="yes")
    assert early.status_code == 400 and "nothing was said yet" in early.text
    assert judge.submit(f"{address}/1/say", text="A table, <b>please").status_code == 303
    page = judge.get(f"{address}/1").text
    assert "A table, &lt;b&gt;please" in page and "You said: A table, &lt;b&gt;please[0m &lt;b&gt;" in page
    assert member.submit(f"{address}/1/say", text="hello").status_code == 403

    asking = program(judge)
    api = f"/api/v1/judging/rounds/{address.rpartition('/')[2]}"
    turns = asking.post(f"{api}/items/2/say", json={"text": "silent"}).json()
    assert turns == [{"user": "silent", "system": "", "failed": "malformed"}]
    turns = asking.post(f"{api}/items/2/say", json={"text": "again"}).json()
    assert len(turns) == 2 and Bot.heard[-1]["history"] == [{"system": "", "user": "silent"}]
    assert Bot.heard[-1]["dialogue"] == Bot.heard[-2]["dialogue"] != Bot.heard[0]["dialogue"]
    assert asking.post(f"{api}/items/2/say", json={"text": "x" * 501}).status_code == 400

    judge.submit(f"{address}/1", success="yes", appropriate_talk="no")
    judge.submit(f"{address}/2", success="yes", appropriate_talk="yes")
    assert judge.submit(f"{address}/2/again").status_code == 303
    assert "again" not in judge.get(f"{address}/2").text.split('class="talk"')[1].split("</div>")[0]
    assert organiser.submit(f"{address}/close").status_code == 303
    assert "success" in organiser.get(address).text
    with database.session(write=False) as db:
        judged = judged_systems(db, db.get_one(Benchmark, entered.benchmark))
    assert judged[entered.submissions["Rules"]].shares["success"].decided == 1
    board = organiser.get("/benchmarks/small-benchmark", params={"view": "jga"}).text
    assert "appropriate conversation" in board
    assert judge.submit(f"{address}/2/say", text="hello").status_code == 400  # it is closed


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_who_talks_for_a_goal_cannot_compete_nor_who_competes_talk(
    database: Database,
    entered: Entered,
    organiser: Client,
    member: Client,
    judge: Client,
    add_client: Callable[..., Client],
    bot: str,
) -> None:
    system = own(database, member, entered)
    member.submit(f"/systems/{system}/address", address=bot)
    form = {"choice": f"{entered.benchmark} conversations original", "turns": 1, "seats": 2, "top": 3, "seed": 1}
    address = organiser.submit("/judging/new", **form).headers["location"]
    competitor = add_client("Competitor", Role.JUDGE)
    own(database, competitor, entered, "Empty")
    assert competitor.submit(f"{address}/seat").status_code == 400
    assert judge.submit(f"{address}/seat").status_code == 303
    with database.session() as db:
        team = Team(name="Late", slug="late")
        db.add(team)
        db.flush()
        db.add_all(
            [
                Membership(user_id=judge.user.id, team_id=team.id),
                System(benchmark_id=entered.benchmark, team_id=team.id, name="Late"),
            ]
        )  # type: ignore[union-attr]
    refused = judge.submit(f"{address}/1/say", text="hello")
    assert refused.status_code == 400 and Bot.heard == []
