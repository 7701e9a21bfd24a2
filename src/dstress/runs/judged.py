"""A run's answers, judged once: every number of the run, and every comparison with it, is computed from this.

A metric is of one variant (`jga`), of a pair (a variant with the original), or of a group of variants that the suite
names under `across`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dstress.corpora.base import Corpus
from dstress.dialogue import Schema, slot_id
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.runs.folder import RunFolder, Variant
from dstress.runs.records import joint_of
from dstress.runs.suites.base import ORIGINAL, Across, Suite
from dstress.schema_names import names_back
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.errors import TurnErrors
from dstress.scoring.alignment.profile import NO_ANSWER
from dstress.scoring.metrics import OverPairs, pair_metrics
from dstress.scoring.metrics.base import Floats, Metric
from dstress.scoring.metrics.consistency import OverRuns
from dstress.scoring.metrics.measures import over_variants, require_metric
from dstress.scoring.metrics.sensitivity import DiffRel
from dstress.scoring.open_pair import PredictionSource, located
from dstress.scoring.score import Scored, ScoringOptions, list_missing, tally_predictions
from dstress.scoring.scorecard import Scorecard
from dstress.scoring.significance import PairedTest, paired_test_of_metric
from dstress.scoring.slices import CHANGED, UNCUT, Slicing
from dstress.scoring.tally import Tally
from dstress.scoring.unit_scores import UnitCollector, UnitScores
from dstress.scoring.versions import WHOLE, Cut, conditional_card, side_by_side, variants_card
from dstress.spec import parse


class Measured(NamedTuple):
    """A metric's statistics, summed for each dialogue, as a paired test needs them."""

    dialogues: list[str]
    totals: Floats
    metric: Metric | OverRuns
    """It computes a value from sums of statistics."""

    def test_against(self, baseline: Measured, options: ScoringOptions) -> PairedTest:
        """The paired test of two runs; a dialogue in which a metric is undefined adds nothing to its sums."""
        dialogues = list(dict.fromkeys((*baseline.dialogues, *self.dialogues)))
        totals = self.over(dialogues), baseline.over(dialogues)
        return paired_test_of_metric(*totals, self.metric, options.level)

    def over(self, dialogues: Iterable[str]) -> Floats:
        """The sums of these dialogues, in this order; zeros for a dialogue that has none."""
        rows = dict(zip(self.dialogues, self.totals, strict=True))
        return np.array([rows.get(dialogue, np.zeros(self.totals.shape[1])) for dialogue in dialogues])


def measure_tally(tally: Tally, metrics: Iterable[str]) -> dict[str, Measured]:
    """The metrics that a tally has."""
    return {
        name: Measured(tally.dialogues, tally.totals(name), tally.metrics[name])
        for name in metrics
        if name in tally.metrics
    }


class JudgedVariant:
    """The answers to one variant, judged under one convention: their tally, their errors, and each unit's values."""

    def __init__(
        self,
        variant: Variant,
        corpus: Corpus,
        scored: Scored,
        errors: TurnErrors,
        collectors: Mapping[str, UnitCollector],
    ) -> None:
        self.variant, self.corpus, self.scored, self.errors = variant, corpus, scored, errors
        self._collectors = collectors
        self._units: dict[str, UnitScores] = {}

    def units(self, metric: str = "") -> UnitScores:
        """The value of a metric for each unit; by default of the one that pairs compare."""
        metric = metric or joint_of(metrics_of(self.variant.run))
        if metric not in self._units:
            self._units[metric] = self._collectors[metric].scores(self.corpus)
        return self._units[metric]


