"""Whatever a run can be compared by, as sums by dialogue: metrics of its variants, of pairs, of groups of variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from dstress.errors import DstressError
from dstress.metrics import pair_metrics
from dstress.metrics.base import Floats, Metric
from dstress.metrics.consistency import OverRuns
from dstress.metrics.measures import over_variants, require_metric
from dstress.metrics.sensitivity import DiffRel
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import (
    JudgedVariant,
    convention_of,
    corpus_of,
    has_own_schema,
    name_missing,
    predictions_of,
)
from dstress.scoring.open_pair import PredictionSource, located
from dstress.scoring.score import Scored, ScoringOptions, tally_predictions
from dstress.scoring.scorecard import Scorecard
from dstress.scoring.significance import PairedTest, paired_test_of_metric
from dstress.scoring.tally import Tally
from dstress.scoring.unit_scores import UnitCollector, UnitScores
from dstress.scoring.versions import conditional_card, side_by_side, variants_card
from dstress.spec import parse
from dstress.suites.base import Across

_JOINT = "jga"
"""What pairs are made of, and what is judged in any case."""


class Measured(NamedTuple):
    """A metric's statistics summed by dialogue, and what their sums are worth."""

    dialogues: list[str]
    totals: Floats
    metric: Metric | OverRuns

    def test_against(self, baseline: Measured, options: ScoringOptions) -> PairedTest:
        """The paired test of two runs; a dialogue in which a metric is undefined adds nothing to its sums."""
        dialogues = list(dict.fromkeys((*baseline.dialogues, *self.dialogues)))
        totals = self.over(dialogues), baseline.over(dialogues)
        return paired_test_of_metric(*totals, self.metric, options.resamples, options.seed, options.level)

    def over(self, dialogues: list[str]) -> Floats:
        """The sums of these dialogues, in this order; nothing of one that has none."""
        rows = dict(zip(self.dialogues, self.totals, strict=True))
        return np.array([rows.get(dialogue, np.zeros(self.totals.shape[1])) for dialogue in dialogues])


def measure_tally(tally: Tally, metrics: Sequence[str]) -> dict[str, Measured]:
    """The metrics that a tally has."""
    known = [name for name in metrics if name in tally.metrics]
    return {name: Measured(tally.dialogues, tally.totals(name), tally.metrics[name]) for name in known}


