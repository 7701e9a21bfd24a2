"""What docs/tools.md says of models is what the files in results/bfcl say."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from tests.paths import DOCS, ROOT

RESULTS = ROOT / "results" / "bfcl"


def rows(path: Path, key: str) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return {row[key]: row for row in csv.DictReader(lines)}


def section(title: str) -> tuple[str, list[list[str]]]:
    """The text under a heading, and its table's rows."""
    text = (DOCS / "tools.md").read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    return text, [line.strip("| \n").split(" | ") for line in re.findall(r"^\| \S+ \| \d.*$", text, re.MULTILINE)]


def test_every_figure_of_published_models_is_in_the_results() -> None:
    known = rows(RESULTS / "table.csv", "model")
    _, shown = section("Published models, rescored")
    assert [row[0] for row in shown] == list(known)
    columns = ("all", "all strict", "simple", "multiple", "parallel", "parallel_multiple", "irrelevance")
    for name, total, interval, _, group, *others in shown:
        row = known[name]
        assert [total, *others] == [f"{100 * float(row[column]):.2f}" for column in columns]
        assert interval == f"{100 * float(row['low']):.2f} to {100 * float(row['high']):.2f}"
        assert group == row["group"]


def test_every_figure_of_the_model_under_stress_is_in_the_results() -> None:
    folder = RESULTS / "qwen2.5-coder-0.5b"
    scores, changes = rows(folder / "tools.csv", "column"), rows(folder / "changes.csv", "column")
    text, shown = section("A real model under stress")
    assert len(shown) == 14
    for name, value, interval, *tested, tools, abstention, strict in shown:
        row = scores[f"{name} call-accuracy"]
        assert (value, interval) == (row["percent"], f"{row['low']} to {row['high']}")
        others = (f"{name} {metric}" for metric in ("tool-accuracy", "abstention", "call-accuracy strict"))
        assert [tools, abstention, strict] == [scores[other]["percent"] for other in others]
        if name != "original":
            change = changes[f"{name} call-accuracy"]
            low, high, p = float(change["low"]), float(change["high"]), float(change["p_holm"])
            written = [f"{float(change['change']):+.2f}", f"{low:+.2f} to {high:+.2f}"]
            assert tested == [
                *written,
                "< 0.001" if p < 0.001 else f"{p:.3f}",
                scores[f"{name} newly-wrong"]["percent"],
            ]
    for column in ("ss(call-accuracy)", "ss(call-accuracy, over=ever-right)"):
        row = scores[f"tool variants {column}"]
        assert f"{row['percent']} % ({row['low']} to {row['high']})" in " ".join(text.split())
    assert "{percent} %\n  ({low} to {high})".format(**scores["original call-accuracy in text"]) in text
    for category in ("simple_python", "multiple", "irrelevance", "parallel"):
        assert f"{scores[f'{category} call-accuracy']['percent']} % on `{category.removesuffix('_python')}`" in text
