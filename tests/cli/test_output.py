"""Tables on the console: in a narrow terminal nothing that matters is cut."""

from __future__ import annotations

import click
import pytest

from dstress.cli.output import print_table
from dstress.reports.tables import Table

SYSTEMS = ["rules", "a-model-with-a-long-name", "empty", "gold"]
ROWS = [
    ("original", "59.50 [48.75, 69.41] b", "61.28 [50.43, 71.13] b", "0.00 [0.00, 5.96] c", "100.00 [94.04, 100.00] a"),
    ("mean over stressors", "56.16 [46.11, 65.74] b", "-", "0.00 [0.00, 5.96] c", "100.00 [94.04, 100.00] a"),
]


def printed(table: Table, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    print_table(table)
    return click.unstyle(capsys.readouterr().out)


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_labels_and_intervals_are_whole_in_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(("version", *(f"#{name}" for name in SYSTEMS)), ROWS, "the caption")
    out = printed(table, columns, monkeypatch, capsys)
    assert max(map(len, out.splitlines())) <= columns
    assert all(cell in out for row in ROWS for cell in row[1:]) and all(name in out for name in SYSTEMS)
    blocks = out.count("version")
    assert blocks > 1 and out.count("stressors") == blocks


def test_texts_wrap_and_the_first_column_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "a value that the label needs is no longer in the text, so the turn was left as it was in the corpus"
    table = Table(("stressor", "reason", "#turns"), [("simplification", reason, "1,427")])
    out = printed(table, 60, monkeypatch, capsys)
    assert out.count("stressor") == 1 and "simplification  a value" in out and "1,427" in out
    assert " ".join(out.split()).count("left as it") == 1 and max(map(len, out.splitlines())) <= 60


def test_a_wide_terminal_shows_one_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(("version", *(f"#{name}" for name in SYSTEMS)), ROWS)
    out = printed(table, 140, monkeypatch, capsys)
    assert len(out.splitlines()) == 4 and "".join(out).count("version") == 1
