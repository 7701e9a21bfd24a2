"""Runs of several tasks as one row."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dstress.errors import DstressError
from dstress.reports.task_means import task_table
from dstress.runs.folder import Cell, RunFolder
from dstress.runs.suites.base import Average
from dstress.scoring.metrics.measures import AVERAGE
from dstress.scoring.scorecard import Score

AVERAGES = (Average("Avg."), Average("Avg.c", ("Standard",)))


def run(path: Path, title: str = "domains", averages: tuple[Average, ...] = AVERAGES, **values: Any) -> RunFolder:
    """A run whose table has these columns: `Standard_JGA` for the task Standard."""
    cells = [Cell("Avg.", "", AVERAGE, Score(99.0, 0, 0, 1, ""))]
    for column, value in values.items():
        task, _, measure = column.partition("_")
        score = None if value is None else Score(value, value, value, 1, "")
        cells.append(Cell(f"{task} {measure}", "original", {"JGA": "jga", "C": "combined"}[measure], score, task=task))
    suite = SimpleNamespace(title=title, average=averages)
    manifest = SimpleNamespace(tracked=path.name, suite=suite)
    return cast(RunFolder, SimpleNamespace(path=path, manifest=manifest, scores=SimpleNamespace(table=cells)))


def rows(*runs: RunFolder) -> dict[str, tuple[str, ...]]:
    return {row[0]: tuple(row[1:]) for row in task_table(runs).rows}


def test_columns_are_means_over_tasks_and_averages_are_of_these(tmp_path: Path) -> None:
    own = tmp_path / "gpt2"
    table = rows(
        run(own / "hotel", Standard_JGA=0.5, Standard_C=80.0, Typos_JGA=0.2),
        run(own / "train", Standard_JGA=0.3, Standard_C=60.0, Typos_JGA=0.1),
        run(own / "reminder", "unseen", (), Unseen_JGA=0.4, Typos_JGA=None),
    )
    assert table == {
        "Avg.": ("41.25", "3"),
        "Avg.c": ("27.50", "3"),
        "Standard JGA": ("40.00", "2"),
        "Standard C": ("70.00", "2"),
        "Typos JGA": ("15.00", "2"),
        "Unseen JGA": ("40.00", "1"),
    }


def test_draws_of_a_system_and_a_column_that_one_system_lacks(tmp_path: Path) -> None:
    runs = [run(tmp_path / f"gpt2-{draw}" / "hotel", averages=(), Standard_JGA=draw / 10) for draw in (1, 2, 3)]
    runs.append(run(tmp_path / "soloist" / "hotel", averages=(), Standard_JGA=0.5, Typos_JGA=0.25))
    table = task_table(runs)
    assert table.names == ["measure", "gpt2 (3 draws)", "soloist", "tasks"]
    assert [tuple(row) for row in table.rows] == [
        ("Standard JGA", "20.00 ± 10.00", "50.00", "1"),
        ("Typos JGA", "-", "25.00", "1"),
    ]
    assert table.data[0]["value"] == pytest.approx(20) and table.data[0]["deviation"] == pytest.approx(10)


def test_what_is_no_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="same task"):
        task_table([run(tmp_path / "a" / "hotel", Standard_JGA=0.5)] * 2)
    with pytest.raises(DstressError, match=r"of 1 tasks here and of 2"):
        several = [run(tmp_path / "a" / task, Standard_JGA=0.5) for task in ("hotel", "train")]
        task_table([*several, run(tmp_path / "b" / "hotel", Standard_JGA=0.5)])
