"""Every number of a run: scores of each variant, of variants together with the original, and the suite's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from dstress.alignment.cells import Alignment
from dstress.alignment.errors import TurnErrors
from dstress.alignment.pairing import Pairing
from dstress.alignment.profile import NO_ANSWER
from dstress.conventions import conventions
from dstress.corpora.base import Corpus, made_by
from dstress.dialogue import Schema, slot_id
from dstress.errors import DstressError, unknown
from dstress.metrics import metrics, pair_metrics
from dstress.predictions.base import Prediction
from dstress.runs.averages import absent_columns, average_cells
from dstress.runs.folder import Cell, Drop, RunFolder, Scores
from dstress.runs.repeats import Repeats, compare_repeats
from dstress.schema_names import names_back, seen_by_variant
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import SLOT_SCORES, ScoringOptions, list_missing, tally_predictions
from dstress.scoring.scorecard import UNITS, Score, Scorecard
from dstress.scoring.shards import Watcher, gather_shards
from dstress.scoring.significance import holm, paired_test
from dstress.scoring.slices import CHANGED, Slicing, check_slice, missing_key, possible_slices
from dstress.scoring.tally import Tally
from dstress.scoring.unit_scores import UnitCollector, UnitScores
from dstress.scoring.versions import (
    PAIR_METRICS,
    WHAT_WAS_DONE,
    Cut,
    conditional_card,
    measures_of_variants,
    slice_of_variants,
    variants_card,
)
from dstress.spec import parse
from dstress.suites.base import ORIGINAL, Column, Suite

_REASONS = 3
_UNCALLED = (
    "{:,.0f} answers came as JSON and not as the tool call that was asked for, since the endpoint did not hold the "
    "model to the call; docs/trackers/llm.md says why"
)


class ScoredRun(NamedTuple):
    """A run's numbers, and its variants as they were judged."""

    scores: Scores
    variants: dict[str, JudgedVariant]


class JudgedVariant:
    """A variant, judged once for all that is made of it: scores, pairs with the original, the explorer's examples."""

    def __init__(self, run: RunFolder, variant: str, options: ScoringOptions) -> None:
        suite = run.manifest.suite
        self.errors = TurnErrors()
        metrics = {group.metric for group in suite.across if variant in (ORIGINAL, *group.stressors)}
        slicing = _slicing(run, variant)
        # By position, not by service: schema variants rename services.
        self.collectors = {
            metric: UnitCollector(metric, by_service=False, slicing=slicing) for metric in ("jga", *metrics)
        }
        self.corpus = corpus_of(run, variant)
        watchers: list[Watcher] = [self.errors, *self.collectors.values()]
        source = PredictionSource(predictions_of(run, variant), self.corpus)
        (self.scored,) = tally_predictions(
            source, [convention_of(run)], list(metrics_of(run)), _slices_of(run, variant), options, watchers
        )
        self.failed = run.journal(variant).failed

    def units(self, metric: str = "jga") -> UnitScores:
        """A metric of each unit."""
        return self.collectors[metric].scores(self.corpus)


class _Together:
    """Variants, judged, and what is made of several of them."""

    def __init__(self, run: RunFolder, options: ScoringOptions) -> None:
        self.run, self.options, self.suite = run, options, run.manifest.suite
        self.variants = {variant: JudgedVariant(run, variant, options) for variant in run.variants}
        self.original = self.variants[ORIGINAL]
        self.convention = self.original.scored.convention
        self.groups = {group.name: group for group in self.suite.across}
        asked = (column.metric for column in self.suite.table if _is_of_pairs(column.metric))
        self._of_pairs = tuple(dict.fromkeys((*PAIR_METRICS, *asked)))
        self._parts: dict[tuple[str, str, str], Scorecard] = {}

    def card(self, name: str, cut: Cut) -> Scorecard:
        """A group under `across`, or a variant in pairs with the original."""
        if name not in self.groups:
            pair, own_schema = (self.original.units(), self.variants[name].units()), has_own_schema(self.run, name)
            return conditional_card(pair, self.convention, self.options, self._of_pairs, cut, all_changed=own_schema)
        metric, stressors = self.groups[name].metric, self.groups[name].stressors
        units = [self.variants[variant].units(metric) for variant in stressors]
        return variants_card(units, self.original.units(metric), metric, self.convention, self.options, cut)

    def part(self, name: str, part: tuple[str, str]) -> Scorecard:
        """The same of one key of a slice; several columns of a table ask for it."""
        if (name, *part) not in self._parts:
            self._parts[name, *part] = self.card(name, Cut(part=part))
        return self._parts[name, *part]


