"""In a real browser: from signing up to a place on the board, and pages that axe-core finds nothing wrong with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.benchmarks.service import open_package
from dstress.leaderboard.database import Database
from dstress.leaderboard.jobs import JobStore, work
from dstress.leaderboard.tables import Role
from tests.leaderboard.benchmarks.packages import answer
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD
from tests.parts import need

WAYS = {"desktop": (1280, 900, "light"), "dark": (1280, 900, "dark"), "phone": (390, 844, "light")}


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path: Path, migrated_sqlite: Path) -> str:
    """A browser sees no database; one kind is enough."""
    return f"sqlite:///{tmp_path / 'platform.db'}"


@pytest.fixture
def working(store: JobStore) -> Iterator[None]:
    """A worker beside the server."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(0.1):
            if job := store.claim():
                work(store, job)

    thread = threading.Thread(target=go_on)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.mark.slow
def test_sign_up_create_submit_watch_publish(
    page: Any, store: JobStore, database: Database, working: None, tmp_path: Path
) -> None:
    page.goto("/signup")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("heading", name="Benchmarks").wait_for()
    with database.session() as db:
        ada = accounts.find_user(db, "ada@example.org")
        assert ada is not None
        accounts.set_roles(db, ada, {Role.ORGANISER}, None)
    page.goto("/")
    page.get_by_role("link", name="New benchmark").click()
    page.get_by_label("Title").fill("Winter <b>")
    page.get_by_label("Only the first dialogues").fill("2")
    page.get_by_role("button", name="Make the benchmark").click()
    page.get_by_role("heading", name="Public inputs").wait_for(
        timeout=120_000
    )  # the page loads itself when it is ready
    with page.expect_download() as download:
        page.get_by_role("link", name="unified", exact=True).click()
    assert download.value.suggested_filename == "winter-b-unified.zip"
    path = answer(open_package(store.files, 1), "rules", tmp_path / "rules")
    page.get_by_role("link", name="Submit answers").click()
    page.get_by_label("Answers").set_input_files(path)
    page.get_by_label("System", exact=True).fill("My <i>tracker</i>")
    page.get_by_label("Your team's name").fill("We")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Publish").wait_for(timeout=60_000)
    page.get_by_role("button", name="Publish").click()
    page.get_by_text("Published: everybody can see it now.").wait_for()
    page.goto("/benchmarks/winter-b")
    board = page.get_by_role("region", name="Leaderboard")
    board.get_by_role("link", name="My <i>tracker</i>").wait_for()
    page.get_by_role("navigation", name="Metric").get_by_role("link", name="slot-f1").click()
    page.wait_for_url("**view=slot-f1*")
    page.get_by_role("link", name="typos").click()
    assert page.locator("[aria-sort]").inner_text().startswith("typos")
    board.get_by_role("link", name="My <i>tracker</i>").click()
    page.get_by_role("heading", name="Slots", exact=True).wait_for()
    page.goto("/submissions/1")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_text("Withdrawn.").wait_for()
    page.goto("/benchmarks/winter-b")
    page.get_by_text("No system is published yet.").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_axe_finds_nothing_wrong(
    chromium: Any,
    site: str,
    add_client: Callable[..., Client],
    hand_in: Callable[..., Any],
    answers: dict[str, Path],
    do_work: Callable[[], int],
    benchmark: str,
    way: str,
) -> None:
    need("axe")
    from axe_playwright_python.sync_playwright import Axe

    width, height, colours = WAYS[way]
    ada = add_client("Ada", Role.ORGANISER)
    for number, name in enumerate(answers, start=1):
        hand_in(ada, answers[name], f"System {number}")
        do_work()
        ada.submit(f"/submissions/{number}/publish")
    paths = ["/", f"/benchmarks/{benchmark}", f"/benchmarks/{benchmark}/history", f"/benchmarks/{benchmark}/submit"]
    paths += ["/benchmarks/new", "/submissions", "/submissions/1", "/systems/1"]
    wrong = []
    with chromium.new_context(viewport={"width": width, "height": height}, color_scheme=colours) as context:
        context.add_cookies([{"name": "dstress", "value": ada.cookies.get("dstress"), "url": site}])
        opened = context.new_page()
        for path in paths:
            assert opened.goto(site + path).status == 200
            found = Axe().run(opened).response["violations"]
            wrong += [f"{path}: {one['id']} {one['nodes'][0]['html'][:120]}" for one in found]
            if opened.evaluate("document.documentElement.scrollWidth") > width:
                wrong.append(f"{path}: wider than the screen")
    assert wrong == []
