"""Runs on calls as results: `python -m benchmarks.bfcl_stress FOLDER RUN [NAME=RUN ...]`; a name marks its columns.

FOLDER/tools.csv has every score with its interval and signature, in the layout of the other results: of each variant,
of its pairs with the original, of the tool variants together, and of the original by category. FOLDER/changes.csv has
the paired test of each stressor.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.scoring.score import score
from dstress.scoring.scorecard import Score


def run(out: Path, *named: str) -> None:
    parts = (text.rpartition("=") for text in named)
    runs = {f" {name}".rstrip(): RunFolder.open(Path(path)) for name, _, path in parts}
    names = {cell.variant: cell.column for cell in runs[""].scores.table}
    out.mkdir(parents=True, exist_ok=True)
    with (out / "tools.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("column", "percent", "low", "high", "over", "signature"))
        for column, own in _scores(runs, names):
            numbers = (f"{100 * number:.2f}" for number in (own.value, own.low, own.high))
            writer.writerow((column, *numbers, round(own.n), own.signature))
    with (out / "changes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("column", "change", "low", "high", "p", "p_holm", "dialogues", "differ", "gains"))
        for suffix, own_run in runs.items():
            for variant, drop in own_run.scores.drops.items():
                points = (f"{100 * number:.2f}" for number in (drop.difference, drop.low, drop.high))
                chances = (f"{number:.2g}" for number in (drop.p, drop.p_holm))
                name = f"{names[variant]} call-accuracy{suffix}"
                writer.writerow((name, *points, *chances, drop.dialogues, drop.differ, drop.gains))


def _scores(runs: Mapping[str, RunFolder], names: Mapping[str, str]) -> Iterator[tuple[str, Score]]:
    for suffix, own_run in runs.items():
        scores = own_run.scores
        for variant, card in scores.variants.items():
            name, cards = names[variant], card.metrics | scores.paired.get(variant, {})
            yield from ((f"{name} {metric}{suffix}", own) for metric, own in cards.items() if own.value == own.value)
        for group, cards in scores.across.items():
            yield from ((f"{group} {metric}{suffix}", own) for metric, own in cards.items())
        original = own_run.variant(ORIGINAL)
        gold, answers = list(original.dialogues()), list(original.journal())
        for category in dict.fromkeys(dialogue.id.rpartition("_")[0] for dialogue in gold):
            asked = [dialogue for dialogue in gold if dialogue.id.rpartition("_")[0] == category]
            made = [answer for answer in answers if answer.dialogue.rpartition("_")[0] == category]
            card = score(made, asked, scores.convention, "call-accuracy")
            yield f"{category} call-accuracy{suffix}", card["call-accuracy"]


if __name__ == "__main__":
    run(Path(sys.argv[1]), *sys.argv[2:])
