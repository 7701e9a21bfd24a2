"""Several runs as the systems of one page: a run each, or the seeds of a tracker together."""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from dstress.errors import DstressError
from dstress.reports.analysis.checkdst_tables import Summary
from dstress.reports.analysis.ranking import rank_values
from dstress.reports.findings import FLOOR, recall
from dstress.reports.variant_names import scores_by_original_names
from dstress.runs.comparability import require_comparable, short_names
from dstress.runs.folder import ORIGINAL, Cell, RunFolder, Scores
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.scorecard import Score

_BASELINES = {"gold": "ceiling", "empty": "floor"}
SEED = re.compile(r"[-_.]?(?:seed)?[-_.]?\d+$")
"""What the names of runs that are seeds, or draws, of one system differ in."""


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

    @property
    def baseline(self) -> str:
        """`ceiling` or `floor` where the tracker is the gold labels or says nothing; else empty."""
        return _BASELINES.get(self.runs[0].manifest.tracker.partition("(")[0], "")

    def score(self, variant: str, metric: str) -> Score | None:
        """A metric of a variant or of a group of variants."""
        by_seed = []
        for scores in self.scores:
            own = scores.variants[variant].metrics if variant in scores.variants else {}
            by_seed.append(ChainMap(own, scores.paired.get(variant, {}), scores.across.get(variant, {})).get(metric))
        return self._over_seeds(by_seed)

    def measure(self, column: str) -> Score | None:
        """A column of the suite's table, which may be cut by a slice."""
        return self._over_seeds(self._cells(column))

    def summary(self, column: str) -> Summary | None:
        """The same with its standard error over the seeds."""
        values = [score.value for score in self._cells(column) if score and math.isfinite(score.value)]
        return Summary.of(values) if len(values) == len(self.runs) else None

    def _cells(self, column: str) -> list[Score | None]:
        return [{cell.column: cell.score for cell in scores.table}.get(column) for scores in self.scores]

    @staticmethod
    def _over_seeds(scores: Sequence[Score | None]) -> Score | None:
        """Of several seeds the median, from the lowest to the highest; none where one of them has none."""
        finite = [score for score in scores if score is not None and math.isfinite(score.value)]
        if len(finite) < len(scores):
            return None
        first = finite[0]
        if len(finite) == 1:
            return first
        over = Summary.of([score.value for score in finite])
        return Score(over.median, over.lowest, over.highest, first.n, f"{first.signature}|seeds:{len(finite)}")

    def recall(self, variant: str, slot: str) -> float:
        """How many of a slot's gold values are right, the mean over seeds."""
        values = [recall(slots[slot]) for scores in self.scores if slot in (slots := scores.variants[variant].slots)]
        return fmean(values) if len(values) == len(self.scores) else math.nan

    def total(self, of: str) -> float:
        """What was used (tokens, requests, seconds), over all its runs."""
        return sum((run.usage | run.timing).get(of, 0.0) for run in self.runs)

    @property
    def failed(self) -> int:
        """Turns without an answer."""
        return sum(sum(scores.failed.values()) for scores in self.scores)


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
    def stressed(self) -> list[str]:
        """The variants but for the original."""
        return [variant for variant in self.variants if variant != ORIGINAL]

    @property
    def names(self) -> list[str]:
        """What the systems are called."""
        return [system.name for system in self.every]

    @property
    def baselines(self) -> dict[str, str]:
        """The systems that nobody competes with, each as `ceiling` or `floor`."""
        return {system.name: system.baseline for system in self.every if system.baseline}

    @property
    def runs(self) -> dict[str, RunFolder]:
        """Every run by its name."""
        runs = [run for system in self.every for run in system.runs]
        return dict(zip(short_names([run.path for run in runs]), runs, strict=True))

    @property
    def has_seeds(self) -> bool:
        """Whether a system is several runs."""
        return any(len(system.runs) > 1 for system in self.every)

    def metrics(self) -> list[str]:
        """The metrics that every system has of the original; not those that no stressor can change."""
        first = self.every[0].scores[0].variants[ORIGINAL]
        return [name for name in first if name != FLOOR and all(system.score(ORIGINAL, name) for system in self.every)]

    def ranked(self, metric: str) -> dict[str, tuple[Score, float]]:
        """Each system's value on the original by a metric that all have, and its rank; the best is 1."""
        scores = {system.name: score for system in self.every if (score := system.score(ORIGINAL, metric))}
        ranks = rank_values([measure_of(metric).sign * score.value for score in scores.values()])
        return {name: (score, rank) for (name, score), rank in zip(scores.items(), ranks, strict=True)}

    def measures(self) -> Iterator[tuple[Cell, list[Score | None]]]:
        """The columns of the suite's table, with the score of each system that has one."""
        for cell in self.every[0].scores[0].table:
            yield cell, [system.measure(cell.column) for system in self.every]

    @property
    def slots(self) -> list[str]:
        """The slots that gold uses, those first that lose most, in any system under any stressor."""
        losses: dict[str, float] = {}
        for slot in self.every[0].scores[0].variants[ORIGINAL].slots:
            changes = [
                system.recall(variant, slot) - system.recall(ORIGINAL, slot)
                for system in self.every
                for variant in self.stressed
            ]
            if defined := [change for change in changes if not math.isnan(change)]:
                losses[slot] = min(defined)
        return sorted(losses, key=losses.__getitem__)


def group_runs(runs: Sequence[RunFolder], *, seeds: bool = False) -> Systems:
    """Runs that may be compared, as systems; with `seeds`, those of one name but for a number at its end are one.

    So `copy-1` and `copy-seed2` are of `copy`.
    """
    systems: dict[str, list[RunFolder]] = {}
    names = [SEED.sub("", run.path.name) or run.path.name for run in runs] if seeds else []
    for name, run in zip(names or short_names([run.path for run in runs]), runs, strict=True):
        systems.setdefault(name, []).append(run)
    if seeds and (alone := next((name for name, own in systems.items() if len(own) < 2), None)):
        raise DstressError(
            f"{alone} has a single run",
            where=str(systems[alone][0].path),
            fix="give a system's seeds the same name with a number at the end: runs/copy-1 runs/copy-2 ...",
        )
    shared, left_out = require_comparable(runs)
    every = [System(name, own, [scores_by_original_names(run) for run in own]) for name, own in systems.items()]
    return Systems(every, shared, left_out)
