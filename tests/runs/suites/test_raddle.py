"""RADDLE's table 2: its averages by the paper's own rows, and the suite with systems that answer all of it, or less."""

from __future__ import annotations

from math import nan
from pathlib import Path

import pytest

import dstress
from dstress.pipeline.compare import compare
from dstress.pipeline.gate import Limits, gate
from dstress.pipeline.run import Run
from dstress.reports.charts import NARROW, WIDE
from dstress.reports.html import render_html
from dstress.reports.numbers import PLAIN
from dstress.reports.plots import make_plots
from dstress.reports.score_tables import run_tables, tasks
from dstress.runs import suites
from dstress.runs.averages import absent_columns, average_cells
from dstress.runs.folder import Cell
from dstress.runs.scores import find_errors
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.score import ScoringOptions
from dstress.scoring.scorecard import Score
from tests.paths import DOCS

GPT_2 = "40.52 67.36 31.36 62.72 28.82 59.44 22.31 54.15 30.40 54.16 31.41 65.95 28.28 51.29 47.37 83.86"
SOLOIST = "53.17 76.13 40.27 64.89 37.18 63.61 22.73 57.77 38.21 65.71 36.81 70.48 69.05 96.98 56.28 96.18"
ADVERSARIAL = "55.47 79.06 42.11 71.13 38.28 69.89 23.30 63.17 40.02 69.36 39.02 72.33 69.56 98.79 55.03 89.94"


def row(points: str) -> list[Cell]:
    """A row of table 2 as cells of our suite; `-` is absent."""
    columns = [column for column in suites.load("raddle").table if column.task]
    cells = []
    for column, number in zip(columns, points.split(), strict=True):
        value = nan if number == "-" else float(number) / measure_of(column.metric).scale
        score = None if number == "-" else Score(value, nan, nan, 1, "")
        cells.append(Cell(column.name, column.variant, column.metric, score, task=column.task))
    return cells


def averages(cells: list[Cell]) -> list[Cell]:
    return [average_cells(average, cells, {}, {}, 0.95) for average in suites.load("raddle").average]


@pytest.mark.parametrize(
    ("points", "expected"), [(GPT_2, (47.46, 46.53)), (SOLOIST, (59.09, 58.30)), (ADVERSARIAL, (61.03, 60.14))]
)
def test_averages_are_those_of_the_paper(points: str, expected: tuple[float, float]) -> None:
    """The paper rounds, but for GPT-2's Avg.c of 46.537, which it cuts off."""
    found = averages(row(points))
    values = [cell.score.value for cell in found if cell.score]
    assert values == pytest.approx(expected, abs=0.0075)
    assert [cell.score.n for cell in found if cell.score] == [16, 14] and not absent_columns(found, row(points))


