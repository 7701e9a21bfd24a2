"""Several runs as the systems of one page: a run each, or the seeds of a tracker together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from dstress.reports.findings import FLOOR, recall
from dstress.reports.original_names import scores_by_original_names
from dstress.reports.seeds import Summary, group_by_seed
from dstress.runs.comparability import require_comparable, short_names
from dstress.runs.folder import ORIGINAL, Cell, RunFolder, Scores
from dstress.scoring.scorecard import Score


class System(NamedTuple):
    """One system: a run, or several that differ in the seed of their training alone."""

    name: str
    runs: list[RunFolder]
    scores: list[Scores]

    @property
    def tracker(self) -> str:
        """What was run."""
        others = len(self.runs) - 1
        return self.runs[0].manifest.tracker + (f" and {others} more" if others else "")

    def score(self, variant: str, metric: str) -> Score | None:
        """A metric of a variant or a group of variants. Of several seeds the median, from the lowest to the highest;
        none where one of them has none."""
        return _together([_find(scores, variant, metric) for scores in self.scores])

    def measure(self, column: str) -> Score | None:
        """The same of a column of the suite's table, which may be cut by a slice."""
        cells = [{cell.column: cell.score for cell in scores.table} for scores in self.scores]
        return _together([cell.get(column) for cell in cells])

    def recall(self, variant: str, slot: str) -> float:
        """How many of a slot's gold values are right, the mean over seeds."""
        cards = [scores.variants[variant].slots for scores in self.scores]
        values = [recall(slots[slot]) for slots in cards if slot in slots]
        return fmean(values) if len(values) == len(cards) else math.nan

    def total(self, of: str) -> float:
        """What was used (tokens, requests, seconds), over all its runs."""
        return sum((run.usage | run.timing).get(of, 0.0) for run in self.runs)

    @property
    def failed(self) -> int:
        """Turns without an answer."""
        return sum(sum(scores.failed.values()) for scores in self.scores)


def _find(scores: Scores, place: str, metric: str) -> Score | None:
    card = scores.variants.get(place)
    if card is not None and metric in card:
        return card[metric]
    return scores.paired.get(place, {}).get(metric) or scores.across.get(place, {}).get(metric)


def _together(scores: Sequence[Score | None]) -> Score | None:
    known = [score for score in scores if score is not None and math.isfinite(score.value)]
    if len(known) < len(scores):
        return None
    if len(known) == 1:
        return known[0]
    summary = Summary.of([score.value for score in known])
    return Score(
        summary.median, summary.lowest, summary.highest, known[0].n, f"{known[0].signature}|seeds:{len(known)}"
    )


class Systems(NamedTuple):
    """The systems of a page, and the variants that all of them have."""

    every: list[System]
    variants: list[str]
    left_out: list[str]
    """Variants that only some of the runs have."""

    @property
    def first(self) -> RunFolder:
        """The first run: all runs are of the same corpus."""
        return self.every[0].runs[0]

    @property
    def runs(self) -> dict[str, RunFolder]:
        """Every run by its name."""
        runs = [run for system in self.every for run in system.runs]
        return dict(zip(short_names([run.path for run in runs]), runs, strict=True))

    def metrics(self, variant: str = ORIGINAL) -> list[str]:
        """The metrics that every system has of a variant; not those that no stressor can change."""
        known = self.every[0].scores[0].variants[variant]
        return [name for name in known if name != FLOOR and all(one.score(variant, name) for one in self.every)]

    def measures(self) -> Iterator[tuple[Cell, list[Score | None]]]:
        """The columns of the suite's table, with a score a system where it has one."""
        for cell in self.every[0].scores[0].table:
            yield cell, [system.measure(cell.column) for system in self.every]


def group_runs(runs: Sequence[RunFolder], *, seeds: bool = False) -> Systems:
    """Runs that may be compared, as systems; with `seeds`, those of one name but for a number at its end are one."""
    shared, left_out = require_comparable(runs)
    named: Mapping[str, Sequence[RunFolder]]
    if seeds:
        named = group_by_seed(runs)
    else:
        named = {name: [run] for name, run in zip(short_names([run.path for run in runs]), runs, strict=True)}
    systems = [System(name, list(own), [scores_by_original_names(run) for run in own]) for name, own in named.items()]
    return Systems(systems, shared, left_out)
