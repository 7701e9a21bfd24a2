"""Whether a new run is worse than an old one: a paired test for each stressor, corrected for their number.

A release fails where it is significantly worse (Holm-corrected over the stressors) *and* by more than the points that
were allowed. Chance alone then fails a release as good as the last one at most as often as `alpha` says. Few dialogues
pass a release that is worse, so each check also says the largest drop that its interval does not rule out; with
`non_inferior`, a release passes only where that is less than a margin under every stressor (which needs no correction).
"""

from __future__ import annotations

import math

import msgspec

from dstress.display import Displayed
from dstress.runs.comparability import require_comparable
from dstress.runs.folder import RunFolder, require_answers
from dstress.runs.judged import gather_notes, judge_run, nothing_to_compare
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.score import ScoringOptions
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import holm


class Check(TestedDifference, frozen=True, kw_only=True):
    """One stressor: both runs' values, the new one's less the old one's, and whether the gate lets it pass."""

    old: float
    new: float
    largest_drop: float
    """The most that may be lost and still fit the data: the interval's end; nan where nothing is known."""
    passed: bool


class Verdict(Displayed, msgspec.Struct, frozen=True):
    """Every check, and whether all passed."""

    passed: bool
    metric: str
    unit: str
    max_drop: float
    non_inferior: float | None
    alpha: float
    checks: dict[str, Check]
    left_out: list[str]
    """Variants that only one of the runs has."""
    missing: list[str]
    """Where the metric cannot be computed, and why."""

    @property
    def largest_drop(self) -> tuple[str, float]:
        """The variant under which most may have been lost, and how much; nan counts as most."""
        drops = {variant: check.largest_drop for variant, check in self.checks.items()}
        worst = max(drops, key=lambda variant: math.inf if math.isnan(drops[variant]) else drops[variant])
        return worst, drops[worst]

    def __repr__(self) -> str:
        failed = [variant for variant, check in self.checks.items() if not check.passed]
        outcome = f"failed under {', '.join(failed)}" if failed else f"passed, {len(self.checks)} checks"
        return f"Verdict({self.metric}: {outcome})"


class Limits(msgspec.Struct, frozen=True):
    """What is allowed: `max_drop` is how much worse, in the metric's unit; 0.01 of a share is one point."""

    max_drop: float = 0.01
    alpha: float = 0.05
    metric: str = "jga"
    max_failed: float = 0.1
    """The share of a variant's turns that may be without an answer: runs that failed cannot be compared."""
    non_inferior: float | None = None
    """A drop that the data must rule out, in the metric's unit; None asks for no such proof."""


def gate(new: RunFolder, old: RunFolder, limits: Limits = Limits()) -> Verdict:  # noqa: B008  it is frozen
    """Compare two runs over the same data, stressor by stressor."""
    shared, left_out = require_comparable((new, old))
    for run in (new, old):
        for variant in shared:
            require_answers(run.variant(variant), limits.max_failed)
    measure, metric = measure_of(limits.metric), limits.metric
    options = ScoringOptions(seed=new.manifest.seed, level=1 - limits.alpha)
    (ours,), (theirs,) = (judge_run(run, options, variants=shared, metrics=[metric]) for run in (new, old))
    tests, lost = {}, False
    for place in ours.places:
        after, before = (run.measured(place).get(metric) for run in (ours, theirs))
        lost = lost or (before is not None and after is None)
        if before and after:
            tests[place] = after.test_against(before, options)
    both = {"new": ours, "old": theirs}
    if not tests:
        raise nothing_to_compare([metric], both)
    corrected = holm([test.p for test in tests.values()])
    checks = {}
    for (variant, test), p in zip(tests.items(), corrected, strict=True):
        worst = -test.low if measure.sign > 0 else test.high
        largest_drop = worst if math.isnan(worst) else max(0.0, worst)
        passed = not (p <= limits.alpha and measure.sign * test.difference < -limits.max_drop)
        # A value that is undefined now, and was not, is no pass: cjga has none where nothing is right.
        passed = passed and (math.isnan(test.baseline) or not math.isnan(test.system))
        if limits.non_inferior is not None:
            passed = passed and largest_drop < limits.non_inferior
        values = test.tested(p) | {"old": test.baseline, "new": test.system, "largest_drop": largest_drop}
        checks[variant] = Check(**values, passed=passed)
    passed = not lost and all(check.passed for check in checks.values())
    rule = (metric, measure.data_unit, limits.max_drop, limits.non_inferior, limits.alpha)
    return Verdict(passed, *rule, checks, left_out, gather_notes(both))
