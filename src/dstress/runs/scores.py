"""Every number of a run: scores of each variant, of variants together with the original, and the suite's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import Schema, slot_id
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.runs.folder import Cell, Drop, RunFolder, Scores
from dstress.scoring.score import Options, Scored, tallied
from dstress.scoring.scorecard import Score, Scorecard
from dstress.scoring.significance import approximate_randomisation, holm, paired_bootstrap
from dstress.scoring.systems import Run
from dstress.scoring.versions import conditional, variants
from dstress.suites.base import ORIGINAL, PAIRED, Column

NO_ANSWER = "(no answer)"
"""The value that stands for a failed turn when it is scored: wrong under every convention, also where gold is empty."""

_REASONS = 3
Told = Callable[[str], None]


def score_run(run: RunFolder, options: Options, told: Told = lambda what: None) -> Scores:
    """Score what a run has tracked, under the run's convention."""
    scored: dict[str, Scored] = {}
    failed: dict[str, int] = {}
    for variant in run.variants:
        told(f"scoring {variant}")
        scored[variant], failed[variant] = _scored(run, variant, options)
    cards = {variant: one.card() for variant, one in scored.items()}
    paired = {
        variant: _paired(run, variant, options)
        for variant in run.variants
        if variant != ORIGINAL and _wanted_paired(run)
    }
    across = {group.name: _across(run, group.stressors, group.metric, options) for group in run.manifest.suite.across}
    scores = Scores(cards, paired, across, _drops(scored, options), failed={v: n for v, n in failed.items() if n})
    scores.table = [_cell(column, scores) for column in run.manifest.suite.table]
    scores.notes = [_failures(run, variant, count) for variant, count in scores.failed.items()]
    scores.usage = run.usage
    return scores


def _failures(run: RunFolder, variant: str, count: int) -> str:
    """How many turns failed, and why most of them did."""
    reasons = Counter(answer.failed.partition(":")[0] for answer in run.journal(variant) if answer.failed)
    why = "; ".join(f"{number:,} {reason}" for reason, number in reasons.most_common(_REASONS))
    return f"{variant}: {count:,} turns without an answer count as wrong ({why}); `dstress run --resume` asks again"


def corpus_of(run: RunFolder, variant: str) -> Corpus:
    """A variant as a corpus, read from the run folder."""
    name, _, split = run.manifest.corpus.rpartition(":")
    called = name if variant == ORIGINAL else f"{name}+{variant}"
    corpus = Corpus(called, split, run.schema(variant), lambda: run.dialogues(variant))
    corpus.stressed = variant != ORIGINAL
    return corpus


def predictions_of(run: RunFolder, variant: str) -> Iterator[Prediction]:
    """A variant's answers as they are scored."""
    schema, journal = run.schema(variant), run.journal(variant)
    turns: dict[tuple[str, int], tuple[str, ...]] = {}
    if journal.failed:
        turns = {
            (dialogue.id, number): tuple(frame.service for frame in turn.frames)
            for dialogue in run.dialogues(variant)
            for number, turn in enumerate(dialogue.turns)
        }
    for answer in journal:
        yield _as_wrong(answer, turns[answer.dialogue, answer.turn], schema) if answer.failed else answer


def _as_wrong(answer: Prediction, services: tuple[str, ...], schema: Schema) -> Prediction:
    """A failed answer as one that is wrong in every frame, whatever the gold."""
    named = [service for service in schema.services if service.slots and service.name in services]
    named = named or [service for service in schema.services if service.slots][:1]
    state = {slot_id(service.name, service.slots[0].name): NO_ANSWER for service in named}
    return msgspec.structs.replace(answer, state=state, failed="")


def _scored(run: RunFolder, variant: str, options: Options) -> tuple[Scored, int]:
    suite = run.manifest.suite
    arriving = predictions_of(run, variant)
    convention = run.manifest.convention or suite.convention
    (scored,) = tallied(
        arriving, corpus_of(run, variant), [convention], list(suite.metrics), list(suite.slices), options
    )
    return scored, run.journal(variant).failed


def _wanted_paired(run: RunFolder) -> bool:
    return any(column.metric in PAIRED for column in run.manifest.suite.table)


def _held(run: RunFolder, variant: str) -> Run:
    return Run(predictions_of(run, variant), corpus_of(run, variant))


def _paired(run: RunFolder, variant: str, options: Options) -> dict[str, Score]:
    convention = run.manifest.convention or run.manifest.suite.convention
    return conditional(_held(run, ORIGINAL), _held(run, variant), convention, options).metrics


def _across(run: RunFolder, names: tuple[str, ...], metric: str, options: Options) -> dict[str, Score]:
    convention = run.manifest.convention or run.manifest.suite.convention
    held = [_held(run, variant) for variant in names]
    return variants(held, _held(run, ORIGINAL), metric, convention, options).metrics


def _drops(scored: Mapping[str, Scored], options: Options) -> dict[str, Drop]:
    """What each stressor costs in joint goal accuracy; Holm's correction is over the stressors."""
    original = scored[ORIGINAL].tally
    if "jga" not in original.metrics:
        return {}
    tests: dict[str, tuple[float, float, float, float, float, float]] = {}
    for variant, one in scored.items():
        if variant != ORIGINAL:
            value = original.metrics["jga"].value
            shared = (one.tally.totals("jga"), original.totals("jga"), value, options.resamples, options.seed)
            bootstrap, randomised = paired_bootstrap(*shared, options.level), approximate_randomisation(*shared)
            before, after = (float(value(tally.sums("jga"))) for tally in (original, one.tally))
            tests[variant] = (before, after, bootstrap.difference, *bootstrap.interval, randomised.p)
    corrected = holm([test[-1] for test in tests.values()])
    return {variant: Drop(*test, p) for (variant, test), p in zip(tests.items(), corrected, strict=True)}


def _cell(column: Column, scores: Scores) -> Cell:
    """A column's score, or why there is none."""
    try:
        return Cell(column.column, column.variant, column.metric, _score(column, scores))
    except (KeyError, DstressError) as error:
        missing = str(error).strip("'") or "not computed"
        return Cell(column.column, column.variant, column.metric, None, f"no {missing} here")


def _score(column: Column, scores: Scores) -> Score:
    if column.variant in scores.across:
        return scores.across[column.variant][column.metric]
    if column.metric in PAIRED:
        return scores.paired[column.variant][column.metric]
    card: Scorecard = scores.variants[column.variant]
    if column.slice is None:
        return card.metrics[column.metric]
    name, key = column.slice
    value = card.slices[name][key][column.metric]
    if value is None:
        raise KeyError(column.metric)
    nothing = float("nan")
    return Score(value, nothing, nothing, nothing, f"{card.metrics[column.metric].signature}|{name}:{key}")
