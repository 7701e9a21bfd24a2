"""The pages about judging, collecting and viewing print what they say, and name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dstress.leaderboard.app import API
from tests import pages
from tests.paths import DOCS

PAGES = {name: DOCS / "platform" / f"{name}.md" for name in ("judging", "collecting", "viewing")}
SECTIONS = [(name, title) for name, page in PAGES.items() for title in pages.sections(page)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "title"), SECTIONS)
def test_a_section_prints_what_it_says(name: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.run(pages.sections(PAGES[name])[title], PAGES[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([\w./-]+)(?:#[\w-]*)?\)", PAGES[name].read_text("utf-8")):
        assert (PAGES[name].parent / target).exists(), target


@pytest.mark.parametrize(("name", "prefix"), [("judging", "/judging/rounds"), ("collecting", "/collections")])
def test_the_addresses_for_programs_are_those_of_the_api(name: str, prefix: str) -> None:
    part = PAGES[name].read_text("utf-8").partition("## For programs")[2]
    named = {re.sub(r"{\w+}", "{}", path) for path in re.findall(r"`(?:PUT )?(/[{\w/}]+)`", part)} - {
        f"/api/v1{prefix}"
    }
    paths = [route.path for router in API for route in router.routes if route.path.startswith(prefix)]
    known = {re.sub(r"{\w+}", "{}", path.removeprefix(prefix)) for path in paths} - {""}
    assert named == known
