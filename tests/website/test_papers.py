"""Every number of docs/papers.md is in the paper that it is said to be of, or on the page that made it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import DOCS

FILES = {"GCA": "gca", "SGD-X": "sgd-x", "CoCo": "coco", "CheckDST": "checkdst", "RADDLE": "raddle"}


class Row(NamedTuple):
    """A row of numbers: the section that it stands in, the pages that the section links to, its name, its numbers."""

    section: str
    linked: tuple[str, ...]
    name: str
    numbers: tuple[str, ...]


def read_rows() -> list[Row]:
    found = []
    for section in (DOCS / "papers.md").read_text("utf-8").split("\n## ")[1:]:
        linked = tuple(re.findall(r"\]\(([\w/-]+\.md)", section))
        for line in re.findall(r"^\|(.+)\|$", section, re.MULTILINE):
            name, *cells = (cell.strip() for cell in line.split("|"))
            first = [] if re.search(r"[a-z]", name) else [name]
            numbers = re.findall(r"\d+(?:\.\d+)?", " ".join([*first, *cells]))
            if numbers and not re.search(r"figure|names|v1-5", line):
                found.append(Row(section.splitlines()[0], linked, name, tuple(numbers)))
    return found


ROWS = read_rows()


def is_of_a_paper(row: Row) -> bool:
    return row.name.startswith("*")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if is_of_a_paper(row)], ids=lambda row: f"{row.section}: {row.name}"
)
def test_a_papers_row_is_in_the_paper(row: Row, shared: Path) -> None:
    text = (shared / "papers" / f"{FILES[row.section.split(',')[0]]}.txt").read_text("utf-8")
    assert set(row.numbers) <= set(re.findall(r"\d+(?:\.\d+)?", text))


@pytest.mark.parametrize(
    "row", [row for row in ROWS if not is_of_a_paper(row)], ids=lambda row: f"{row.section}: {row.name}"
)
def test_a_row_of_ours_is_on_the_page_that_made_it(row: Row) -> None:
    text = "".join((DOCS / page).read_text("utf-8") for page in row.linked)
    assert set(row.numbers) <= set(re.findall(r"\d+(?:\.\d+)?", text))


def test_there_are_rows_of_both_kinds_for_every_paper() -> None:
    papers = {row.section.split(",")[0] for row in ROWS if is_of_a_paper(row)}
    ours = {row.section.split(",")[0] for row in ROWS if not is_of_a_paper(row)}
    assert papers == ours == set(FILES)
