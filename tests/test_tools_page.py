"""What docs/tools.md says of the published models is what results/bfcl/table.csv says."""

from __future__ import annotations

import csv
import re

from tests.paths import DOCS, ROOT


def test_every_figure_is_in_the_results() -> None:
    with (ROOT / "results" / "bfcl" / "table.csv").open(encoding="utf-8") as lines:
        rows = {row["model"]: row for row in csv.DictReader(lines)}
    shown = [
        line.strip("| \n").split(" | ")
        for line in re.findall(r"^\| \S+ \| \d.*$", (DOCS / "tools.md").read_text(), re.M)
    ]
    assert [row[0] for row in shown] == list(rows)
    columns = ("all", "all strict", "simple", "multiple", "parallel", "parallel_multiple", "irrelevance")
    for name, total, interval, _, group, *others in shown:
        row = rows[name]
        assert [total, *others] == [f"{100 * float(row[column]):.2f}" for column in columns]
        assert interval == f"{100 * float(row['low']):.2f} to {100 * float(row['high']):.2f}"
        assert group == row["group"]
