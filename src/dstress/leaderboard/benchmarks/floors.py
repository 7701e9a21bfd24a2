"""The floor of the combined score: what `policy(empty)` gets, which understands nothing and still answers.

BLEU and inform reward any polite answer that names a place, so a combined score says little without its floor: 49.3 on
`reminder`. It is measured on the benchmark itself, as a submission would be.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from dstress.leaderboard.benchmarks.answers import read_answers
from dstress.leaderboard.benchmarks.package import Package
from dstress.leaderboard.benchmarks.results import score_answers, views_of
from dstress.leaderboard.benchmarks.tracking import track_inputs
from dstress.pipeline.run import OnProgress
from dstress.storage.atomic import replacing
from dstress.trackers import create

FLOOR = "policy(empty)"
_MEASURED = "combined"


def add_floors(package: Package, on_progress: OnProgress = lambda what, done, total: None) -> None:
    """Measure the floor of every column of combined scores and keep it in the benchmark's key, if there are such."""
    columns = {
        name: [label for label in view.labels if {column.metric for column in view.behind(label)} == {_MEASURED}]
        for name, view in views_of(package.suite).items()
    }
    if not any(columns.values()) or package.gold.database is None:
        return

    asked = {case.id: list(case.asked) for case in package.key.cases}
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        for part, corpus in package.inputs.items():
            path = Path(folder) / part / "answers.jsonl"
            track_inputs(
                corpus, asked, create(FLOOR), path, lambda done: on_progress("measuring the floor", done, None)
            )
        answers = read_answers(package, path if len(package.inputs) == 1 else Path(folder))
    result = next(iter(score_answers(package, answers).results.values()))  # conventions are of states, and this is not
    floors = {
        view: {label: cell.score.value for label in labels if (cell := result.cell(view, label)) and cell.score}
        for view, labels in columns.items()
        if labels
    }
    key = msgspec.structs.replace(package.key, floors=floors)
    with replacing(package.path / "key.json") as out:
        out.write(msgspec.json.encode(key))
    del package.key  # it is cached, and read anew
