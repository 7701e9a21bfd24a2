"""Whether a new run is worse than an old one: a paired test for each stressor, corrected for their number.

A release fails where it is significantly worse (Holm-corrected over the stressors) *and* by more than the points that
were allowed. Chance alone then fails a release as good as the last one at most as often as `alpha` says.
"""

from __future__ import annotations

import msgspec

from dstress.errors import DstressError
from dstress.runs.folder import RunFolder
from dstress.runs.scores import corpus_of, predictions_of
from dstress.scoring.score import Options, Scored, tallied
from dstress.scoring.significance import approximate_randomisation, holm, paired_bootstrap


class Check(msgspec.Struct, frozen=True):
    """One stressor: both runs' values, the new one's less the old one's, and whether the gate lets it pass."""

    old: float
    new: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    passed: bool


class Verdict(msgspec.Struct, frozen=True):
    """Every check, and whether all passed."""

    passed: bool
    metric: str
    max_drop: float
    alpha: float
    checks: dict[str, Check]
    left_out: list[str]


class Limits(msgspec.Struct, frozen=True):
    """What is allowed: `max_drop` is a fraction, 0.01 is one point."""

    max_drop: float = 0.01
    alpha: float = 0.05
    metric: str = "jga"
    resamples: int = 10_000


def gate(new: RunFolder, old: RunFolder, limits: Limits = Limits()) -> Verdict:  # noqa: B008  it is frozen
    """Compare two runs over the same data, stressor by stressor."""
    shared = [variant for variant in old.variants if variant in new.variants]
    _check_comparable(new, old, shared)
    tests = {variant: _test(new, old, variant, limits) for variant in shared}
    corrected = holm([test[-1] for test in tests.values()])
    checks = {
        variant: Check(*test, p, not (p <= limits.alpha and test[2] < -limits.max_drop))
        for (variant, test), p in zip(tests.items(), corrected, strict=True)
    }
    left_out = [variant for variant in (*old.variants, *new.variants) if variant not in shared]
    passed = all(check.passed for check in checks.values())
    return Verdict(passed, limits.metric, limits.max_drop, limits.alpha, checks, list(dict.fromkeys(left_out)))


def _check_comparable(new: RunFolder, old: RunFolder, shared: list[str]) -> None:
    for what in ("corpus", *shared[1:]):
        mine, theirs = (run.manifest.hashes.get(what) for run in (new, old))
        if mine != theirs:
            raise DstressError(
                f"the two runs do not share the same {what}, so they cannot be compared",
                where=f"{new.path} and {old.path}",
                fix="run both trackers with the same corpus, seed, limit and version of dstress",
            )
    for name in ("seed", "limit"):
        if getattr(new.manifest, name) != getattr(old.manifest, name):
            raise DstressError(f"the two runs have different values of {name}", where=f"{new.path} and {old.path}")


def _test(
    new: RunFolder, old: RunFolder, variant: str, limits: Limits
) -> tuple[float, float, float, float, float, float]:
    ours, theirs = (_scored(run, variant, limits) for run in (new, old))
    value = ours.tally.metrics[limits.metric].value
    totals = (ours.tally.totals(limits.metric), theirs.tally.totals(limits.metric))
    shared = (*totals, value, limits.resamples, new.manifest.seed)
    bootstrap, randomised = paired_bootstrap(*shared, 1 - limits.alpha), approximate_randomisation(*shared)
    before, after = (float(value(one.tally.sums(limits.metric))) for one in (theirs, ours))
    return before, after, bootstrap.difference, *bootstrap.interval, randomised.p


def _scored(run: RunFolder, variant: str, limits: Limits) -> Scored:
    convention = run.manifest.convention or run.manifest.suite.convention
    options = Options(resamples=limits.resamples)
    (scored,) = tallied(
        predictions_of(run, variant), corpus_of(run, variant), [convention], [limits.metric], (), options
    )
    return scored