def score_run(run: RunFolder, options: ScoringOptions) -> ScoredRun:
    """Score what a run has tracked, under the run's convention."""
    judged, suite = _Together(run, options), run.manifest.suite
    scores = Scores({name: variant.scored.card() for name, variant in judged.variants.items()})
    cut = Cut(_slicing(run, ORIGINAL).by)
    for variant in run.variants[1:]:
        card = judged.card(variant, cut)
        scores.paired[variant], scores.paired_slices[variant] = card.metrics, card.slices
    for group in suite.across:
        card = judged.card(group.name, cut)
        scores.across[group.name], scores.across_slices[group.name] = card.metrics, card.slices
    scores.failed = {name: variant.failed for name, variant in judged.variants.items() if variant.failed}
    cells = [_cell(column, scores, judged) for column in suite.table]
    tallies = {name: variant.scored.tally for name, variant in judged.variants.items()}
    signature = judged.original.scored.signature
    averages = [average_cells(average, cells, tallies, signature, options.level) for average in suite.average]
    scores.table = [*averages, *cells]
    scores.drops = _drops(tallies, options)
    scores.notes = absent_columns(averages, cells)
    scores.notes += [_failures(run, variant, count) for variant, count in scores.failed.items()]
    scores.notes += name_missing({name: variant.scored.missing for name, variant in judged.variants.items()})
    if run.manifest.repeats > 1:
        scores.repeats = {name: _repeats(run, name, variant, options) for name, variant in judged.variants.items()}
    scores.usage = run.usage
    if uncalled := scores.usage.get("uncalled"):
        scores.notes.append(_UNCALLED.format(uncalled))
    return ScoredRun(scores, judged.variants)


def check_slices(suite: Suite, where: str) -> None:
    """Refuse a suite whose slices do not exist, or do not fit the metric: it would be told only after the tracking."""
    for name in suite.slices:
        check_slice(name, where=f"{where}, slices")
    groups = {group.name for group in suite.across}
    for column in suite.table:
        if column.slice is None:
            continue
        name, place = column.slice[0], f"{where}, [[table]] {column.column!r}"
        check_slice(*column.slice, where=place)
        if column.variant in groups and name in WHAT_WAS_DONE:
            raise slice_of_variants(name, where=place)
        of_one = column.variant not in groups and not _is_of_pairs(column.metric)
        if name == "slot" and of_one and column.metric not in SLOT_SCORES:
            fix = f"possible: {', '.join(SLOT_SCORES)}, and measures of pairs and variants"
            raise DstressError(f"{column.metric} cannot be cut by 'slot'", where=place, fix=fix)


def _slices(suite: Suite) -> tuple[str, ...]:
    """What a suite cuts scores by: what it says, and what its table needs."""
    return tuple(dict.fromkeys((*suite.slices, *(column.slice[0] for column in suite.table if column.slice))))


def _slices_of(run: RunFolder, variant: str) -> tuple[str, ...]:
    """The same, and `stress` where the stressor tags turns: tags are there to tell results apart."""
    tagged = run.quality(variant).get("quality", {}).get("tags")
    return tuple(dict.fromkeys((*_slices(run.manifest.suite), *(["stress"] if tagged else []))))


def _slicing(run: RunFolder, variant: str) -> Slicing:
    """How measures of several variants are cut, by the original's names; by slot only where the table asks for it."""
    suite, seen = run.manifest.suite, run.manifest.seen
    asked = {column.slice[0] for column in suite.table if column.slice}
    left_out = {CHANGED, *(() if "slot" in asked else ("slot",)), *(() if "stress" in asked else ("stress",))}
    by = tuple(name for name in _slices(suite) if name not in left_out and (name != "seen" or seen is not None))
    return Slicing(by, seen, names_back(run.schema(ORIGINAL), run.schema(variant)), lenient=True)


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


def metrics_of(run: RunFolder) -> tuple[str, ...]:
    """The metrics that a run is scored with: its suite's, or those of a rescoring."""
    return run.manifest.metrics or run.manifest.suite.metrics


