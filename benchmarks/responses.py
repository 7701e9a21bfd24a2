"""Inform and success of UBAR's responses to MultiWOZ, beside a plain scan of the database for every query."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import dstress
from benchmarks.timing import best_of, shared
from dstress.conventions.venues import Venues, identify
from dstress.corpora.database import Database
from dstress.predictions import read_predictions
from dstress.scoring.metrics.task_success import Judge, Outcome
from dstress.text.placeholders import Placeholders


class Scan(Venues):
    """Looks at every row for every query, and remembers nothing, as the field's evaluator does."""

    def find(self, service: str, constraints: Mapping[str, str]) -> frozenset[str]:
        wanted = list(self.asked(constraints))
        rows = self.database.tables.get(service, ())
        return frozenset(
            identify(row)
            for row in rows
            if all(self.fits(service, column, row[column], value) for column, value in wanted if column in row)
        )


def run() -> None:
    source, answers = shared("data/multiwoz21-raw"), shared("golden/mwzeval/predictions/ubar.json")
    if source is None or answers is None:
        return
    corpus = dstress.load(f"{source}:test")
    database, dialogues = corpus.database or Database({}), list(corpus)
    grouped = groupby(read_predictions(answers, schema=corpus.schema), lambda prediction: prediction.dialogue)
    predictions = {name: list(group) for name, group in grouped}

    def judged(kind: type[Venues]) -> list[Outcome]:
        judge = Judge(kind(database), Placeholders(corpus.schema))
        return [judge.judge(dialogue, predictions[dialogue.id.lower()]) for dialogue in dialogues]

    outcomes: list[list[Outcome]] = []
    slow = best_of(1, lambda: outcomes.append(judged(Scan)))
    fast = best_of(5, lambda: outcomes.append(judged(Venues)))
    same = "the same outcomes" if all(found == outcomes[0] for found in outcomes) else "OTHER OUTCOMES"
    print(f"inform and success of {len(dialogues):,} dialogues, indexed beside a scan of the database: {same}")
    print(f"  {slow / fast:.1f} times faster than the scan (at least 20)   {fast:.2f} s, {slow:.2f} s")
