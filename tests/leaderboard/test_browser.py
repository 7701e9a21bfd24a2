"""In a real browser: an account from the first click to the last, pages that axe-core finds nothing wrong with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dstress.leaderboard.tables import Role
from tests.leaderboard.clients import Client
from tests.leaderboard.conftest import PASSWORD
from tests.leaderboard.routes import entries
from tests.parts import need

WAYS = {"desktop": (1280, 900, "light"), "dark": (1280, 900, "dark"), "phone": (390, 844, "light")}


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path: Path, migrated_sqlite: Path) -> str:
    """A browser sees no database; one kind is enough."""
    return f"sqlite:///{tmp_path / 'platform.db'}"


def test_an_account_from_the_first_click_to_the_last(page: Any) -> None:
    page.goto("/signup")
    page.get_by_label("Name").fill("Ada <Lovelace>")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("link", name="Ada <Lovelace>").click()
    page.get_by_role("link", name="Teams").click()
    page.get_by_label("Name of a new team").fill("Engines")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Engines").wait_for()
    page.get_by_role("button", name="Make an invitation").click()
    assert "/join?invitation=" in page.locator(".secret").inner_text()
    page.get_by_role("link", name="Tokens").click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Make a token").click()
    assert page.locator(".secret").inner_text().startswith("dst_")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Revoke laptop").click()  # asked, and thought better of it
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_text("The token is revoked.").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.goto("/login")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_label("Password").fill("wrong password")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_axe_finds_nothing(chromium: Any, site: str, add_client: Callable[..., Client], way: str) -> None:
    """Every page without a number in its address, by nobody and by somebody with all roles; none scrolls sideways."""
    need("axe")
    from axe_playwright_python.sync_playwright import Axe

    width, height, colours = WAYS[way]
    everybody = add_client("Everybody", *Role)
    everybody.submit("/teams", name="Engines")
    everybody.submit("/account/tokens", name="laptop")
    wrong = []
    pages = [entry for entry in entries() if entry.method == "GET" and not entry.is_api and "{" not in entry.path]
    for who, secret in (("nobody", ""), ("everybody", everybody.cookies.get("dstress"))):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
        if secret:
            context.add_cookies([{"name": "dstress", "value": secret, "url": site}])
        with context:
            opened = context.new_page()
            for entry in pages:
                if entry.path in ("/metrics", "/healthz", "/account/export"):
                    continue
                opened.goto(site + entry.path)
                violations = Axe().run(opened).response["violations"]
                wrong += [f"{who} {entry.path}: {one['id']} {one['nodes'][0]['html'][:90]}" for one in violations]
                if opened.evaluate("document.documentElement.scrollWidth") > width:
                    wrong.append(f"{who} {entry.path}: wider than the screen")
    assert wrong == []


def test_a_page_works_by_keyboard_alone(page: Any) -> None:
    page.goto("/login")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.name || document.activeElement.innerText"))
    assert {"email", "password", "Sign in"} <= seen


def test_no_page_asks_another_host(page: Any, site: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("/login", "/signup", "/password/forgotten"):
        page.goto(path)
    assert len(asked) >= 6
    assert not [url for url in asked if not re.match(f"{site}/|data:", url)]