def test_the_rows_of_the_page_have_the_averages_that_they_say() -> None:
    text = (DOCS / "suites.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[1:] for line in text.splitlines() if line.count(" | ") == 18 and "JGA" not in line]
    assert len(rows) == 7
    for shown in rows:
        numbers = [number.strip(" |") for number in shown]
        values = [cell.score.value for cell in averages(row(" ".join(numbers[2:]))) if cell.score]
        assert values == pytest.approx([float(number) for number in numbers[:2]], abs=0.0075), shown


def test_an_absent_column_is_left_out_and_not_0() -> None:
    damd = row("14.18 48.99 6.75 44.13 5.78 42.93 5.33 42.58 7.08 42.56 9.1 45.94 - - - -")
    found = averages(damd)
    whole, checklist = (cell.score for cell in found)
    assert whole and checklist and (whole.n, checklist.n) == (12, 10)
    assert whole.value == pytest.approx(315.35 / 12) and checklist.value == pytest.approx(252.18 / 10)
    assert absent_columns(found, damd) == [
        "Avg. and Avg.c: means without Unseen JGA, Unseen IC, OOD JGA, OOD F1, which has no score; "
        "they compare with means of the same columns"
    ]
    nothing = averages(row(" ".join("-" * 16)))
    assert [cell.score for cell in nothing] == [None, None]


def run(tracker: str, folder: Path, few: int = 6) -> Run:
    corpus = dstress.load("reminder:test")[:few]
    return dstress.evaluate("raddle", tracker, corpus, folder / "run", resamples=50, report=False)


@pytest.mark.slow
def test_gold_is_the_ceiling_of_every_column(tmp_path: Path) -> None:
    found = run("gold", tmp_path)
    values = {cell.column: cell.score.value for cell in found.scores.table if cell.score and cell.task}
    assert len(values) == 16
    for column, value in values.items():
        assert value == (200.0 if column.endswith(" C") else 1.0), column
    table = tasks(found.scores, PLAIN)
    assert table.columns == ("task", "#mean", "#JGA", "#C", "#IC", "#F1")
    assert table.rows[0] == ("Standard", "150.00", "100.00", "200.00", "-", "-")
    assert table.rows[-3:] == [
        ("OOD", "100.00", "100.00", "-", "-", "100.00"),
        ("Avg.", "137.50", "", "", "", ""),
        ("Avg.c", "135.71", "", "", "", ""),
    ]


@pytest.mark.slow
def test_the_policy_answers_every_column(tmp_path: Path) -> None:
    found = run("policy(rules)", tmp_path)
    cells = {cell.column: cell for cell in found.scores.table}
    assert all(cell.score for cell in cells.values() if cell.task)
    drawn = make_plots(found.scores)
    rows = drawn["coarse"].chart(WIDE).to_dict(validate=True)["data"]["values"]
    assert [row["name"] for row in rows if row["measure"] == "C"] == ["Standard", "Language", "Speech"]
    language = [cell.score.value for cell in cells.values() if cell.aspect == "Language" and cell.score]
    mean = next(row["value"] for row in rows if (row["measure"], row["name"]) == ("C", "Language"))
    assert mean == pytest.approx(sum(language[1::2]) / 4)
    fine = drawn["fine"].chart(NARROW).to_dict(validate=True)["data"]["values"]
    assert [(row["name"], row["measure"]) for row in fine][-2:] == [("OOD", "JGA"), ("OOD", "F1")] and len(fine) == 16
    assert "Diagnosis</h2>" in render_html(found, find_errors(found))
    whole = cells["Avg."].score
    assert whole and whole.n == 16 and 0 < whole.low < whole.value < whole.high
    assert "RADDLE: policy(tracker=rules) on reminder:test" in run_tables(found.manifest, found.scores)[-1].caption


@pytest.mark.slow
def test_a_tracker_that_only_tracks_has_columns_that_are_absent(tmp_path: Path) -> None:
    found = run("empty", tmp_path)
    absent = [cell.column for cell in found.scores.table if cell.task and not cell.score]
    assert absent == [f"{task} C" for task in ("Standard", "Para.", "Simp.", "Typos", "Verbo.", "Speech")] + [
        "Unseen IC",
        "OOD F1",
    ]
    assert tasks(found.scores, PLAIN).rows[0][3:] == ("-", "-", "-")
    assert found.scores.notes[0].startswith("Avg. and Avg.c: means without Standard C, Para. C,")


@pytest.mark.slow
def test_runs_of_systems_that_answer_are_compared_and_gated(tmp_path: Path) -> None:
    corpus = dstress.load("reminder:test")[:12]
    runs = [
        dstress.evaluate("raddle", tracker, corpus, tmp_path / name, only=("typos",), resamples=20, report=False)
        for name, tracker in (("gold", "gold"), ("empty", "policy(empty)"))
    ]
    metrics = ["inform", "success", "bleu", "combined"]
    made = compare(runs, metrics=metrics, options=ScoringOptions(resamples=200))
    for variant in ("original", "typos"):
        (pair,) = made.variants[variant].pairs
        assert list(pair.tests) == metrics
        for name in ("bleu", "combined"):
            test = pair.tests[name]
            assert test.significant and test.low < test.difference < test.high < 0 and test.dialogues == 12, name
    for metric in metrics:
        verdict = gate(runs[0], runs[1], Limits(metric=metric, max_drop=1.0))
        assert verdict.passed and verdict.unit == "points" and set(verdict.checks) == {"original", "typos"}
    assert not gate(runs[1], runs[0], Limits(metric="combined", max_drop=1.0)).passed
    services = runs[1].scores.variants["original"].slices["service"]
    assert all({"inform", "success"} <= set(values) for values in services.values())
