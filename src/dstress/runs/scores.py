"""Every number of a run: scores of each variant, of variants together with the original, and the suite's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from dstress.alignment.cells import Alignment
from dstress.alignment.errors import TurnErrors
from dstress.alignment.pairing import Pairing
from dstress.conventions import conventions
from dstress.corpora.base import Corpus, made_by
from dstress.dialogue import Schema, slot_id
from dstress.errors import DstressError
from dstress.metrics import pair_metrics
from dstress.predictions.base import Prediction
from dstress.runs.folder import Cell, Drop, RunFolder, Scores
from dstress.runs.repeats import Repeats, compare_repeats
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions, tally_predictions
from dstress.scoring.scorecard import Score, Scorecard
from dstress.scoring.shards import Watcher, gather_shards
from dstress.scoring.significance import holm, paired_test
from dstress.scoring.tally import Tally
from dstress.scoring.unit_scores import UnitCollector, UnitScores
from dstress.scoring.versions import PAIR_METRICS, conditional_card, variants_card
from dstress.spec import parse
from dstress.suites.base import ORIGINAL, Column

NO_ANSWER = "(no answer)"
"""The value that stands for a failed turn when it is scored: wrong under every convention, also where gold is empty."""

_REASONS = 3
_UNCALLED = (
    "{:,.0f} answers came as JSON and not as the tool call that was asked for, since the endpoint did not hold the "
    "model to the call; docs/trackers/llm.md says why"
)


class ScoredRun(NamedTuple):
    """A run's numbers, and for each variant what its answers have wrong, turn by turn."""

    scores: Scores
    errors: dict[str, TurnErrors]


class _Variant:
    """One variant, judged once for all that is made of it: scores, pairs with the original, the explorer's examples."""

    def __init__(self, run: RunFolder, variant: str, options: ScoringOptions) -> None:
        suite = run.manifest.suite
        self.errors = TurnErrors()
        metrics = {group.metric for group in suite.across if variant in (ORIGINAL, *group.stressors)}
        # By position, not by service: schema variants rename services.
        self.collectors = {metric: UnitCollector(metric, by_service=False) for metric in ("jga", *metrics)}
        self.corpus = corpus_of(run, variant)
        watchers: list[Watcher] = [self.errors, *self.collectors.values()]
        source = PredictionSource(predictions_of(run, variant), self.corpus)
        (self.scored,) = tally_predictions(
            source, [convention_of(run)], list(suite.metrics), list(suite.slices), options, watchers
        )
        self.failed = run.journal(variant).failed

    def units(self, metric: str = "jga") -> UnitScores:
        """A metric of each unit."""
        return self.collectors[metric].scores(self.corpus)


def score_run(run: RunFolder, options: ScoringOptions) -> ScoredRun:
    """Score what a run has tracked, under the run's convention."""
    suite = run.manifest.suite
    judged = {variant: _Variant(run, variant, options) for variant in run.variants}
    original = judged[ORIGINAL]
    convention = original.scored.convention
    paired, across = {}, {}
    asked = (column.metric for column in suite.table if _is_of_pairs(column.metric))
    of_pairs = tuple(dict.fromkeys((*PAIR_METRICS, *asked)))
    for variant in run.variants[1:]:
        pair = (original.units(), judged[variant].units())
        card = conditional_card(pair, convention, options, of_pairs, all_changed=has_own_schema(run, variant))
        paired[variant] = card.metrics
    for group in suite.across:
        units = [judged[variant].units(group.metric) for variant in group.stressors]
        own = original.units(group.metric)
        across[group.name] = variants_card(units, own, group.metric, convention, options).metrics
    tallies = {name: variant.scored.tally for name, variant in judged.items()}
    cards = {name: variant.scored.card() for name, variant in judged.items()}
    scores = Scores(cards, paired, across, _drops(tallies, options))
    scores.failed = {name: variant.failed for name, variant in judged.items() if variant.failed}
    scores.table = [_cell(column, scores) for column in suite.table]
    scores.notes = [_failures(run, variant, count) for variant, count in scores.failed.items()]
    if run.manifest.repeats > 1:
        scores.repeats = {name: _repeats(run, name, variant, options) for name, variant in judged.items()}
    scores.usage = run.usage
    if uncalled := scores.usage.get("uncalled"):
        scores.notes.append(_UNCALLED.format(uncalled))
    return ScoredRun(scores, {name: variant.errors for name, variant in judged.items()})


