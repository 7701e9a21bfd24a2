"""Pictures of the platform: a fresh server with its example, people who use it, and a browser that looks on."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from dstress.leaderboard.accounts import service as accounts
from dstress.leaderboard.database import Database
from dstress.leaderboard.example import TITLE
from dstress.leaderboard.settings import Settings
from dstress.leaderboard.tables import Role

PEOPLE = {"Olga Lind": Role.ORGANISER, "Paul Weir": Role.MEMBER, "Judith Amsel": Role.JUDGE, "Wanda Rook": Role.WORKER}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
RUNS = {"rules": "rules", "counted": "rules(train=reminder:train)", "empty": "empty"}
REWRITES = {
    "In other words": "Great, please remind me at 09:30 to update the family calendar.",
    "With typos": "Good. Ad a remidner to update the familiy calendar due at 09:30 for me.",
    "Longer": "Good. Add a reminder to update the family calendar due at 09:30 for me.",
}
"""Of the turn that seed 37 draws; the second breaks a value, the third is not longer."""


@contextmanager
def running(path: str, words: str, *command: str | Path) -> Iterator[str]:
    """A command of dstress that serves, on a free port; gives its address once a page there has words."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    site = f"http://127.0.0.1:{port}"
    call = [sys.executable, "-m", "dstress", *command, "--port", str(port)]
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            time.sleep(0.2)
            try:
                with urlopen(site + path) as page:
                    if words in page.read().decode():
                        break
            except (URLError, ConnectionError):
                continue
        else:
            raise TimeoutError(f"dstress {command[0]} does not come up")
        yield site
    finally:
        process.terminate()
        process.wait(60)


def add_people(folder: Path) -> tuple[dict[str, str], str]:
    """Everybody with a session's secret, by first name, and a token of the one who takes part."""
    database = Database(Settings(folder=folder).database_url)
    database.migrate()
    secrets, token = {}, ""
    with database.session() as db:
        for name, role in PEOPLE.items():
            first = name.split()[0]
            user = accounts.add_user(db, f"{first.lower()}@example.org", name, role)
            secrets[first] = accounts.begin_session(db, user, 1)
            if role == Role.MEMBER:
                accounts.make_team(db, user, "Night owls")
                token = accounts.make_token(db, user, "laptop")
    database.close()
    return secrets, token


class People:
    """Tabs of the people at a server."""

    def __init__(self, browser: Any, site: str, secrets: dict[str, str], stack: ExitStack) -> None:
        self.browser, self.site, self.secrets, self.stack = browser, site, secrets, stack

    def tab(self, who: str = "", screen: dict[str, Any] = DESKTOP) -> Any:
        """A tab of somebody who is signed in, or of a visitor."""
        context = self.stack.enter_context(
            self.browser.new_context(base_url=self.site, reduced_motion="reduce", **screen)
        )
        if who:
            context.add_cookies([{"name": "dstress", "value": self.secrets[who], "url": self.site}])
        return context.new_page()


def take_platform(browser: Any, place: Path) -> Iterator[tuple[str, bytes]]:
    """A picture of each main page of a server, with its file's name."""
    secrets, token = add_people(place / "server")
    with ExitStack() as stack:
        site = stack.enter_context(running("/", TITLE, "serve", "--folder", place / "server"))
        people = People(browser, site, secrets, stack)
        yield from _take_part(people, token)
        yield from _judge(people)
        yield from _collect(people)


