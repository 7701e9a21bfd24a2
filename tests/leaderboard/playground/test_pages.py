"""The playground's pages: bounded and escaped, the same with and without script, and safe to offer to everybody."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest

from dstress.corpora import load
from dstress.errors import DstressError
from dstress.studies.playground import Playground, Scene, read_state
from tests.cli.test_cli import run as call
from tests.leaderboard.browsing import axe_complaints, listening
from tests.parts import need
from tests.paths import SEARCHED

need("server")

from dstress.leaderboard.playground.desk import Answer, Desk, Rules, public_rules  # noqa: E402
from dstress.leaderboard.playground.local import create_playground, open_desk  # noqa: E402
from dstress.leaderboard.playground.worker import Worker  # noqa: E402
from dstress.stressors import stressors  # noqa: E402

ATTACK = "</textarea><script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
LABEL = "trips-destination = Saltfleet\ntrips-tickets = 2 | two"


def few(*names: str, rules: Rules | None = None) -> Desk:
    """A playground of some stressors, which answers soon."""
    offered = {name: public_rules().offered[name] for name in names}  # type: ignore[index]
    return Desk(["reminder:train"], (rules or public_rules())._replace(offered=offered, seconds=0))


def answer(desk: Desk, **query: str) -> Answer:
    return desk.answer([(name.replace("__", "."), value) for name, value in query.items()], 60)


def client(desk: Desk) -> Any:
    from fastapi.testclient import TestClient

    return TestClient(create_playground(desk), base_url="http://127.0.0.1")


def test_a_request_sets_texts_seeds_and_strengths() -> None:
    desk = few("typos", "entities")
    done = answer(desk, user="a taxi to Saltfleet for two", label=LABEL, seeds="2", first="7", typos__rate="1.0")
    typos, entities = done.cards
    assert typos.spec == "typos(rate=1)" and not done.is_waiting and not done.problem
    assert typos.tried and [seed for made in typos.tried.made for seed in made.seeds] == [7, 8]
    assert entities.tried and entities.tried.made[0].label[0].slot == "trips-destination"


def test_another_corpus_begins_with_its_first_dialogue() -> None:
    desk = Desk(["reminder:test", "reminder:dev"], Rules(offered={"typos": {}}))
    query = {"from": "reminder:test", "corpus": "reminder:dev", "dialogue": "reminder-test-0003", "turn": "3"}
    done = answer(desk, **query)
    assert done.scene and done.scene.dialogue.id == "reminder-dev-0000" and done.scene.turn == 0
    assert "unknown dialogue" in answer(desk, **query | {"from": "reminder:dev"}).problem


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"turn": "99"}, "has 12 turns"),
        ({"turn": "x"}, "turn is a number"),
        ({"seeds": "6"}, "seeds is a number from 1 to 5"),
        ({"dialogue": "nobody"}, "unknown dialogue"),
        ({"corpus": "reminder:test"}, "unknown corpus"),
        ({"corpus": "/etc/passwd"}, "unknown corpus"),
        ({"user": "x" * 501}, "500 characters"),
        ({"user": " "}, "no utterance"),
        ({"label": "trips-destination"}, "no slot with a value"),
        ({"label": "taxi-nowhere = x"}, "unknown slot"),
    ],
)
def test_a_mistake_is_said_and_runs_nothing(query: dict[str, str], problem: str) -> None:
    done = answer(few("typos"), **{"user": "a taxi", **query})
    assert problem in done.problem and not done.cards
    assert done.request.user == query.get("user", "a taxi")


@pytest.mark.parametrize("value", ["2", "-1", "nan", "inf", "1e400", "0.1, values=true", "[1]", "x" * 1000])
def test_a_strength_out_of_bounds_is_refused(value: str) -> None:
    [card] = answer(few("typos"), typos__rate=value).cards
    assert card.tried and "rate is a number from 0 to 1" in card.tried.problem and not card.tried.made


def test_the_public_page_takes_no_spec_no_file_and_no_other_argument() -> None:
    desk = few("typos", "values")
    done = answer(desk, spec="os:system", typos__kinds="[swap]", values__dictionary="/etc/passwd", rewrites__path="x")
    assert [card.spec for card in done.cards] == ["typos", "values"]
    assert done.cards[1].tried and "dictionary cannot be that" in done.cards[1].tried.problem


def test_what_the_public_page_offers_is_there_and_needs_nothing() -> None:
    desk = Desk(["reminder:train"], public_rules())
    for name, offered in desk.offered.items():
        stressor = stressors.get(name)
        assert not stressor.heavy and not stressor.needs
        for argument in offered.arguments:
            assert argument.default, f"{name}.{argument.name}"
            if bounds := desk.bounds(name, argument.name):
                assert bounds[0] <= float(argument.default) <= bounds[1]
            else:
                assert argument.default in argument.choices


def test_answers_are_found_once_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, tried = few("typos"), list[str]()
    true = Desk._try_out
    monkeypatch.setattr(Desk, "_try_out", lambda self, *given: tried.append(given[2]) or true(self, *given))
    for _ in range(3):
        assert not answer(desk).problem
    assert tried == ["typos"]
    monkeypatch.setattr("dstress.leaderboard.playground.desk._MOST_WAITING", -1)
    [card] = answer(desk, user="something else").cards
    assert card.tried and card.tried.problem == "the playground is busy"


def test_what_is_not_ready_says_so_and_is_found_later() -> None:
    desk = few("typos")
    first = desk.answer([], 0.0)
    assert first.is_waiting or first.cards[0].tried
    assert not answer(desk).is_waiting


def test_a_stressor_that_fails_leaves_the_others_their_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TimeoutError("no answer <b>")

    monkeypatch.setattr("dstress.stressors.typos.Typos.rewrite", fail)
    done = answer(few("typos", "entities"))
    assert done.cards[0].tried and "it failed: TimeoutError: no answer <b>" in done.cards[0].tried.problem
    assert done.cards[1].tried and done.cards[1].tried.made and not done.is_waiting


@pytest.mark.slow
def test_what_takes_too_long_on_the_platform_is_ended_and_the_next_is_answered() -> None:
    worker = Worker(60)
    playground = Playground(load("reminder:train"))
    slots = playground.corpus.schema.slots
    scene = Scene(playground.find(""), 0)
    label = read_state("\n".join(f"{slot} = a" for slot in slots), playground.corpus.schema)
    hostile = scene.write("a " * 250, "", label)
    assert worker.try_out("reminder:train", "typos", scene, (1, 2)) == playground.try_out("typos", scene, (1, 2))
    worker.seconds = 0.05
    ended = worker.try_out("reminder:train", "disfluency", hostile, (1, 2, 3, 4, 5))
    assert "took longer than 0.05 seconds" in ended.problem
    worker.seconds = 60
    assert worker.try_out("reminder:train", "typos", scene, (1, 2)).made


def test_everything_typed_is_shown_as_text() -> None:
    with client(few("typos", rules=Rules())) as visited:
        query = {"user": ATTACK, "system": ATTACK, "label": f"trips-destination = {ATTACK}"}
        query |= {"typos.rate": ATTACK, "spec": ATTACK, "dialogue": ""}
        shown = visited.get("/playground", params=query)
        assert shown.status_code == 200 and "<script>" not in shown.text and "<img" not in shown.text
        assert "&lt;script&gt;" in shown.text and "script-src 'self'" in shown.headers["content-security-policy"]
        for name in ("corpus", "dialogue", "turn", "first", "seeds", "run", "label"):
            shown = visited.get("/playground", params={name: ATTACK})
            assert shown.status_code == 200 and "<img" not in shown.text


def test_only_this_machine_and_no_other_site_is_answered() -> None:
    with client(few("typos")) as visited:
        assert visited.get("/playground", headers={"Host": "evil.example"}).status_code == 400
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
            headers = {"Sec-Fetch-Site": site}
            assert visited.get("/playground?spec=typos", headers=headers).status_code == status
        assert visited.get("/playground", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200
        assert visited.post("/playground").status_code == 405


def test_the_platform_answers_everybody_and_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from fastapi.testclient import TestClient

    from dstress.leaderboard.app import create_app
    from dstress.leaderboard.playground import pages
    from dstress.leaderboard.settings import Settings
    from dstress.leaderboard.web.limits import Limit

    desk = few("typos")
    monkeypatch.setattr(pages, "get_desk", lambda: desk)
    monkeypatch.setattr(pages, "TRIES", Limit(2, 3600))
    with TestClient(create_app(Settings(tmp_path))) as visited:
        shown = visited.get("/playground")
        assert shown.status_code == 200 and 'aria-current="page">Playground' in shown.text
        assert "typos" in shown.text and "your own spec" not in shown.text
        assert visited.get("/playground?user=a+taxi").status_code == 200
        assert visited.get("/playground").status_code == 429


def test_the_command_refuses_what_it_cannot_open() -> None:
    with pytest.raises(DstressError, match="did you mean 'reminder'"):
        call("view", "--playground", "--corpus", "remainder:test")
    with pytest.raises(DstressError, match="no list to write"):
        call("view", "--playground", "--json")


@pytest.mark.slow
def test_the_command_serves_a_playground_without_runs(tmp_path: Any) -> None:
    command = [sys.executable, "-m", "dstress", "view", "--playground", "--port", "0"]
    environment = os.environ | {"PYTHONPATH": SEARCHED, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as viewer:
        assert viewer.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/", viewer.stdout.readline())
        assert address
        with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=60, follow_redirects=True) as visitor:
            shown = visitor.get(address[0])
        assert shown.status_code == 200 and "<h1>Playground</h1>" in shown.text
        viewer.send_signal(signal.SIGINT)
        assert viewer.wait(20) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}, {"java_script_enabled": False}]
)
def test_a_person_types_a_turn_and_sees_what_becomes_of_it(chromium: Any, how: dict[str, Any]) -> None:
    need("axe")
    desk = open_desk("reminder:test")
    assert not desk.answer([], 120).is_waiting
    with listening(create_playground(desk)) as address:
        tab = chromium.new_context(**how).new_page()
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(f"{address}/playground")
        tab.get_by_label("the user says").fill(f"a taxi to Saltfleet for two {ATTACK}")
        tab.get_by_label("the label after the turn").fill(LABEL)
        entities = tab.locator("[data-name=entities]")
        if how.get("java_script_enabled", True):
            tab.get_by_role("button", name="Load this turn").focus()
            tab.wait_for_selector("#pg-said :text('Saltfleet')")
            tab.locator("[data-name=typos] summary").press("Enter")
            tab.locator("[name='typos.rate']").fill("0.5")
            tab.wait_for_selector("[data-name=typos] .pg-spec:has-text('typos(rate=0.5)')")
            assert tab.locator("[name='typos.rate']").is_visible() and "typos.rate=0.5" in tab.url
            tab.get_by_label("the label after the turn").fill("nonsense")
            tab.wait_for_selector("#pg-said [role=alert]:has-text('no slot with a value')")
            tab.get_by_label("the label after the turn").fill(LABEL)
            tab.wait_for_selector("#pg-said .pg-values")
            assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
            assert axe_complaints(tab) == [] and not tab.evaluate("window.hacked")
            again = chromium.new_page()
            again.goto(tab.url)
            assert again.input_value("[name='typos.rate']") == "0.5"
            again.close()
        else:
            tab.get_by_role("button", name="Try the stressors").click()
        tab.wait_for_selector("[data-name=entities] .pg-label del:has-text('Saltfleet')")
        assert entities.locator(".pg-text ins").count() == 3
        assert "rewrites" in tab.inner_text("[data-name=rewrites]") and complaints == []
        tab.context.close()