def find_errors(run: RunFolder) -> dict[str, TurnErrors]:
    """What the answers to each variant have wrong, under the convention of the run's scores."""
    convention = conventions.create(run.scores.convention)
    errors = {variant: TurnErrors() for variant in run.variants}
    for variant, collect in errors.items():
        corpus = corpus_of(run, variant)
        for shard in gather_shards(Pairing(corpus, predictions_of(run, variant), corpus.schema), corpus):
            collect(Alignment(shard, convention))
    return errors


def has_own_schema(run: RunFolder, variant: str) -> bool:
    """Whether a variant is another one throughout, also where its turns look the same: its schema is another."""
    return bool(run.quality(variant).get("scope") == "schema")


def convention_of(run: RunFolder) -> str:
    """The convention that a run asks for; empty for the usual one of its predictions."""
    return run.manifest.convention or run.manifest.suite.convention


def _repeats(run: RunFolder, name: str, variant: _Variant, options: ScoringOptions) -> Repeats:
    """How far the repeated answers to a variant agree."""
    repeats = range(1, run.manifest.repeats + 1)
    values = [variant.units().values]
    for repeat in repeats[1:]:
        collector = UnitCollector("jga", by_service=False)
        source = PredictionSource(predictions_of(run, name, repeat), variant.corpus)
        tally_predictions(source, [convention_of(run)], ["jga"], (), options, [collector])
        values.append(collector.scores(variant.corpus).values)
    return compare_repeats(values, zip(*(run.journal(name, repeat) for repeat in repeats), strict=True))


def _failures(run: RunFolder, variant: str, count: int) -> str:
    """How many turns failed, and why most of them did."""
    failures = [answer.failed for answer in run.journal(variant) if answer.failed]
    messages = {reason.partition(":")[0]: reason for reason in reversed(failures)}  # the first of each kind
    kinds = Counter(reason.partition(":")[0] for reason in failures)
    why = "; ".join(f"{number:,} {messages[kind]}" for kind, number in kinds.most_common(_REASONS))
    return f"{variant}: {count:,} turns without an answer count as wrong ({why}); `dstress run --resume` asks again"


def corpus_of(run: RunFolder, variant: str) -> Corpus:
    """A variant as a corpus, read from the run folder."""
    name, _, split = run.manifest.corpus.rpartition(":")
    called = name if variant == ORIGINAL else f"{name}+{variant}"
    corpus = Corpus(called, split, run.schema(variant), lambda: run.dialogues(variant))
    corpus.part = run.manifest.part
    corpus.stressed, corpus.made = variant != ORIGINAL, made_by(run.quality(variant))
    return corpus


def predictions_of(run: RunFolder, variant: str, repeat: int = 1) -> Iterator[Prediction]:
    """A variant's answers as they are scored."""
    schema, journal = run.schema(variant), run.journal(variant, repeat)
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


def _drops(tallies: Mapping[str, Tally], options: ScoringOptions) -> dict[str, Drop]:
    """What each stressor costs in joint goal accuracy; Holm's correction is over the stressors."""
    original = tallies[ORIGINAL]
    if "jga" not in original.metrics:
        return {}
    tests = {
        variant: paired_test(tally, original, "jga", options.resamples, options.seed, options.level)
        for variant, tally in tallies.items()
        if variant != ORIGINAL
    }
    corrected = holm([test.p for test in tests.values()])
    return {
        variant: Drop(**test.tested(p), original=test.baseline, stressed=test.system)
        for (variant, test), p in zip(tests.items(), corrected, strict=True)
    }


def _cell(column: Column, scores: Scores) -> Cell:
    """A column's score, or why there is none."""
    try:
        return Cell(column.column, column.variant, column.metric, _score(column, scores))
    except (KeyError, DstressError) as error:
        missing = str(error).strip("'") or "not computed"
        return Cell(column.column, column.variant, column.metric, None, f"no {missing} here")


def _is_of_pairs(metric: str) -> bool:
    return parse(metric).name in pair_metrics


def _score(column: Column, scores: Scores) -> Score:
    if column.variant in scores.across:
        return scores.across[column.variant][column.metric]
    if _is_of_pairs(column.metric):
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