def _take_part(people: People, token: str) -> Iterator[tuple[str, bytes]]:
    olga = people.tab("Olga")
    olga.goto("/benchmarks/new")
    olga.get_by_label("Title").fill("Winter challenge")
    olga.get_by_label("About").fill("Eight dialogues of the development split, to try a tracker before spring.")
    olga.get_by_label("Corpus").select_option("reminder:dev")
    olga.get_by_label("Only the first dialogues").fill("8")
    olga.get_by_role("button", name="Make the benchmark").click()
    olga.get_by_role("heading", name="Public inputs").wait_for(timeout=120_000)
    address = f"{people.site}/benchmarks/reminder-quick-look"
    call = [sys.executable, "-m", "dstress", "submit", "--to", address, "--system", "Owl rules"]
    call += ["--tracker", "rules(train=reminder:dev)"]
    known = os.environ | {"DSTRESS_TOKEN": token}
    said = subprocess.run(call, check=True, text=True, capture_output=True, env=known).stdout
    paul = people.tab("Paul")
    paul.goto(said[said.index("http") :].strip())
    yield "submission.png", paul.screenshot()
    paul.get_by_role("button", name="Publish").click()
    paul.get_by_text("everybody can see it now").wait_for()
    visitor = people.tab()
    visitor.goto("/")
    yield "front.png", visitor.screenshot()
    visitor.goto(address)
    yield "benchmark.png", visitor.screenshot()
    yield "leaderboard.png", visitor.locator("section").first.screenshot()
    visitor.get_by_role("region", name="Leaderboard").get_by_role("link", name="Owl rules").click()
    visitor.get_by_role("heading", name="Cost of each stressor").wait_for(timeout=120_000)
    visitor.set_viewport_size({"width": 1280, "height": 1100})
    yield "system.png", visitor.screenshot()
    phone = people.tab(screen=PHONE)
    phone.goto(address)
    phone.locator("section").first.evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    yield "leaderboard-phone.png", phone.screenshot()


def _judge(people: People) -> Iterator[tuple[str, bytes]]:
    olga = people.tab("Olga")
    olga.goto("/judging/new")
    olga.get_by_label("What is judged").select_option(label=f"{TITLE}: systems on typos")
    olga.get_by_label("Turns").fill("12")
    olga.get_by_role("button", name="Draw the turns").click()
    judge = people.tab("Judith")
    judge.goto(olga.url)
    judge.get_by_role("button", name="Take a seat").click()
    for _ in range(4):
        judge.get_by_label("yes").check()
        before = judge.url
        judge.get_by_role("button", name="Save and go on").click()
        judge.wait_for_url(lambda url, before=before: url != before)
    judge.get_by_label("yes").check()
    judge.evaluate("document.activeElement.blur()")
    yield "judging.png", judge.screenshot(full_page=True)
    phone = people.tab("Judith", PHONE)
    phone.goto(judge.url)
    yield "judging-phone.png", phone.screenshot()


def _collect(people: People) -> Iterator[tuple[str, bytes]]:
    olga = people.tab("Olga")
    olga.goto("/collecting/new")
    olga.get_by_label("Title").fill("Reminders in other words")
    olga.get_by_label("Turns to rewrite").fill("1")
    olga.get_by_label("Seed of the draw").fill("37")
    olga.get_by_role("button", name="Make the tasks").click()
    worker = people.tab("Wanda")
    worker.goto(olga.url)
    worker.get_by_role("button", name="Take a task").click()
    for label, text in REWRITES.items():
        worker.get_by_label(label).fill(text)
    worker.locator("#told3", has_text=re.compile(r"\w")).wait_for()
    worker.evaluate("document.activeElement.blur()")
    yield "collecting.png", worker.screenshot(full_page=True)


def take_playground(browser: Any) -> Iterator[tuple[str, bytes]]:
    """A picture of the local playground."""
    with running("/playground", "pg-row", "view", "--playground") as site, browser.new_context(**DESKTOP) as context:
        page = context.new_page()
        page.set_viewport_size({"width": 1100, "height": 1400})
        page.goto(f"{site}/playground")
        page.locator(".pg:not(:has([data-waits]))").wait_for(timeout=60_000)
        yield "playground.png", page.screenshot()


def take_viewer(browser: Any, place: Path) -> Iterator[tuple[str, bytes]]:
    """A picture of the local viewer with a few runs."""
    for name, tracker in RUNS.items():
        call = [sys.executable, "-m", "dstress", "run", "quick", "--tracker", tracker, "--corpus", "reminder:test"]
        subprocess.run([*call, "--limit", "40", "--out", place / "runs" / name], check=True, stdout=subprocess.DEVNULL)
    with running("/", "runs", "view", place / "runs") as site, browser.new_context(**DESKTOP) as context:
        page = context.new_page()
        page.set_viewport_size({"width": 1280, "height": 500})
        page.goto(site)
        yield "viewer.png", page.screenshot(full_page=True)
