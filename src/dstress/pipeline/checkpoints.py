"""Robustness along training: a suite at every checkpoint that a training kept (CheckDST, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from dstress.engines.base import Engine
from dstress.learning.checkpoints import list_checkpoints, read_notes
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run, RunOptions
from dstress.reports.differences import find_forgotten
from dstress.reports.html import REPORT
from dstress.runs.suites import Suite
from dstress.spec import ComponentSpec, parse
from dstress.storage.atomic import replacing

FORGOTTEN = "forgotten.jsonl"


def checkpoint_trackers(training: Path, tracker: str = "") -> dict[int, str]:
    """A tracker for every checkpoint in a training's folder, by step.

    `tracker` has arguments beside the path: `copy(device=cuda)`.
    """
    trackers = {}
    for step, folder in list_checkpoints(training).items():
        spec = parse(tracker) if tracker else ComponentSpec(str(read_notes(folder)["family"]))
        trackers[step] = str(msgspec.structs.replace(spec, arguments={**spec.arguments, "path": str(folder)}))
    return trackers


def evaluate_checkpoints(
    suite: str | Suite,
    trackers: Mapping[int, str],
    corpus: str,
    out: Path,
    options: RunOptions = RunOptions(),  # noqa: B008  it is frozen
    engine: Engine | None = None,
) -> list[Run]:
    """Run a suite at every checkpoint, each into `out` by its step; the page there is over all of them.

    Beside it, `forgotten.jsonl` lists the turns that were right at an earlier checkpoint and are wrong at the last.
    """
    runs: list[Run] = []
    for step, tracker in sorted(trackers.items()):
        path = out / f"{step:07}"
        if runs:
            runs[0].share_corpus(path)  # all are asked about the same dialogues, which need not be stressed again

        def on_progress(what: str, done: int, total: int | None, step: int = step) -> None:
            options.on_progress(f"step {step:,}: {what}", done, total)

        at_step = options._replace(report=False, on_progress=on_progress)
        runs.append(evaluate(suite, tracker, corpus, path, at_step, engine))
    runs[-1].report(out / REPORT, runs[:-1])
    with replacing(out / FORGOTTEN) as lines:
        for turn in find_forgotten(runs):
            lines.write(msgspec.json.encode(turn) + b"\n")
    return runs
