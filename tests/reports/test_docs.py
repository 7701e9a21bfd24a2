"""What docs/report.md says is what the page does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dstress
from dstress.reports.heatmaps import STEPS
from dstress.reports.variant_names import variant_names
from dstress.runs.suites import load
from tests.pages import run as run_section
from tests.pages import sections
from tests.paths import ROOT

PAGE = ROOT / "docs" / "report.md"


def test_stressors_have_the_names_of_the_table() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `(.+)` \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(rows) == 4
    for suite, spec, name in rows:
        assert variant_names(load(suite))[spec] == name


def test_colours_change_where_the_page_says() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    *steps, last = (str(step).replace("-", "\N{MINUS SIGN}") for step in STEPS)
    assert f"change at {', '.join(steps)} and {last} points" in text


@pytest.mark.slow
def test_the_example_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dstress.evaluate("quick", "gold", dstress.load("reminder:test")[:2], tmp_path / "runs/quick", only=("typos",))
    run_section(sections(PAGE)["In Python"], PAGE, tmp_path, monkeypatch)
    assert (tmp_path / "quick.html").read_text("utf-8") == (tmp_path / "runs/quick/report.html").read_text("utf-8")
