"""Every block of docs/python.md runs and prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import pages
from tests.paths import DOCS

PAGE = DOCS / "python.md"
SECTIONS = pages.sections(PAGE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data home for the page, so that `reminder` is generated once."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_does_what_it_says(title: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_HOME", str(home))
    pages.run(SECTIONS[title], PAGE, tmp_path, monkeypatch)
