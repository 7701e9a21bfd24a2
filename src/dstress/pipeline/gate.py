"""Whether a new run is worse than an old one: a paired test for each stressor, corrected for their number.

A release fails where it is significantly worse (Holm-corrected over the stressors) *and* by more than the points that
were allowed. Chance alone then fails a release as good as the last one at most as often as `alpha` says.
"""

from __future__ import annotations

import math

import msgspec

from dstress.display import Displayed
from dstress.metrics.measures import measure_of
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import RunFolder, require_answers
from dstress.runs.measured import MeasuredRun, gather_notes, nothing_to_compare
from dstress.scoring.score import ScoringOptions
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import holm


class Check(TestedDifference, frozen=True, kw_only=True):
    """One stressor: both runs' values, the new one's less the old one's, and whether the gate lets it pass."""

    old: float
    new: float
    passed: bool


class Verdict(Displayed, msgspec.Struct, frozen=True):
    """Every check, and whether all passed."""

    _tabled_by = "dstress.pipeline.tables:verdict_tables"

    passed: bool
    metric: str
    unit: str
    max_drop: float
    alpha: float
    checks: dict[str, Check]
    left_out: list[str]
    """Variants that only one of the runs has."""
    missing: list[str]
    """Where the metric cannot be computed, and why."""

    def __repr__(self) -> str:
        failed = [variant for variant, check in self.checks.items() if not check.passed]
        told = f"failed under {', '.join(failed)}" if failed else f"passed, {len(self.checks)} checks"
        return f"Verdict({self.metric}: {told})"


class Limits(msgspec.Struct, frozen=True):
    """What is allowed: `max_drop` is how much worse, in the metric's unit; 0.01 of a share is one point."""

    max_drop: float = 0.01
    alpha: float = 0.05
    metric: str = "jga"
    resamples: int = 10_000
    max_failed: float = 0.1
    """The share of a variant's turns that may be without an answer: runs that failed cannot be compared."""


def gate(new: RunFolder, old: RunFolder, limits: Limits = Limits()) -> Verdict:  # noqa: B008  it is frozen
    """Compare two runs over the same data, stressor by stressor."""
    shared, left_out = require_comparable((new, old))
    for run in (new, old):
        for variant in shared:
            require_answers(run, variant, limits.max_failed)
    measure, metric = measure_of(limits.metric), limits.metric
    options = ScoringOptions(resamples=limits.resamples, seed=new.manifest.seed, level=1 - limits.alpha)
    ours, theirs = (MeasuredRun(run, shared, [metric], options) for run in (new, old))
    tests, lost = {}, False
    for place in ours.places:
        after, before = (one.measured(place).get(metric) for one in (ours, theirs))
        lost = lost or (before is not None and after is None)
        if before and after:
            tests[place] = after.test_against(before, options)
    both = {"new": ours, "old": theirs}
    if not tests:
        raise nothing_to_compare([metric], both)
    corrected = holm([test.p for test in tests.values()])
    checks = {
        variant: Check(
            **test.tested(p),
            old=test.baseline,
            new=test.system,
            # A value that is undefined now, and was not, is no pass: cjga has none where nothing is right.
            passed=not (p <= limits.alpha and measure.sign * test.difference < -limits.max_drop)
            and (math.isnan(test.baseline) or not math.isnan(test.system)),
        )
        for (variant, test), p in zip(tests.items(), corrected, strict=True)
    }
    passed = not lost and all(check.passed for check in checks.values())
    rule = (metric, measure.unit, limits.max_drop, limits.alpha)
    return Verdict(passed, *rule, checks, left_out, gather_notes(both))
