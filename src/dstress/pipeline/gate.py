"""Whether a new run is worse than an old one: a paired test for each stressor, corrected for their number.

A release fails where it is significantly worse (Holm-corrected over the stressors) *and* by more than the points that
were allowed. Chance alone then fails a release as good as the last one at most as often as `alpha` says.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from dstress.errors import DstressError
from dstress.metrics import pair_metrics, variant_metrics
from dstress.metrics.base import Floats
from dstress.metrics.measures import measure_of
from dstress.metrics.sensitivity import Sensitivity
from dstress.runs.folder import ORIGINAL, RunFolder, require_answers
from dstress.runs.scores import convention_of, corpus_of, has_own_schema, predictions_of
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.resampling import Value
from dstress.scoring.score import tally_predictions
from dstress.scoring.scorecard import TestedDifference
from dstress.scoring.significance import holm, paired_test_of_totals
from dstress.scoring.unit_scores import UnitCollector, UnitScores
from dstress.scoring.versions import side_by_side
from dstress.spec import parse


class Check(TestedDifference, frozen=True, kw_only=True):
    """One stressor: both runs' values, the new one's less the old one's, and whether the gate lets it pass."""

    old: float
    new: float
    passed: bool


class Verdict(msgspec.Struct, frozen=True):
    """Every check, and whether all passed."""

    passed: bool
    metric: str
    unit: str
    max_drop: float
    alpha: float
    checks: dict[str, Check]
    left_out: list[str]


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
    shared = [variant for variant in old.variants if variant in new.variants]
    _check_comparable(new, old, shared)
    for run in (new, old):
        for variant in shared:
            require_answers(run, variant, limits.max_failed)
    measure = measure_of(limits.metric)
    ours, theirs = (_totals(run, shared, limits) for run in (new, old))
    tests = {}
    for name in ours:
        value = ours[name].value
        pair = (ours[name].totals, theirs[name].totals)
        seed, level = new.manifest.seed, 1 - limits.alpha
        test = paired_test_of_totals(*pair, value, limits.resamples, seed, level)
        tests[name] = test.within_bounds(level) if measure.bounded else test
    sign = 1 if measure.higher_is_better else -1
    corrected = holm([test.p for test in tests.values()])
    checks = {
        variant: Check(
            **test.tested(p),
            old=test.baseline,
            new=test.system,
            passed=not (p <= limits.alpha and sign * test.difference < -limits.max_drop),
        )
        for (variant, test), p in zip(tests.items(), corrected, strict=True)
    }
    left_out = [variant for variant in (*old.variants, *new.variants) if variant not in shared]
    passed = all(check.passed for check in checks.values())
    rule = (limits.metric, measure.unit, limits.max_drop, limits.alpha)
    return Verdict(passed, *rule, checks, list(dict.fromkeys(left_out)))


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


class _Totals(NamedTuple):
    """Statistics summed by dialogue, and what their sums are worth."""

    totals: Floats
    value: Value


def _totals(run: RunFolder, shared: list[str], limits: Limits) -> dict[str, _Totals]:
    """What the metric is made of: of each variant, of each with the original, or of each group of variants."""
    name = parse(limits.metric).name
    if name in pair_metrics:
        metric = pair_metrics.create(limits.metric)
        original = _units(run, ORIGINAL, "jga")
        pairs = {
            v: side_by_side((original, _units(run, v, "jga")), all_changed=has_own_schema(run, v))
            for v in shared
            if v != ORIGINAL
        }
        return _required({v: _Totals(units.totals(metric), metric.value) for v, units in pairs.items()}, limits)
    sensitivity = variant_metrics.create(limits.metric) if name in variant_metrics else None
    if isinstance(sensitivity, Sensitivity):
        groups = {g.name: g.stressors for g in run.manifest.suite.across if set(g.stressors) <= set(shared)}
        tables = {
            group: side_by_side([_units(run, v, sensitivity.metric) for v in variants])
            for group, variants in groups.items()
        }
        return _required({g: _Totals(t.totals(sensitivity), sensitivity.value) for g, t in tables.items()}, limits)
    return {variant: _tallied(run, variant, limits) for variant in shared}


def _required(found: dict[str, _Totals], limits: Limits) -> dict[str, _Totals]:
    if not found:
        raise DstressError(
            f"the runs have nothing that {limits.metric} could be of", fix="`--metric jga` is of every run"
        )
    return found


def _units(run: RunFolder, variant: str, metric: str) -> UnitScores:
    collector, corpus = UnitCollector(metric, by_service=False), corpus_of(run, variant)
    source = PredictionSource(predictions_of(run, variant), corpus)
    tally_predictions(source, [convention_of(run)], [metric], watchers=[collector])
    return collector.scores(corpus)


def _tallied(run: RunFolder, variant: str, limits: Limits) -> _Totals:
    source = PredictionSource(predictions_of(run, variant), corpus_of(run, variant))
    (scored,) = tally_predictions(source, [convention_of(run)], [limits.metric])
    return _Totals(scored.tally.totals(limits.metric), scored.tally.metrics[limits.metric].value)