def name_missing(by_variant: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Metrics that cannot be computed, and why; with the variants, where it is not so of all of them."""
    variants: dict[tuple[str, str], list[str]] = {}
    for variant, missing in by_variant.items():
        for metric, reason in missing.items():
            variants.setdefault((metric, reason), []).append(variant)
    return list_missing(
        {
            metric if len(found) == len(by_variant) else f"{metric} on {', '.join(found)}": reason
            for (metric, reason), found in variants.items()
        }
    )


def _repeats(run: RunFolder, name: str, variant: JudgedVariant, options: ScoringOptions) -> Repeats:
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
    corpus.seen = seen_by_variant(run.manifest.seen, run.schema(ORIGINAL), corpus.schema)
    corpus.open_database = lambda: run.database
    return corpus


def predictions_of(run: RunFolder, variant: str, repeat: int = 1) -> Iterator[Prediction]:
    """A variant's answers as they are scored."""
    schema, journal = run.schema(variant), run.journal(variant, repeat)
    if missing := run.count_turns(variant) - journal.failed - journal.answered:
        problem = f"{missing:,} turns of {variant} have not been answered yet"
        raise DstressError(problem, where=str(journal.path), fix=f"go on with `dstress run --resume --out {run.path}`")
    turns: dict[tuple[str, int], tuple[str, ...]] = {}
    silence: dict[str, Any] = {}
    if journal.failed:
        # Where the others say something, a failed turn says nothing, which is not the same as no response.
        speaker = next((answer for answer in journal if answer.response is not None), None)
        if speaker:
            silence = {"response": "", "domains": None if speaker.domains is None else ()}
        turns = {
            (dialogue.id, number): tuple(frame.service for frame in turn.frames)
            for dialogue in run.dialogues(variant)
            for number, turn in enumerate(dialogue.turns)
        }
    for answer in journal:
        if answer.failed:
            wrong = _as_wrong(answer, turns[answer.dialogue, answer.turn], schema)
            answer = msgspec.structs.replace(wrong, **silence)
        yield answer


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


def _cell(column: Column, scores: Scores, judged: _Together) -> Cell:
    """A column's score, or why there is none."""
    score, missing = None, ""
    try:
        score = _score(column, scores, judged)
    except KeyError as error:
        variant = judged.variants.get(column.variant)
        missing = variant.scored.missing.get(column.metric, "") if variant else ""
        missing = missing or f"no {error.args[0]} here"
    except DstressError as error:
        missing = error.problem
    return Cell(column.name, column.variant, column.metric, score, missing, column.task, column.aspect or column.task)


def check_metrics(suite: Suite, where: str) -> None:
    """Refuse a suite whose table names a metric that no run could compute, before anything is asked."""
    for name in (*suite.metrics, *(group.metric for group in suite.across)):
        metrics.create(name)
    groups = {group.name: [one.name for one in chain(*measures_of_variants(group.metric))] for group in suite.across}
    for column in suite.table:
        place, name = f"{where}, [[table]] {column.column!r}", column.metric
        if column.variant in groups:
            if name not in groups[column.variant]:
                raise unknown("metric of several variants", name, groups[column.variant], where=place)
        elif _is_of_pairs(name):
            pair_metrics.create(name)
        elif name not in suite.metrics and not (column.slice and column.slice[0] == "slot"):
            known = [*suite.metrics, *pair_metrics]
            raise unknown("metric of the suite", name, known, where=place, fix="name under `metrics` what is computed")


def _is_of_pairs(metric: str) -> bool:
    return parse(metric).name in pair_metrics


def _score(column: Column, scores: Scores, judged: _Together) -> Score:
    in_group = column.variant in judged.groups
    if column.slice is None:
        if in_group:
            return scores.across[column.variant][column.metric]
        card = scores.variants[column.variant]
        return (scores.paired[column.variant] if _is_of_pairs(column.metric) else card.metrics)[column.metric]
    name, key = column.slice
    possible_slices([name], (judged.original if in_group else judged.variants[column.variant]).corpus)
    if in_group or _is_of_pairs(column.metric):
        return judged.part(column.variant, column.slice).metrics[column.metric]
    card = scores.variants[column.variant]
    if key not in card.slices[name]:
        raise missing_key(name, key, card.slices[name])
    value = card.slices[name][key][column.metric]
    if value is None:
        raise KeyError(column.metric)
    nothing = float("nan")
    units = card.slices[name][key].get(UNITS) or nothing
    return Score(value, nothing, nothing, units, f"{card.metrics[column.metric].signature}|{name}:{key}")
