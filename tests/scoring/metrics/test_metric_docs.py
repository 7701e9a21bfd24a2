"""Every metric has its section in docs/metrics, and every number printed there is recomputed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dstress.scoring.metrics import metrics
from dstress.scoring.score import ScoringOptions, score
from dstress.scoring.scorecard import Scorecard
from tests.paths import DOCS

FOLDER = DOCS / "metrics"
README, FIGURES = (FOLDER.joinpath(name).read_text(encoding="utf-8") for name in ("README.md", "gca-figures.md"))
INDEX = re.findall(r"^\| `([\w-]+)` \| .+? \| \[([\w-]+)\]\((\S+?)\)", README, re.MULTILINE)
"""Metric, page and link of every row; pages that no row names (of several runs, of one metric at length) are free."""
PAGES = {page: (FOLDER / f"{page}.md").read_text(encoding="utf-8") for page in sorted({row[1] for row in INDEX})}

_BLOCK = re.compile(r"(?:^`(?P<file>[\w./]+)`\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"(?P<metric>[a-z][\w-]*(?:\(.*\))?) +(?P<value>\S+)")
_TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
_FEW = ScoringOptions(resamples=5)


class Example(NamedTuple):
    """Files by name, the convention, and what the page says comes out, as printed."""

    files: dict[str, str]
    convention: str
    printed: dict[str, str]

    def card(self, folder: Path) -> Scorecard:
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        gold = str(folder / "gold") if any(name.startswith("gold/") for name in self.files) else None
        predictions = folder / next(name for name in self.files if name.startswith("predictions"))
        return score(predictions, gold, self.convention, list(self.printed), options=_FEW)


def examples(page: str) -> Iterator[Example]:
    """The page's examples: each block of values belongs to the files before it."""
    files: dict[str, str] = {}
    closed = False
    for block in _BLOCK.finditer(page):
        if block["kind"] == "json":
            files = {} if closed else files
            files[block["file"] or "predictions.json"] = block["text"]
            closed = False
        elif block["kind"] == "text":
            first, _, rest = block["text"].partition("\n")
            named = first.startswith("convention: ")
            lines = (rest if named else block["text"]).splitlines()
            rows = [row for line in lines if (row := _ROW.fullmatch(line))]
            assert len(rows) == len(lines), f"not values: {lines}"
            printed = {row["metric"]: row["value"] for row in rows}
            yield Example(dict(files), first.removeprefix("convention: ") if named else "", printed)
            closed = True


EXAMPLES = {f"{page}-{number}": e for page, text in PAGES.items() for number, e in enumerate(examples(text))}


def as_printed(value: float, printed: str, scale: int = 1) -> str:
    """The value with as many digits as were printed."""
    return "undefined" if math.isnan(value) else f"{scale * value:.{len(printed.partition('.')[2])}f}"


def sections(page: str) -> list[str]:
    return re.findall(r"^## (.+)$", page, re.MULTILINE)


def test_every_metric_has_one_section_and_every_section_a_metric() -> None:
    assert sorted(name for page in PAGES.values() for name in sections(page)) == sorted(metrics.targets)


def test_the_index_lists_every_metric_with_its_section() -> None:
    places = {name: (page, f"{page}.md#{name}") for page, text in PAGES.items() for name in sections(text)}
    assert {name: (page, link) for name, page, link in INDEX} == places
    assert len(INDEX) == len(places)


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: str(page.stem))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*)#?([\w-]*)\)", page.read_text(encoding="utf-8")):
        text = (page.parent / target if target else page).read_text(encoding="utf-8")
        assert not anchor or anchor in sections(text), f"{target}#{anchor}"


def test_every_metric_is_in_some_example() -> None:
    shown = {name.partition("(")[0] for example in EXAMPLES.values() for name in example.printed}
    assert set(metrics.targets) <= shown
    assert {page for page in PAGES if not any(key.startswith(f"{page}-") for key in EXAMPLES)} == set()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_scores_as_printed(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    card = example.card(tmp_path)
    assert {metric: as_printed(card[metric].value, text) for metric, text in example.printed.items()} == example.printed


def test_the_signature_table_knows_every_part(tmp_path: Path) -> None:
    known = set(re.findall(r"^\| `(\w+)` \| ", README.partition("## Reading a signature")[2], re.MULTILINE))
    parts = [set(EXAMPLES[name].card(tmp_path / name).signature) for name in ("jga-0", "dstc8-0", "responses-0")]
    assert set.union(*parts) | {"coverage", "plugins", "stress", "states", "delexicalised"} == known


def table(text: str) -> list[list[str]]:
    """A Markdown table's header and rows, by cell."""
    lines = [line for line in text.splitlines() if not line.startswith("|--")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def state(cell: str) -> dict[str, dict[str, str]]:
    """`area=north; taxi-departure=ely` by service; a slot without one is the hotel's."""
    result: dict[str, dict[str, str]] = {}
    for pair in filter(None, cell.split("; ")):
        slot, _, value = pair.partition("=")
        service, _, name = slot.rpartition("-")
        result.setdefault(service or "hotel", {})[name] = value
    return result


def joined(before: dict[str, dict[str, str]], change: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {service: before.get(service, {}) | change.get(service, {}) for service in {**before, **change}}


class Figure(NamedTuple):
    """One prediction of one figure: its turns in GCA's layout, what is printed of it, and what the paper says."""

    turns: dict[str, dict[str, dict[str, dict[str, str]]]]
    printed: dict[str, str]
    paper: dict[str, str]


def figures() -> Iterator[tuple[str, Figure]]:
    for section in FIGURES.split("\n## ")[1:]:
        dialogue, values = (table(found.group()) for found in list(_TABLE.finditer(section))[:2])
        for number, column in enumerate(dialogue[0][2:]):
            where = number + 2
            paper = {row[0]: said[number] for row in values[1:] if (said := row[-1].split(", ")) != [""]}
            printed = {row[0]: row[1 + number] for row in values[1:]}
            yield f"{section.split(maxsplit=2)[1]}-{column}", Figure(followed(dialogue[1:], where), printed, paper)


def followed(rows: list[list[str]], column: int) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    """All turns of a dialogue, cumulative, from the rows that change something."""
    changes = {int(row[0]): (state(row[1]), state(row[column])) for row in rows}
    turns, gold, predicted = {}, state(""), state("")
    for turn in range(max(changes) + 1):
        new_gold, new_predicted = changes.get(turn, ({}, {}))
        gold, predicted = joined(gold, new_gold), joined(predicted, new_predicted)
        turns[str(turn)] = {"gt": gold, "pr": predicted}
    return turns


FIGURE_EXAMPLES = dict(figures())


def test_all_six_predictions_are_there() -> None:
    assert list(FIGURE_EXAMPLES) == ["1-P1", "1-P2", "6-P", "7-P", "8-P1", "8-P2"]


@pytest.mark.parametrize("name", FIGURE_EXAMPLES)
def test_a_figure_scores_as_printed(name: str, tmp_path: Path) -> None:
    figure = FIGURE_EXAMPLES[name]
    path = tmp_path / "figure.json"
    path.write_text(json.dumps({name: figure.turns}), encoding="utf-8")
    card = score(path, metrics=list(figure.printed), options=_FEW)
    for said in (figure.printed, figure.paper):
        assert {metric: as_printed(card[metric].value, text, 100) for metric, text in said.items()} == said