def judge_variant(
    variant: Variant,
    conventions: Sequence[str],
    metrics: Sequence[str],
    by_unit: Iterable[str],
    options: ScoringOptions,
    *,
    repeat: int = 1,
    whole: bool = False,
    with_errors: bool = False,
) -> list[JudgedVariant]:
    """Judge the answers to a variant under several conventions; they are read and laid out only once.

    `by_unit` names the metrics whose value for each unit is kept. `whole` adds slices and the errors of each answer,
    `with_errors` the errors alone.
    """
    corpus = variant.corpus()
    by, slicing = list[str](), UNCUT
    if whole:
        slicing = slicing_of(variant)
        by += _slices(variant.run.manifest.suite)
        if variant.quality.get("quality", {}).get("tags") and "stress" not in by:
            by.append("stress")  # a stressor tags turns to tell results apart
    errors = [TurnErrors(counted=whole) for _ in conventions]
    # By position, not by service: schema variants rename services.
    units = [
        {metric: UnitCollector(metric, by_service=False, slicing=slicing) for metric in by_unit} for _ in conventions
    ]
    # Each shard is shown under one convention after the other.
    convention_numbers = cycle(range(len(conventions)))

    def watch(alignment: Alignment) -> None:
        number = next(convention_numbers)
        if whole or with_errors:
            errors[number](alignment)
        for collector in units[number].values():
            collector(alignment)

    with located(f"{variant.run.path}, {variant.spec}"):
        source = PredictionSource(predictions_of(variant, repeat), corpus)
        tallied = tally_predictions(source, conventions, metrics, by, options, [watch])
    return [
        JudgedVariant(variant, corpus, scored, wrong, collectors)
        for scored, wrong, collectors in zip(tallied, errors, units, strict=True)
    ]


class _MetricsByKind(NamedTuple):
    """Metrics of single variants, of pairs, and of groups."""

    plain: list[str]
    of_pairs: dict[str, OverPairs]
    of_groups: dict[str, OverRuns]


class JudgedRun:
    """A run's answers to some variants, judged under one convention."""

    def __init__(
        self, run: RunFolder, options: ScoringOptions, metrics: _MetricsByKind, variants: Mapping[str, JudgedVariant]
    ) -> None:
        self.run, self.options, self.variants, self._metrics = run, options, variants, metrics
        across = run.manifest.suite.across
        self.groups = {group.name: group for group in across if variants.keys() >= {*group.stressors}}
        self.convention = variants[ORIGINAL].scored.convention

    @property
    def places(self) -> list[str]:
        """The names of all variants and, if a metric is of groups, of all groups: each has a card."""
        return [*self.variants, *(self.groups if self._metrics.of_groups else ())]

    def pair_card(self, name: str, metrics: Sequence[str], cut: Cut = WHOLE) -> Scorecard:
        """The metrics of the pair of a variant and the original."""
        pair = self.variants[ORIGINAL].units(), self.variants[name].units()
        all_changed = self.run.variant(name).has_own_schema
        return conditional_card(pair, self.convention, self.options, metrics, cut, all_changed=all_changed)

    def group_card(self, name: str, metric: str = "", cut: Cut = WHOLE) -> Scorecard:
        """The metrics of a group; `metric` is the one whose values over its variants are compared."""
        group = self.groups[name]
        metric = metric or group.metric
        units = [self.variants[variant].units(metric) for variant in group.stressors]
        original = self.variants[ORIGINAL].units(metric)
        return variants_card(units, original, metric, self.convention, self.options, cut)

    def card(self, place: str) -> Scorecard:
        """The metrics of a variant or a group with their intervals."""
        plain, of_pairs, of_groups = self._metrics
        if place in self.groups:
            varying = sorted({_varying(metric, self.groups[place]) for metric in of_groups.values()})
            cards = [self.group_card(place, metric) for metric in varying]
            names = {name: metric.name for name, metric in of_groups.items()}
        else:
            cards, names = [self.variants[place].scored.card()], {name: name for name in plain}
            if of_pairs and place != ORIGINAL:
                pairs = self.pair_card(place, [*of_pairs])
                cards[0].metrics |= pairs.metrics
                names |= {name: metric.name for name, metric in of_pairs.items()}
        scores = {name: score for card in cards for name, score in card.metrics.items()}
        scores = {name: scores[own] for name, own in names.items() if own in scores}
        return Scorecard(cards[0].signature, scores, notes=[note for card in cards for note in card.notes])

    def measured(self, place: str) -> dict[str, Measured]:
        """The metrics of the card as sums for each dialogue, for a paired test."""
        plain, of_pairs, of_groups = self._metrics
        if group := self.groups.get(place):
            measured = {}
            for name, metric in of_groups.items():
                members = (ORIGINAL, *group.stressors) if isinstance(metric, DiffRel) else group.stressors
                units = side_by_side([self.variants[member].units(_varying(metric, group)) for member in members])
                measured[name] = Measured(units.dialogues()[0], units.totals(metric), metric)
            return measured
        measured = measure_tally(self.variants[place].scored.tally, plain)
        if of_pairs and place != ORIGINAL:
            pair = side_by_side(
                [self.variants[ORIGINAL].units(), self.variants[place].units()],
                all_changed=self.run.variant(place).has_own_schema,
            )
            dialogues = pair.dialogues()[0]
            measured |= {name: Measured(dialogues, pair.totals(metric), metric) for name, metric in of_pairs.items()}
        return measured

    def notes(self) -> list[str]:
        """Which metrics cannot be computed, of which variants, and why."""
        plain = self._metrics.plain
        return name_missing(
            {
                variant: {name: reason for name, reason in judged.scored.missing.items() if name in plain}
                for variant, judged in self.variants.items()
            }
        )


