"""Every example of CONTRIBUTING.md is installed and used, and prints what it says; there is one of each kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import pages
from tests.paths import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
SECTIONS = pages.sections(PAGE)
KINDS = {
    "Corpus importer",
    "Prediction format",
    "Metric",
    "Convention",
    "Stressor",
    "Translator",
    "Generator",
    "Tracker",
    "Engine",
    "Suite",
}


@pytest.mark.parametrize("title", SECTIONS)
def test_an_example_works(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.run(SECTIONS[title], PAGE, tmp_path, monkeypatch)


def test_there_is_one_of_each_kind() -> None:
    assert set(SECTIONS) == KINDS
    for title in KINDS - {"Suite"}:
        [component] = [block for block in SECTIONS[title] if block.file.endswith(".py")]
        assert 10 <= component.text.count("\n") <= 35, "short enough to be read at once"


def test_the_tree_has_every_folder() -> None:
    tree = PAGE.read_text(encoding="utf-8").split("```")[1]
    folders = {path.name for path in (ROOT / "src" / "dstress").iterdir() if (path / "__init__.py").exists()}
    assert set(re.findall(r"(\w+)/", tree)) == folders | {"src", "dstress"}
    assert len(tree.strip().splitlines()) <= 10
