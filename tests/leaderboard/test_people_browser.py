"""In a real browser: a round is started, judged by keys and closed; a task is written with live checks, and vetted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from dstress.leaderboard.database import Database
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import Role
from tests.leaderboard.browsing import axe_complaints, listening
from tests.leaderboard.clients import Client
from tests.leaderboard.entered import enter_systems
from tests.leaderboard.test_collecting import rewrites, task_of
from tests.parts import need

WAYS: list[dict[str, Any]] = [
    {},
    {"color_scheme": "dark"},
    {"viewport": {"width": 390, "height": 800}},
]


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path: Path, migrated_sqlite: Path) -> str:
    """A browser sees no database; one kind is enough."""
    return f"sqlite:///{tmp_path / 'platform.db'}"


class Browsers:
    """A tab for each person; every page that is opened is held to axe-core and to its width."""

    def __init__(self, chromium: Any, site: str, how: dict[str, Any]) -> None:
        self.chromium, self.site, self.how = chromium, site, how
        self.complaints: list[str] = []
        self.contexts: list[Any] = []

    def open(self, client: Client) -> Any:
        context = self.chromium.new_context(base_url=self.site, **self.how)
        context.add_cookies([{"name": "dstress", "value": client.cookies["dstress"], "url": self.site}])
        self.contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("dialog", lambda dialog: dialog.accept())
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        return tab

    def check(self, tab: Any) -> None:
        self.complaints += [f"{tab.url}: {complaint}" for complaint in axe_complaints(tab)]
        if tab.evaluate("document.documentElement.scrollWidth") > tab.viewport_size["width"]:
            self.complaints.append(f"{tab.url}: wider than the screen")


@pytest.fixture(params=WAYS, ids=["desktop", "dark", "phone"])
def browsers(request: pytest.FixtureRequest, chromium: Any, app: FastAPI) -> Iterator[Browsers]:
    need("axe")
    with listening(app) as site:
        opened = Browsers(chromium, site, request.param)
        yield opened
        for context in opened.contexts:
            context.close()
    assert opened.complaints == []


def test_a_round_from_its_start_to_the_leaderboard(
    browsers: Browsers, database: Database, settings: Settings, organiser: Client, judge: Client
) -> None:
    enter_systems(database, settings, organiser.user)
    host = browsers.open(organiser)
    host.goto("/judging/new")
    browsers.check(host)
    host.get_by_label("Turns").fill("3")
    host.get_by_label("Judges of every item").fill("1")
    host.get_by_role("button", name="Draw the turns").click()
    browsers.check(host)
    tab = browsers.open(judge)
    tab.goto(host.url)
    browsers.check(tab)
    tab.get_by_role("button", name="Take a seat").click()
    browsers.check(tab)
    total = int(tab.inner_text("h1").split()[3])
    tab.keyboard.press("1")
    tab.keyboard.press("Enter")  # answered, and on to the next
    tab.wait_for_url(lambda url: not url.endswith("/1"))
    tab.goto(f"{host.url}/1")
    assert tab.get_by_label("yes").is_checked() and "answered" in tab.inner_text("h1")
    tab.keyboard.press("x")  # cleared, and on to the next without an answer
    tab.wait_for_url(lambda url: not url.endswith("/1"))
    assert f"0 of {total} answered" in tab.inner_text("main")
    tab.keyboard.press("u")
    for _ in range(total):
        tab.wait_for_selector("#answers")
        before = tab.url
        tab.keyboard.press("2")
        tab.keyboard.press("Enter")
        tab.wait_for_url(lambda url, before=before: url != before)
    tab.get_by_text("Everything is answered").wait_for()
    browsers.check(tab)
    host.goto(host.url)
    host.get_by_role("button", name="Close the round").click()
    host.get_by_role("heading", name="Verdict").wait_for()
    browsers.check(host)
    host.goto("/benchmarks/small-benchmark")
    assert "by people" in host.inner_text("thead") and "0.0" in host.inner_text("tbody")


def test_a_task_is_written_with_live_checks_and_vetted(
    browsers: Browsers, database: Database, organiser: Client, worker: Client
) -> None:
    host, tab = browsers.open(organiser), browsers.open(worker)
    host.goto("/collecting/new")
    browsers.check(host)
    host.get_by_label("Turns to rewrite").fill("1")
    host.get_by_label("Seed of the draw").fill("5")
    host.get_by_role("button", name="Make the tasks").click()
    tab.goto(host.url)
    browsers.check(tab)
    tab.get_by_role("button", name="Take a task").click()
    browsers.check(tab)
    task = task_of(database, tab.url)
    texts = rewrites(task)  # type: ignore[arg-type]
    first = tab.get_by_label("In other words")
    first.fill(task.utterance.text)  # type: ignore[union-attr]
    tab.locator("#told1", has_text="the same as the original").wait_for()
    first.fill(texts["paraphrase"])
    tab.locator("#told1", has_text="good").wait_for()
    for label, kind in (("With typos", "typos"), ("Longer", "verbose"), ("Shorter", "simplified")):
        tab.get_by_label(label).fill(texts[kind])
    tab.locator("#told4", has_text="good").wait_for()
    tab.get_by_role("button", name="Submit").click()
    tab.get_by_text("Thank you").first.wait_for()
    host.goto(host.url)
    host.get_by_role("link", name="Vet 4 answers").click()
    browsers.check(host)
    host.get_by_role("button", name=f"Reject: {texts['typos']}").click()
    host.get_by_role("button", name="Accept all 3").click()
    host.get_by_text("Nothing is pending").wait_for()
    browsers.check(host)
    host.goto("/collecting/1")
    with host.expect_download() as waiting:
        host.get_by_role("link", name="Download the rewrites").click()
    assert waiting.value.suggested_filename == "rewrites-1.zip"


def test_names_are_written_in_a_browser(
    browsers: Browsers, add_client: Callable[..., Client], organiser: Client
) -> None:
    organiser.submit("/collecting/new", kind="elements", corpus="reminder:test")
    tab = browsers.open(add_client("Wendy", Role.WORKER))
    tab.goto("/collecting/1")
    tab.get_by_role("button", name="Take a task").click()
    browsers.check(tab)
    tab.get_by_role("button", name="Submit").click()
    assert "another look" in tab.get_by_role("alert").inner_text()
    browsers.complaints.clear()  # the browser notes that the answer was 422
    browsers.check(tab)
    tab.locator("#field1").fill("something to say here")
    tab.locator("#told1", has_text="good").wait_for()
