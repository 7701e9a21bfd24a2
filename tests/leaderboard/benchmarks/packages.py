"""Small benchmarks on the embedded corpus, and answers to them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from dstress.leaderboard.benchmarks.package import Package, Plan, create_package
from dstress.leaderboard.benchmarks.tracking import track_inputs
from dstress.trackers import create

SUITE = """
title = "Small"
metrics = ["jga", "slot-f1"]
stressors = [{stressors}]

[[table]]
column = "JGA"
task = "Standard"
variant = "original"
metric = "jga"

[[table]]
column = "JGA"
task = "Stressed"
variant = "{first}"
metric = "jga"

[[table]]
column = "always wrong"
variant = "{first}"
metric = "always-wrong"

[[average]]
column = "Avg."

[[average]]
column = "Avg.c"
without = ["Standard"]
"""


def make_package(folder: Path, stressors: Sequence[str] = ("typos", "entities"), **changes: object) -> Package:
    """A benchmark over a few dialogues."""
    folder.mkdir(parents=True)
    suite = folder / "small.toml"
    named = ", ".join(f'"{spec}"' for spec in stressors)
    suite.write_text(SUITE.format(stressors=named, first=stressors[0]), encoding="utf-8")
    plan = {"limit": 4} | changes
    return create_package(folder / "package", Plan(str(suite), "reminder:test", "Small", **plan))  # type: ignore[arg-type]


def answer(package: Package, tracker: str, path: Path) -> Path:
    """The file that a tracker would submit: JSON lines, or a zip of such where the inputs have several parts."""
    asked = {case.id: list(case.asked) for case in package.key.cases}
    if len(package.inputs) == 1:
        (corpus,) = package.inputs.values()
        track_inputs(corpus, asked, create(tracker), path.with_suffix(".jsonl"))
        return path.with_suffix(".jsonl")
    for part, corpus in package.inputs.items():
        track_inputs(corpus, asked, create(tracker), path / part / "answers.jsonl")
    return Path(shutil.make_archive(str(path), "zip", path))
