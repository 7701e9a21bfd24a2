"""What docs/results.md says of a training is what the training's own files say."""

from __future__ import annotations

import csv
import re
from functools import cache

import pytest

from tests.paths import ROOT

PAGE = (ROOT / "docs" / "results.md").read_text("utf-8")


@cache
def measured(system: str, suite: str) -> dict[str, str]:
    """The columns of a suite, in percent, as a training's folder has them."""
    [path] = (ROOT / "results").glob(f"*/{system}/{suite}.csv")
    with path.open(encoding="utf-8") as lines:
        return {row["column"]: row["percent"] for row in csv.DictReader(lines)}


def tables() -> list[tuple[str, list[list[str]]]]:
    """Each table whose first cell names a suite: that suite, and the rows of cells, the head first."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines()]
        if rows[0][0].split(" ")[0] in ("checkdst", "coco", "gca", "sgd-x", "language"):
            found.append((rows[0][0].split(" ")[0], [rows[0], *rows[2:]]))
    return found


@pytest.mark.parametrize(("suite", "rows"), tables(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_figure_of_a_training_is_in_its_folder(suite: str, rows: list[list[str]]) -> None:
    head, *body = rows
    systems = [number for number, name in enumerate(head) if re.fullmatch(r"[a-z-]+-\d", name)]
    assert systems
    shown = {(head[at], row[0]): row[at] for row in body for at in systems}
    assert shown == {(system, column): measured(system, suite)[column] for system, column in shown}


def test_all_tables_of_suites_are_seen() -> None:
    assert sorted(suite for suite, _ in tables()) == [*["checkdst"] * 4, "coco", "gca", "language", "sgd-x"]


@pytest.mark.parametrize("system", ["causal-1", "copy-short-1"])
def test_the_curves_are_those_of_the_checkpoints(system: str) -> None:
    text = (ROOT / "results" / "multiwoz21" / system / "along.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    steps = list(dict.fromkeys(row["step"] for row in rows))
    for column in ("JGA", "NED cJGA", "NoHF swap"):
        values = " | ".join(row["percent"] for row in rows if row["column"] == column)
        assert f"| step | {' | '.join(f'{int(step):,}' for step in steps)} |" in PAGE
        assert f"| {column} | {values} |" in PAGE
