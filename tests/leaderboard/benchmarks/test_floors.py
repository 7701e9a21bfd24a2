"""Systems that speak: the database goes out with the inputs, responses are scored, and C stands beside its floor."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import dstress
from dstress.cli.benchmark import _in_width
from dstress.corpora.base import Corpus
from dstress.corpora.database import Database
from dstress.dialogue import Schema, Service, Slot
from dstress.leaderboard.benchmarks.answers import read_answers
from dstress.leaderboard.benchmarks.floors import add_floors
from dstress.leaderboard.benchmarks.inputs import write_archives
from dstress.leaderboard.benchmarks.package import Package, Plan, create_package
from dstress.leaderboard.benchmarks.results import score_answers
from dstress.leaderboard.benchmarks.service import summarise
from dstress.predictions import read_predictions, write_predictions
from dstress.reports.tables import Table
from tests.leaderboard.benchmarks.packages import answer

SUITE = """
title = "Speaking"
metrics = ["jga", "inform", "success", "bleu", "combined"]
stressors = ["typos", "entities"]
table = [
    { task = "Standard", column = "JGA", variant = "original", metric = "jga" },
    { task = "Standard", column = "C", variant = "original", metric = "combined" },
    { task = "Typos", column = "C", variant = "typos", metric = "combined" },
]
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    folder = tmp_path_factory.mktemp("speaking")
    (folder / "speaking.toml").write_text(SUITE, encoding="utf-8")
    package = create_package(
        folder / "package", Plan(str(folder / "speaking.toml"), "reminder:test", "Speaking", limit=4)
    )
    add_floors(package)
    return package


@pytest.mark.slow
def test_every_layout_has_the_database_and_it_is_read_back(package: Package, tmp_path: Path) -> None:
    whole = dstress.load("reminder:test").database
    assert whole and package.archives.keys() == {"dstress", "sgd", "unified"}
    for layout, path in package.archives.items():
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / layout)
            assert "tables_db.json" in archive.read("README.txt").decode() or "events_db.json" in archive.namelist()
        read = dstress.load(f"{tmp_path / layout}:test").database
        assert read is not None and read.tables == whole.tables
    assert summarise(package)["tables"] == sorted(whole.tables)


@pytest.mark.slow
@pytest.mark.parametrize("tracker", ["policy(rules)", "policy(empty)"])
def test_responses_score_as_in_a_run_and_the_floor_is_what_it_says(
    package: Package, tmp_path: Path, tracker: str
) -> None:
    file = answer(package, tracker, tmp_path / "speaking")
    # As a person uploads them: another file in the same format, without what the tracker says beside.
    write_predictions(read_predictions(file), tmp_path / "mine.jsonl")
    scored = score_answers(package, read_answers(package, tmp_path / "mine.jsonl")).results["exact"]
    run = dstress.evaluate(
        package.suite, tracker, dstress.load("reminder:test", limit=4), tmp_path / "run", report=False
    )
    for variant in run.variants:
        for metric in ("inform", "success", "bleu", "combined"):
            value = scored.scores.variants[variant].metrics[metric].value
            assert value == pytest.approx(run.scores.variants[variant].metrics[metric].value, abs=1e-9), (
                variant,
                metric,
            )
    floors = package.key.floors
    assert floors.keys() == {"suite", "combined"} and floors["suite"].keys() == {"Standard C", "Typos C"}
    above = [
        (cell.score.value, floors[view][label])
        for view in floors
        for label in floors[view]
        if (cell := scored.cell(view, label)) and cell.score
    ]
    assert len(above) == 2 + 5  # of the suite's table; of combined, each version and two means
    if tracker == "policy(empty)":
        assert all(value == pytest.approx(floor, abs=1e-9) for value, floor in above)
    else:
        assert any(abs(value - floor) > 1 for value, floor in above)


def test_a_layout_without_a_schema_has_an_ontology(tmp_path: Path) -> None:
    service = Service("hotel", "", (Slot("area", values=("north", "south")), Slot("name"), Slot("book day")))
    corpus = Corpus("tiny", "test", Schema((service,)), lambda: iter(()))
    corpus.open_database = lambda: Database({"hotel": [{"name": "Swan", "area": "north"}]})
    write_archives({"part1": corpus}, [], tmp_path, "Tiny", "")
    with zipfile.ZipFile(tmp_path / "trade.zip") as archive:
        ontology = json.loads(archive.read("ontology.json"))
    assert ontology == {"hotel-area": ["north", "south"], "hotel-name": ["Swan"], "hotel-book day": []}


def test_a_board_fits_the_terminal() -> None:
    columns = ["##", "system", "team", *(f"#Task {number} JGA" for number in range(12))]
    rows = [[str(place), "policy(rules(train=reminder:train))", "We", *["12.34"] * 12] for place in range(3)]
    whole = Table(columns, rows)
    assert _in_width(whole, 400) == [whole]
    parts = _in_width(whole, 80)
    assert 1 < len(parts) < 5
    assert [name for part in parts for name in part.names[2:]] == [
        "team",
        *(f"Task\n{number}\nJGA" for number in range(12)),
    ]
    for part in parts:
        assert part.columns[:2] == ["##", "system"]
        longest = [
            max(len(line) for text in column for line in text.split("\n"))
            for column in zip(part.names, *part.rows, strict=True)
        ]
        assert sum(longest) + 2 * (len(longest) - 1) <= 80