def judge_run(
    run: RunFolder,
    options: ScoringOptions,
    conventions: Sequence[str] = (),
    variants: Sequence[str] = (),
    metrics: Sequence[str] = (),
    *,
    whole: bool = False,
    with_errors: bool = False,
) -> list[JudgedRun]:
    """Judge a run under each convention, by default its own, for metrics of any kind.

    `whole` is for all that the run's suite asks for: its own metrics, by slice, and what is wrong with each answer.
    `with_errors` is for what is wrong with each answer beside the metrics.
    """
    suite, options = run.manifest.suite, msgspec.structs.replace(options, lenient=True)
    metrics = metrics or metrics_of(run)
    for name in metrics:
        require_metric(name)
    of_pairs = {name: pair_metrics.create(name) for name in metrics if parse(name).name in pair_metrics}
    of_groups = {name: metric for name in metrics if (metric := over_variants(name))}
    plain = [name for name in metrics if name not in of_pairs and name not in of_groups]
    variants = variants or run.variants
    groups = [group for group in suite.across if {*group.stressors} <= {*variants}]
    joint = joint_of(metrics_of(run))
    tallied = metrics_of(run) if whole else tuple(dict.fromkeys((*plain, joint)))
    judged: list[dict[str, JudgedVariant]] = [{} for _ in conventions or [""]]
    for name in variants:
        own = [group for group in groups if name in (ORIGINAL, *group.stressors)]
        by_unit = {joint, *(_varying(metric, group) for group in own for metric in of_groups.values())}
        by_unit |= {group.metric for group in own if whole}
        each = judge_variant(
            run.variant(name),
            [convention or convention_of(run) for convention in conventions or [""]],
            tallied,
            sorted(by_unit),
            options,
            whole=whole,
            with_errors=with_errors,
        )
        for under, variant in zip(judged, each, strict=True):
            under[name] = variant
    return [JudgedRun(run, options, _MetricsByKind(plain, of_pairs, of_groups), under) for under in judged]


def _varying(metric: OverRuns, group: Across) -> str:
    """The metric whose values over a group's variants are compared: a metric of groups names it, or else the suite."""
    return str(getattr(metric, "metric", group.metric))


def convention_of(run: RunFolder) -> str:
    """The convention that a run asks for; empty for the default of its predictions' format."""
    return run.manifest.convention or run.manifest.suite.convention


def metrics_of(run: RunFolder) -> tuple[str, ...]:
    """The metrics that a run is scored with: its suite's, or those of a rescoring."""
    return run.manifest.metrics or run.manifest.suite.metrics


