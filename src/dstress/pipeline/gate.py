"""Whether a new run is worse than an old one: a paired test for each stressor, corrected for their number.

A release fails where it is significantly worse (Holm-corrected over the stressors) *and* by more than the points that
were allowed. Chance alone then fails a release as good as the last one at most as often as `alpha` says.
"""

from __future__ import annotations

import msgspec

from dstress.errors import DstressError
from dstress.runs.folder import RunFolder, require_answers
from dstress.runs.scores import convention_of, corpus_of, predictions_of
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions, tally_predictions
from dstress.scoring.significance import holm, paired_test
from dstress.scoring.tally import Tally


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
    max_failed: float = 0.1
    """The share of a variant's turns that may be without an answer: runs that failed cannot be compared."""


def gate(new: RunFolder, old: RunFolder, limits: Limits = Limits()) -> Verdict:  # noqa: B008  it is frozen
    """Compare two runs over the same data, stressor by stressor."""
    shared = [variant for variant in old.variants if variant in new.variants]
    _check_comparable(new, old, shared)
    for run in (new, old):
        for variant in shared:
            require_answers(run, variant, limits.max_failed)
    tests = {}
    for variant in shared:
        ours, theirs = (_tally(run, variant, limits) for run in (new, old))
        tests[variant] = paired_test(ours, theirs, limits.metric, limits.resamples, new.manifest.seed, 1 - limits.alpha)
    corrected = holm([test.p for test in tests.values()])
    checks = {
        variant: Check(*test[:6], p, not (p <= limits.alpha and test.difference < -limits.max_drop))
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
    for name in ("seed", "limit", "draw"):
        if getattr(new.manifest, name) != getattr(old.manifest, name):
            raise DstressError(f"the two runs have different values of {name}", where=f"{new.path} and {old.path}")


def _tally(run: RunFolder, variant: str, limits: Limits) -> Tally:
    source = PredictionSource(predictions_of(run, variant), corpus_of(run, variant))
    options = ScoringOptions(resamples=limits.resamples)
    (scored,) = tally_predictions(source, [convention_of(run)], [limits.metric], (), options)
    return scored.tally
