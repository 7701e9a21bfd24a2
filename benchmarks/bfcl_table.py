"""The published answers of BFCL's models, scored anew: `python -m benchmarks.bfcl_table` writes results/bfcl/table.csv.

Call accuracy over the five categories together, with intervals; ranks and tie groups by paired tests of every pair with
Holm's correction; what `parse=strict` moves; and accuracy by category. Needs the folder `shared` beside the repository.
"""

from __future__ import annotations

import csv
import tempfile
import zipfile
from itertools import pairwise
from pathlib import Path

from benchmarks.timing import shared
from dstress import corpora
from dstress.dialogue import Dialogue
from dstress.pipeline.compare import compare
from dstress.predictions import read_predictions
from dstress.predictions.base import Prediction
from dstress.scoring.score import ScoringOptions, score

CATEGORIES = {
    "simple": "simple",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
    "relevance": "irrelevance",
}
METRIC = "call-accuracy"
OUT = Path(__file__).resolve().parents[1] / "results" / "bfcl" / "table.csv"


def run() -> None:
    folder = shared("golden/bfcl")
    if folder is None:
        return
    gold: dict[str, list[Dialogue]] = {
        split: list(corpora.load(f"{folder / 'questions.zip'}:{split}")) for split in CATEGORIES.values()
    }
    everything = [dialogue for dialogues in gold.values() for dialogue in dialogues]
    answers: dict[str, list[Prediction]] = {}
    rows: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        zipfile.ZipFile(folder / "answers.zip").extractall(scratch)
        for path in sorted(Path(scratch).iterdir()):
            by_split = {split: list(read_predictions(path / f"{name}.jsonl")) for name, split in CATEGORIES.items()}
            answers[path.name] = [prediction for predictions in by_split.values() for prediction in predictions]
            few = ScoringOptions(resamples=1)
            rows[path.name] = {
                split: score(predictions, gold[split], "bfcl", METRIC, options=few)[METRIC].value
                for split, predictions in by_split.items()
            }
    for convention in ("bfcl", "bfcl(parse=strict)"):
        options = ScoringOptions(resamples=10_000)
        comparison = compare(answers, everything, convention, [METRIC], options)
        ranking = comparison.ranking
        if ranking is None:
            raise ValueError("nothing was ranked")
        order = ranking.orders["original"]
        suffix = "" if convention == "bfcl" else " strict"
        for name, standing in order.standings.items():
            rows[name] |= {
                f"all{suffix}": standing.value,
                f"low{suffix}": standing.low,
                f"high{suffix}": standing.high,
                f"rank{suffix}": standing.rank,
                f"group{suffix}": standing.group,
            }
        names = list(order.standings)
        different = {frozenset((pair.system, pair.other)) for pair in order.tests if pair.significant}
        neighbours = sum(frozenset(pair) not in different for pair in pairwise(names))
        print(f"{convention}: {len(names)} models, {len(everything):,} questions; {neighbours} of {len(names) - 1} "
              f"neighbouring ranks are within noise; {len(different)} of {len(order.tests)} pairs differ")  # fmt: skip
    OUT.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(rows.items(), key=lambda row: (row[1]["rank"], row[0]))
    with OUT.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        head = list(ordered[0][1])
        writer.writerow(["model", *head])
        for name, row in ordered:
            cells = (row[key] for key in head)
            writer.writerow([name, *(f"{cell:.4f}" if isinstance(cell, float) else cell for cell in cells)])


if __name__ == "__main__":
    run()