def _slices(suite: Suite) -> tuple[str, ...]:
    """The slices of a suite: those that it names, and those that its table needs."""
    return tuple(dict.fromkeys((*suite.slices, *(column.slice[0] for column in suite.table if column.slice))))


def slicing_of(variant: Variant) -> Slicing:
    """The slices in which several variants are compared, under the original's names of slots.

    By slot and by stressor only if the suite's table has such a column.
    """
    suite, seen = variant.run.manifest.suite, variant.run.manifest.seen
    in_table = {column.slice[0] for column in suite.table if column.slice}
    left_out = {CHANGED, *({"slot", "stress"} - in_table)}
    by = tuple(name for name in _slices(suite) if name not in left_out and (name != "seen" or seen is not None))
    return Slicing(by, seen, names_back(variant.run.variant(ORIGINAL).schema, variant.schema), lenient=True)


def name_missing(by_variant: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Metrics that cannot be computed, and why; with their variants if it holds only for some."""
    variants: dict[tuple[str, str], list[str]] = {}
    for variant, missing in by_variant.items():
        for metric, reason in missing.items():
            variants.setdefault((metric, reason), []).append(variant)
    return list_missing(
        {
            metric if len(names) == len(by_variant) else f"{metric} on {', '.join(names)}": reason
            for (metric, reason), names in variants.items()
        }
    )


def gather_notes(runs: Mapping[str, JudgedRun]) -> list[str]:
    """The notes of several runs, each with the names of its runs if it does not hold for all of them."""
    notes = {name: run.notes() for name, run in runs.items()}
    holders = {note: [name for name in notes if note in notes[name]] for own in notes.values() for note in own}
    return [note if len(names) == len(runs) else f"{', '.join(names)}: {note}" for note, names in holders.items()]


def nothing_to_compare(metrics: Sequence[str], runs: Mapping[str, JudgedRun]) -> DstressError:
    """The error to raise if the runs cannot be compared by any of the metrics."""
    why = "; ".join(gather_notes(runs)) or "pairs need stressors, sensitivity needs a group of them under [[across]]"
    return DstressError(
        f"the runs have nothing that {', '.join(metrics)} could be of: {why}",
        where=" and ".join(str(judged.run.path) for judged in runs.values()),
        fix="jga is of every run",
    )


def predictions_of(variant: Variant, repeat: int = 1) -> Iterator[Prediction]:
    """A variant's answers as they are scored."""
    schema, journal = variant.schema, variant.journal(repeat)
    if missing := variant.turns - journal.failed - journal.answered:
        problem = f"{missing:,} turns of {variant.spec} have not been answered yet"
        fix = f"go on with `dstress run --resume --out {variant.run.path}`"
        raise DstressError(problem, where=str(journal.path), fix=fix)
    turns: dict[tuple[str, int], tuple[str, ...]] = {}
    silence: dict[str, Any] = {}
    if journal.failed:
        # If the tracker gives responses, a failed turn has the empty response, which is scored, and not none.
        speaker = next((answer for answer in journal if answer.response is not None), None)
        if speaker:
            silence = {"response": "", "domains": None if speaker.domains is None else ()}
        turns = {
            (dialogue.id, number): tuple(frame.service for frame in turn.frames)
            for dialogue in variant.dialogues()
            for number, turn in enumerate(dialogue.turns)
        }
    for answer in journal:
        if answer.failed:
            wrong = _as_wrong(answer, turns[answer.dialogue, answer.turn], schema)
            answer = msgspec.structs.replace(wrong, **silence)
        yield answer


def _as_wrong(answer: Prediction, services: tuple[str, ...], schema: Schema) -> Prediction:
    """A failed answer as a state that is wrong in every frame, whatever the gold is."""
    named = [service for service in schema.services if service.slots and service.name in services]
    named = named or [service for service in schema.services if service.slots][:1]
    state = {slot_id(service.name, service.slots[0].name): NO_ANSWER for service in named}
    return msgspec.structs.replace(answer, state=state, failed="")
