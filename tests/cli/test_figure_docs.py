"""The examples of these pages of docs/ are run, and print what they say."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest

from dstress.cli.main import main
from tests.paths import DOCS

PAGES = ("diversity", "augmentation", "human-check", "shrink", "search")
BLOCK = re.compile(r"^```\n(\$ dstress .*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ dstress (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def judges() -> None:
    """Three made-up judges: one says yes to all, one no to every fourth item, one no to every sixth."""
    with Path("judge.csv").open(encoding="utf-8-sig", newline="") as lines:
        items = [row["item"] for row in csv.DictReader(lines)]
    for name, strict in (("anna", 0), ("ben", 4), ("chloe", 6)):
        answers = ["no" if strict and number % strict == 0 else "yes" for number in range(len(items))]
        rows = [f"{item},{told},{told}" for item, told in zip(items, answers, strict=True)]
        Path(f"{name}.csv").write_text("\n".join(["item,human_like,correct", *rows]))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_print_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text("utf-8"))
    found = [example for block in blocks for example in COMMAND.findall(block)]
    assert found
    for command, expected in found:
        if "--judged" in command:
            judges()
        with pytest.raises(SystemExit) as left:
            main(shlex.split(command))
        told = capsys.readouterr()
        shown = told.out if left.value.code == 0 else told.err
        assert shown.split() == expected.split(), command


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!http)([\w./-]+)(?:#[\w-]*)?\)", (DOCS / f"{page}.md").read_text("utf-8")):
        assert (DOCS / target).exists(), target
