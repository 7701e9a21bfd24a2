"""Every number of a run: scores of each variant, of variants together with the original, and the suite's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain

from dstress.conventions import conventions
from dstress.errors import DstressError, unknown
from dstress.runs.averages import absent_columns, average_cells
from dstress.runs.folder import Cell, Drop, RunFolder, Scores
from dstress.runs.judged import (
    JudgedRun,
    JudgedVariant,
    judge_variant,
    metrics_of,
    name_missing,
    predictions_of,
    slicing_of,
)
from dstress.runs.records import joint_of
from dstress.runs.repeats import Repeats, compare_repeats
from dstress.runs.suites.base import ORIGINAL, Column, Suite
from dstress.scoring import versions
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.errors import TurnErrors
from dstress.scoring.alignment.pairing import Pairing
from dstress.scoring.metrics import metrics, pair_metrics
from dstress.scoring.metrics.counterfactual import UNCHANGED
from dstress.scoring.score import SLOT_SCORES, ScoringOptions
from dstress.scoring.scorecard import UNITS, Score, Scorecard
from dstress.scoring.shards import gather_shards
from dstress.scoring.significance import holm, paired_test
from dstress.scoring.slices import check_slice, missing_key, possible_slices
from dstress.scoring.tally import Tally
from dstress.spec import parse
from dstress.trackers.saved import NO_ANSWER

_Parts = dict[tuple[str, tuple[str, str]], Scorecard]
"""The cards of slices of a variant or a group, which several columns of the table may ask for."""
_REASONS = 3
_UNCALLED = (
    "{:,.0f} answers came as JSON and not as the tool call that was asked for, since the endpoint did not hold the "
    "model to the call; docs/trackers/llm.md says why"
)


def score_run(judged: JudgedRun) -> Scores:
    """Every number of a run that was judged as a whole."""
    run, suite, options, variants = judged.run, judged.run.manifest.suite, judged.options, judged.variants
    original = variants[ORIGINAL]
    scores = Scores({name: variant.scored.card() for name, variant in variants.items()})
    cut = versions.Cut(slicing_of(original.variant).by)
    for name in run.variants[1:]:
        card = judged.pair_card(name, _pair_metrics(suite), cut)
        scores.paired[name], scores.paired_slices[name] = card.metrics, card.slices
    for name in judged.groups:
        card = judged.group_card(name, cut=cut)
        scores.across[name], scores.across_slices[name] = card.metrics, card.slices
    for name, variant in variants.items():
        if failed := variant.variant.journal().failed:
            scores.failed[name] = failed
    parts: _Parts = {}
    cells = [_cell(column, scores, judged, parts) for column in suite.table]
    tallies = {name: variant.scored.tally for name, variant in variants.items()}
    signature = original.scored.signature
    averages = [average_cells(average, cells, tallies, signature, options.level) for average in suite.average]
    scores.table = [*averages, *cells]
    scores.notes = absent_columns(averages, cells)
    for name, failed in scores.failed.items():
        failures = [answer.failed for answer in variants[name].variant.journal() if answer.failed]
        if unanswered := failures.count(NO_ANSWER):
            scores.unanswered[name] = unanswered
        messages = {reason.partition(":")[0]: reason for reason in reversed(failures)}  # the first of each kind
        kinds = Counter(reason.partition(":")[0] for reason in failures)
        why = "; ".join(f"{number:,} {messages[kind]}" for kind, number in kinds.most_common(_REASONS))
        scores.notes.append(
            f"{name}: {failed:,} turns without an answer count as wrong ({why}); `dstress run --resume` asks again"
        )
    answered = {name: tally for name, tally in tallies.items() if name not in scores.unanswered}
    if scores.unanswered:
        gaps = ", ".join(
            f"{count:,} of {tallies[name].turns:,} turns of {name}" for name, count in scores.unanswered.items()
        )
        scores.notes.append(f"not tested, since the prediction files have no answer to {gaps}")
    scores.drops = _drops(answered, options) if ORIGINAL in answered else {}
    missing = {name: variant.scored.missing for name, variant in variants.items()}
    missing[ORIGINAL] = {metric: reason for metric, reason in missing[ORIGINAL].items() if reason != UNCHANGED}
    scores.notes += name_missing(missing)
    if run.manifest.repeats > 1:
        scores.repeats = {name: _repeats(variant, judged) for name, variant in variants.items()}
    scores.usage = run.usage
    if uncalled := scores.usage.get("uncalled"):
        scores.notes.append(_UNCALLED.format(uncalled))
    return scores


def find_errors(run: RunFolder) -> dict[str, TurnErrors]:
    """What the answers to each variant have wrong, under the convention of the run's scores."""
    convention = conventions.create(run.scores.convention)
    errors = {variant: TurnErrors() for variant in run.variants}
    for variant, collect in errors.items():
        corpus = run.variant(variant).corpus()
        for shard in gather_shards(Pairing(corpus, predictions_of(run.variant(variant)), corpus.schema), corpus):
            collect(Alignment(shard, convention))
    return errors