class MeasuredRun:
    """A run's answers to some variants, judged once under one convention for all that is to be measured of them.

    Metrics of pairs are of each variant with the original, those over variants of each of the suite's groups. Variants
    that `score_run` has `judged`, under the convention asked for, are not judged again.
    """

    def __init__(
        self,
        run: RunFolder,
        variants: Sequence[str],
        metrics: Sequence[str],
        options: ScoringOptions,
        convention: str = "",
        judged: Mapping[str, JudgedVariant] | None = None,
    ) -> None:
        for name in metrics:
            require_metric(name)
        self.run, self.options = run, msgspec.structs.replace(options, lenient=True)
        self._pairs = {name: pair_metrics.create(name) for name in metrics if parse(name).name in pair_metrics}
        self._over = {name: metric for name in metrics if (metric := over_variants(name))}
        self._plain = [name for name in metrics if name not in self._pairs and name not in self._over]
        groups = [group for group in run.manifest.suite.across if set(group.stressors) <= set(variants)]
        self._groups = {group.name: group for group in groups} if self._over else {}
        self.scored: dict[str, Scored] = {}
        self._units: dict[tuple[str, str], UnitScores] = {}
        by_unit = {_JOINT, *(_unit_metric(m, group) for m in self._over.values() for group in self._groups.values())}
        for variant in variants:
            if judged is not None:
                self.scored[variant] = judged[variant].scored
                self._units |= {(variant, metric): judged[variant].units(metric) for metric in by_unit}
                continue
            # By position, not by service: schema variants rename services.
            collectors = {metric: UnitCollector(metric, by_service=False) for metric in sorted(by_unit)}
            corpus = corpus_of(run, variant)
            with located(f"{run.path}, {variant}"):
                (self.scored[variant],) = tally_predictions(
                    PredictionSource(predictions_of(run, variant), corpus),
                    [convention or convention_of(run)],
                    list(dict.fromkeys((*self._plain, _JOINT))),
                    (),
                    self.options,
                    list(collectors.values()),
                )
                self._units |= {(variant, metric): found.scores(corpus) for metric, found in collectors.items()}

    @property
    def places(self) -> list[str]:
        """What there are numbers of: variants, and groups of them."""
        return [*self.scored, *self._groups]

    def joint(self, variant: str) -> UnitScores:
        """Joint accuracy of each unit."""
        return self._units[variant, _JOINT]

    def measured(self, place: str) -> dict[str, Measured]:
        """Every metric that there is of a variant or a group."""
        if place in self._groups:
            return {name: self._of_group(metric, self._groups[place]) for name, metric in self._over.items()}
        found = measure_tally(self.scored[place].tally, self._plain)
        if self._pairs and place != ORIGINAL:
            pair = side_by_side((self.joint(ORIGINAL), self.joint(place)), all_changed=has_own_schema(self.run, place))
            dialogues = pair.dialogues()[0]
            found |= {name: Measured(dialogues, pair.totals(m), m) for name, m in self._pairs.items()}
        return found

    def _of_group(self, metric: OverRuns, group: Across) -> Measured:
        variants = (ORIGINAL, *group.stressors) if isinstance(metric, DiffRel) else group.stressors
        units = side_by_side([self._units[variant, _unit_metric(metric, group)] for variant in variants])
        return Measured(units.dialogues()[0], units.totals(metric), metric)

    def card(self, place: str) -> Scorecard:
        """The same metrics with their intervals."""
        convention, options = self.scored[ORIGINAL].convention, self.options
        if place in self._groups:
            group = self._groups[place]
            cards = [
                variants_card(
                    [self._units[variant, metric] for variant in group.stressors],
                    self._units[ORIGINAL, metric],
                    metric,
                    convention,
                    options,
                )
                for metric in sorted({_unit_metric(over, group) for over in self._over.values()})
            ]
            found = {name: score for card in cards for name, score in card.metrics.items()}
            wanted = {name: metric.name for name, metric in self._over.items()}
        else:
            cards = [self.scored[place].card()]
            found, wanted = cards[0].metrics, {name: name for name in self._plain}
            if self._pairs and place != ORIGINAL:
                pair = (self.joint(ORIGINAL), self.joint(place))
                own_schema = has_own_schema(self.run, place)
                found |= conditional_card(pair, convention, options, [*self._pairs], all_changed=own_schema).metrics
                wanted |= {name: metric.name for name, metric in self._pairs.items()}
        scores = {name: found[known] for name, known in wanted.items() if known in found}
        return Scorecard(cards[0].signature, scores, notes=[note for card in cards for note in card.notes])

    def notes(self) -> list[str]:
        """Which metrics cannot be computed, of which variants, and why."""
        return name_missing(
            {
                variant: {name: reason for name, reason in scored.missing.items() if name in self._plain}
                for variant, scored in self.scored.items()
            }
        )


def gather_notes(runs: Mapping[str, MeasuredRun]) -> list[str]:
    """The notes of several runs by name; once and without a name what holds for all of them."""
    notes = {name: run.notes() for name, run in runs.items()}
    found = {note: [name for name in notes if note in notes[name]] for own in notes.values() for note in own}
    return [note if len(names) == len(runs) else f"{', '.join(names)}: {note}" for note, names in found.items()]


def nothing_to_compare(metrics: Sequence[str], runs: Mapping[str, MeasuredRun]) -> DstressError:
    """What to raise where no run can be compared by any of the metrics."""
    why = "; ".join(gather_notes(runs)) or "pairs need stressors, sensitivity needs a group of them under [[across]]"
    return DstressError(
        f"the runs have nothing that {', '.join(metrics)} could be of: {why}",
        where=" and ".join(str(one.run.path) for one in runs.values()),
        fix="jga is of every run",
    )


def _unit_metric(metric: OverRuns, group: Across) -> str:
    """What is measured of each unit and varies: the metric says it, or else the suite."""
    return str(getattr(metric, "metric", group.metric))