def _repeats(first: JudgedVariant, judged: JudgedRun) -> Repeats:
    """How far the repeated answers to a variant agree."""
    repeats = range(1, judged.run.manifest.repeats + 1)
    joint, values = joint_of(metrics_of(judged.run)), [first.units().values]
    for repeat in repeats[1:]:
        convention = [judged.convention]
        (again,) = judge_variant(first.variant, convention, [joint], [joint], judged.options, repeat=repeat)
        values.append(again.units().values)
    return compare_repeats(values, zip(*(first.variant.journal(repeat) for repeat in repeats), strict=True))


def _drops(tallies: Mapping[str, Tally], options: ScoringOptions) -> dict[str, Drop]:
    """What each stressor costs in joint goal accuracy, or in call accuracy; Holm's correction is over the stressors."""
    original = tallies[ORIGINAL]
    joint = joint_of(original.metrics)
    if joint not in original.metrics:
        return {}
    stressed = {variant: tally for variant, tally in tallies.items() if variant != ORIGINAL}
    tests = {variant: paired_test(tally, original, joint, options.level) for variant, tally in stressed.items()}
    corrected = holm([test.p for test in tests.values()])
    return {
        variant: Drop(**test.tested(p), original=test.baseline, stressed=test.system)
        for (variant, test), p in zip(tests.items(), corrected, strict=True)
    }


def _cell(column: Column, scores: Scores, judged: JudgedRun, parts: _Parts) -> Cell:
    """A column's score, or why there is none."""
    score, missing = None, ""
    try:
        score = _score(column, scores, judged, parts)
    except KeyError as error:
        variant = judged.variants.get(column.variant)
        missing = variant.scored.missing.get(column.metric, "") if variant else ""
        missing = missing or f"no {error.args[0]} here"
    except DstressError as error:
        missing = error.problem
    return Cell(column.name, column.variant, column.metric, score, missing, column.task, column.aspect or column.task)


def check_suite(suite: Suite, where: str) -> None:
    """Refuse a suite that names a metric or a slice that no run could compute: the scoring would tell too late."""
    for name in (*suite.metrics, *(group.metric for group in suite.across)):
        metrics.create(name)
    for name in suite.slices:
        check_slice(name, where=f"{where}, slices")
    groups = {
        group.name: [measure.name for measure in chain(*versions.measures_of_variants(group.metric))]
        for group in suite.across
    }
    for column in suite.table:
        place, name, of_pairs = f"{where}, [[table]] {column.column!r}", column.metric, _is_of_pairs(column.metric)
        by = column.slice[0] if column.slice else ""
        if column.variant in groups:
            if name not in groups[column.variant]:
                raise unknown("metric of several variants", name, groups[column.variant], where=place)
        elif of_pairs:
            pair_metrics.create(name)
        elif name not in suite.metrics and by != "slot":
            fix = "name under `metrics` what is computed"
            raise unknown("metric of the suite", name, [*suite.metrics, *pair_metrics], where=place, fix=fix)
        if column.slice is None:
            continue
        check_slice(*column.slice, where=place)
        if column.variant in groups and by in versions.WHAT_WAS_DONE:
            raise versions.slice_of_variants(by, where=place)
        if by == "slot" and column.variant not in groups and not of_pairs and name not in SLOT_SCORES:
            fix = f"possible: {', '.join(SLOT_SCORES)}, and measures of pairs and variants"
            raise DstressError(f"{name} cannot be cut by 'slot'", where=place, fix=fix)


def _is_of_pairs(metric: str) -> bool:
    return parse(metric).name in pair_metrics


def _pair_metrics(suite: Suite) -> tuple[str, ...]:
    """What is measured of pairs, and what else the table asks for."""
    in_table = (column.metric for column in suite.table if _is_of_pairs(column.metric))
    return tuple(dict.fromkeys((*versions.PAIR_METRICS, *in_table)))


def _score(column: Column, scores: Scores, judged: JudgedRun, parts: _Parts) -> Score:
    in_group = column.variant in judged.groups
    if column.slice is None:
        if in_group:
            return scores.across[column.variant][column.metric]
        card = scores.variants[column.variant]
        return (scores.paired[column.variant] if _is_of_pairs(column.metric) else card.metrics)[column.metric]
    name, key = column.slice
    possible_slices([name], judged.variants[ORIGINAL if in_group else column.variant].corpus)
    if in_group or _is_of_pairs(column.metric):
        place, cut = (column.variant, column.slice), versions.Cut(part=column.slice)
        if place not in parts and in_group:
            parts[place] = judged.group_card(column.variant, cut=cut)
        elif place not in parts:
            parts[place] = judged.pair_card(column.variant, _pair_metrics(judged.run.manifest.suite), cut)
        return parts[place].metrics[column.metric]
    card = scores.variants[column.variant]
    if key not in card.slices[name]:
        raise missing_key(name, key, card.slices[name])
    value = card.slices[name][key][column.metric]
    if value is None:
        raise KeyError(column.metric)
    nothing = float("nan")
    units = card.slices[name][key].get(UNITS) or nothing
    return Score(value, nothing, nothing, units, f"{card.metrics[column.metric].signature}|{name}:{key}")
