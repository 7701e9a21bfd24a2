"""Two or more systems on the same data, side by side.

Whose score is higher, whether that is more than chance, and in which slots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from dstress.corpora.base import Corpus
from dstress.dialogue import State
from dstress.display import Displayed
from dstress.errors import DstressError, PredictionError, place
from dstress.reports.analysis.checkdst_tables import Slack, slack_behind_best
from dstress.reports.analysis.ranking import Ranking, rank_found
from dstress.runs.comparability import require_comparable, short_names
from dstress.runs.folder import ORIGINAL, RunFolder, is_run
from dstress.runs.judged import Measured, gather_notes, judge_run, measure_tally, nothing_to_compare
from dstress.scoring import open_pair
from dstress.scoring.alignment.pairing import key
from dstress.scoring.metrics import metrics as known_metrics
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.consistency import paired
from dstress.scoring.metrics.measures import describe
from dstress.scoring.open_pair import Gold, LoadedSystem, Predictions, PredictionSource
from dstress.scoring.score import COMPARING, ScoringOptions, tally_predictions
from dstress.scoring.scorecard import UNITS, Score, Scorecard, Slices, TestedDifference
from dstress.scoring.significance import PairedTest, holm, mcnemar
from dstress.scoring.unit_scores import UnitCollector, UnitScores

DEFAULT_METRICS = ("jga", "fga", "gca", "slot-f1")
"""Few, since every further test makes the others stricter."""
RUN_METRICS = ("jga", "cjga")
"""Of runs fewer still, since each is tested under every stressor; `ss(jga)` comes with suites that have groups."""


class Test(TestedDifference, frozen=True, kw_only=True):
    """One metric of two systems, the system's value less the baseline's; `significant` goes by `p_holm`."""

    significant: bool


class SlotChange(msgspec.Struct, frozen=True):
    """One slot of two systems: F1, how often it is right, and how often wrong, missed or extra."""

    slot: str
    difference: float
    baseline: float
    system: float
    baseline_right: int
    system_right: int
    baseline_errors: int
    system_errors: int

    @property
    def occurrences(self) -> int:
        """How much the slot matters: a rare one gains and loses whole points by accident."""
        return max(self.baseline_right + self.baseline_errors, self.system_right + self.system_errors)


class Discordance(msgspec.Struct, frozen=True):
    """McNemar's test on joint accuracy: units that only one of the two has right. It takes units as independent."""

    only_baseline: int
    only_system: int
    p: float
    method: str


class Pair(msgspec.Struct, frozen=True):
    """A system against the baseline. `slots` goes from the largest gain to the largest loss: F1 times occurrences."""

    baseline: str
    system: str
    tests: dict[str, Test]
    mcnemar: Discordance | None
    slots: list[SlotChange]


class VariantComparison(msgspec.Struct, frozen=True):
    """Two or more systems on one version of the data. The first is the baseline of every pair. Values are fractions."""

    signature: dict[str, str]
    systems: dict[str, dict[str, Score]]
    pairs: list[Pair]


class Comparison(Displayed, VariantComparison, frozen=True):
    """Two or more systems on the same gold; of runs, on the original, and `stressed` has every other variant.

    Holm's correction and the conclusion are over all of it.
    """

    alpha: float
    conclusion: str
    notes: list[str]
    avg_slack: dict[str, float] = msgspec.field(name="avg-slack")
    """How far each system lies behind the best one, averaged over the metrics (CheckDST, table 3)."""
    slices: dict[str, Slices] = {}
    """Each system's scores by slice; nothing of them is tested."""
    stressed: dict[str, VariantComparison] = {}
    """Runs only: the same under each stressor, and for metrics over variants of each of the suite's groups."""
    ranking: Ranking | None = None
    """Of three systems or more: their order by the first metric, all pairs tested, and which do not differ."""

    @property
    def variants(self) -> dict[str, VariantComparison]:
        """The original, and all that is made of it."""
        return {ORIGINAL: self, **self.stressed}

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.systems)} on {self.signature.get('corpus', '?')}: {self.conclusion})"


def compare(
    files: Sequence[str | Path | RunFolder] | Mapping[str, Predictions | RunFolder],
    gold: Gold | None = None,
    convention: str = "",
    metrics: Sequence[str] = (),
    options: ScoringOptions = COMPARING,
    by: Sequence[str] = (),
) -> Comparison:
    """Compare two or more systems on the same gold; the first is the baseline. A mapping names the systems itself.

    Without `gold` the files must all carry the same. With leave to be partial, only turns that all have are compared.
    Runs, or their folders, are compared under every variant that all have, with metrics of pairs and over variants too.
    `by` names slices of files to score as well.
    """
    if isinstance(files, Mapping):
        systems = files
    else:
        paths = [Path(file.path if isinstance(file, RunFolder) else file) for file in files]
        systems = dict(zip(short_names(paths), files, strict=True))
    if len(systems) < 2:
        raise DstressError("a comparison needs two systems or more", fix="give two or more prediction files, or runs")
    runs: dict[str, RunFolder] = {}
    predictions: dict[str, Predictions] = {}
    for name, system in systems.items():
        if isinstance(system, RunFolder):
            runs[name] = system
        elif isinstance(system, str | Path) and is_run(Path(system)):
            runs[name] = RunFolder.open(Path(system))
        else:
            predictions[name] = system
    slices: dict[str, Slices] = {}
    if not runs:
        metrics = metrics or DEFAULT_METRICS
        scored = _score_files(predictions, gold, convention, metrics, options, by)
        versions = {ORIGINAL: scored}
        slices = {name: {cut: _slices_by(cut, system.card, metrics) for cut in by} for name, system in scored.items()}
        notes = [f"{name}: {note}" for name, system in scored.items() for note in system.card.notes]
    elif predictions:
        problem = f"{next(iter(runs))} is a run, and {next(iter(predictions))} is none"
        raise DstressError(problem, fix="compare runs with runs, or prediction files with each other")
    elif gold is not None or options.format or options.allow_partial or by:
        problem = f"{next(iter(runs))} is a run, which has its own gold and all of its answers"
        raise DstressError(problem, fix="compare runs without --gold, --by, --format and --allow-partial")
    else:
        has_groups = any(run.manifest.suite.across for run in runs.values())
        metrics = metrics or (*RUN_METRICS, *(["ss(jga)"] if has_groups else []))
        versions, notes = _judge_runs(runs, convention, metrics, options)

    # From here on files and runs are alike: files are systems on one version of the data.
    alpha = round(1 - options.level, 12)
    compared = _test_pairs(versions, options, alpha)
    ranking = None
    if len(systems) > 2:
        of_units = {
            version: {name: system.measured for name, system in scored.items()}
            for version, scored in versions.items()
            if all(system.joint for system in scored.values())
        }
        ranking = rank_found(metrics[0], of_units, options)
    conclusion = _conclude(compared, alpha, name_variants=bool(runs))
    slack = average_slack({version: of_one.systems for version, of_one in compared.items()})
    avg_slack = dict(zip(systems, slack.values, strict=True))
    notes += [slack.caption] if slack.left_out or any(map(math.isnan, slack.values)) else []
    original = compared.pop(ORIGINAL)
    of_original = original.signature, original.systems, original.pairs
    return Comparison(*of_original, alpha, conclusion, notes, avg_slack, slices, compared, ranking)


class _System(NamedTuple):
    """A system on one version of the data, whether its answers come from a file or from a run."""

    card: Scorecard
    measured: dict[str, Measured]
    slots: dict[str, Floats] = {}  # noqa: RUF012  nobody changes it
    joint: UnitScores | None = None
    """Joint accuracy of every unit; a group of variants has no units, and no slots, of its own."""


def _score_files(
    files: Mapping[str, Predictions],
    gold: Gold | None,
    convention: str,
    metrics: Sequence[str],
    options: ScoringOptions,
    by: Sequence[str],
) -> dict[str, _System]:
    """Score prediction files under one convention, on the turns that all of them have."""
    corpus = open_pair.load_gold(gold)
    loaded = [
        open_pair.load_system(PredictionSource(file, corpus), name, options.format) for name, file in files.items()
    ]
    convention = convention or open_pair.usual_convention(loaded)
    shared = _shared_gold(loaded, options)
    if options.allow_partial:
        loaded = _on_shared_turns(loaded, shared)
    options = msgspec.structs.replace(options, limit=0, draw=0)  # the shared gold is that part already
    systems = {}
    for system in loaded:
        joint = UnitCollector("jga", system.turns)
        with open_pair.located(system.name):
            source = PredictionSource(system.predictions, shared)
            (scored,) = tally_predictions(source, [convention], list(metrics), by, options, [joint])
            if scored.tally.streamed:
                raise DstressError("too many dialogues to compare one by one", fix="compare on a part of them")
        measured = measure_tally(scored.tally, scored.tally.metrics)
        systems[system.name] = _System(scored.card(), measured, scored.tally.slots, joint.scores(shared))
    return systems


def _judge_runs(
    runs: Mapping[str, RunFolder], convention: str, metrics: Sequence[str], options: ScoringOptions
) -> tuple[dict[str, dict[str, _System]], list[str]]:
    """Judge runs on every variant, and group of variants, that all have; and what is to be noted about them."""
    shared, left_out = require_comparable(list(runs.values()), any_convention=bool(convention))
    judged = {name: judge_run(run, options, [convention], shared, metrics)[0] for name, run in runs.items()}
    versions: dict[str, dict[str, _System]] = {}
    for version in next(iter(judged.values())).places:
        cards = {name: run.card(version) for name, run in judged.items()}
        if version == ORIGINAL or any(card.metrics for card in cards.values()):
            versions[version] = {}
            for name, run in judged.items():
                variant = run.variants.get(version)  # none of a group
                of_units = (variant.scored.tally.slots, variant.units()) if variant else ()
                versions[version][name] = _System(cards[name], run.measured(version), *of_units)
    notes = [f"only some of the runs have it: {variant}" for variant in left_out]
    notes += [
        f"{name}: {count:,} turns of {variant} have no answer and count as wrong"
        for name, run in runs.items()
        for variant, count in run.scores.failed.items()
    ]
    notes += gather_notes(judged)
    for baseline, *others in (list(systems.values()) for systems in versions.values()):
        if any(baseline.measured.keys() & other.measured.keys() for other in others):
            return versions, notes
    raise nothing_to_compare(metrics, judged)


def _slices_by(name: str, card: Scorecard, metrics: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """One slice; it must have something of a metric that is compared."""
    keys = card.by(name)
    sliced = dict.fromkeys(metric for values in keys.values() for metric in values if metric != UNITS)
    if sliced and not sliced.keys() & set(metrics):
        possible = ", ".join(metric for metric in sliced if metric in known_metrics)
        raise DstressError(f"{', '.join(metrics)} cannot be cut by {name!r}", fix=f"possible --metrics: {possible}")
    return keys


def average_slack(versions: Mapping[str, Mapping[str, Mapping[str, Score]]]) -> Slack:
    """How far each system lies behind the best, averaged over every metric that any of them has on any version.

    Each version of the data has the systems by name, with their metrics.
    """
    measures = []
    for version, systems in versions.items():
        for metric in dict.fromkeys(metric for scores in systems.values() for metric in scores):
            values = [scores[metric].value if metric in scores else math.nan for scores in systems.values()]
            measures.append((metric if version == ORIGINAL else f"{metric} under {version}", metric, values))
    return slack_behind_best(measures, len(next(iter(versions.values()))))


def _shared_gold(systems: Sequence[LoadedSystem], options: ScoringOptions) -> Corpus:
    """The gold of all systems.

    Sorted by id: resamples go by place, and an interval should not depend on the order of a file.
    """
    corpus = systems[0].corpus.take(options.limit, options.draw, options.seed)
    if systems[0].turns:  # each file carries its gold
        expected = _numbered_states(systems[0])
        for other in systems[1:]:
            states = _numbered_states(other)
            for name, number in (*expected, *states):
                if expected.get((name, number)) != states.get((name, number)):
                    raise PredictionError(
                        f"the gold in this file is not the gold in {systems[0].name}",
                        where=place(other.name, name, number),
                        fix="compare systems on the same data, or name one gold for all with --gold CORPUS:SPLIT",
                    )
    dialogues = sorted(corpus, key=lambda dialogue: dialogue.id)
    shared = Corpus(corpus.name, corpus.split, corpus.schema, lambda: iter(dialogues))
    shared.seen, shared.stressed = corpus.seen, corpus.stressed
    shared.whole, shared.part, shared.open_database = corpus.whole, corpus.part, lambda: corpus.database
    return shared


def _numbered_states(system: LoadedSystem) -> dict[tuple[str, int], State]:
    return {
        (key(dialogue.id), number): turn.state
        for dialogue in system.corpus
        for number, turn in zip(system.turns[key(dialogue.id)], dialogue.turns, strict=True)
    }


def _on_shared_turns(systems: Sequence[LoadedSystem], gold: Corpus) -> list[LoadedSystem]:
    """The systems without their predictions for turns of the gold that another system lacks."""
    turns = {(key(dialogue.id), number) for dialogue in gold for number in range(len(dialogue.turns))}
    predicted = [{(key(answer.dialogue), answer.turn) for answer in system.predictions} for system in systems]
    lacking = turns.difference(set[tuple[str, int]].intersection(*predicted))
    if turns and lacking == turns:
        raise PredictionError("the systems share no turn of the gold", fix="are these runs over the same split?")
    return [
        system._replace(
            predictions=[answer for answer in system.predictions if (key(answer.dialogue), answer.turn) not in lacking]
        )
        for system in systems
    ]


def _test_pairs(
    versions: Mapping[str, Mapping[str, _System]], options: ScoringOptions, alpha: float
) -> dict[str, VariantComparison]:
    """Test every system against the first, on each version of the data."""
    made: dict[tuple[str, str], dict[str, PairedTest]] = {}
    for version, systems in versions.items():
        baseline, *others = systems
        theirs = systems[baseline].measured
        for name in others:
            ours = systems[name].measured
            made[version, name] = {
                metric: ours[metric].test_against(theirs[metric], options) for metric in ours if metric in theirs
            }
    # Every further test makes the others stricter: Holm's correction is over all metrics, pairs and versions.
    corrected = iter(holm([test.p for tests in made.values() for test in tests.values()]))
    compared = {}
    for version, systems in versions.items():
        baseline, *others = systems
        pairs = []
        for name in others:
            tests = {
                metric: Test(**test.tested(p_holm := next(corrected)), significant=p_holm <= alpha)
                for metric, test in made[version, name].items()
            }
            before, after = systems[baseline], systems[name]
            mcnemar_test = _discordance(before.joint, after.joint) if before.joint and after.joint else None
            pairs.append(Pair(baseline, name, tests, mcnemar_test, _slot_changes(before.slots, after.slots)))
        scores = {name: system.card.metrics for name, system in systems.items()}
        compared[version] = VariantComparison(systems[baseline].card.signature, scores, pairs)
    return compared


def _discordance(baseline: UnitScores, system: UnitScores) -> Discordance | None:
    """McNemar's test, where every unit is simply right or wrong."""
    table = paired([baseline.names, system.names], [baseline.values, system.values]).table
    if not np.isin(table, (0.0, 1.0)).all():
        return None
    only_baseline, only_system = (table > table[:, ::-1]).sum(axis=0).tolist()
    return Discordance(only_baseline, only_system, *mcnemar(only_baseline, only_system))


def _slot_changes(baseline: Mapping[str, Floats], system: Mapping[str, Floats]) -> list[SlotChange]:
    def f1(right: float, wrong: float, missed: float, extra: float) -> float:
        """1 where there is nothing to find and nothing was said."""
        filled = 2 * (right + wrong) + missed + extra
        return float(2 * right / filled) if filled else 1.0

    changes = []
    for slot in sorted(baseline.keys() | system.keys()):
        sides = [counts.get(slot, np.zeros(4)).tolist() for counts in (baseline, system)]
        before, after = (f1(*side) for side in sides)
        right, errors = [int(side[0]) for side in sides], [int(sum(side[1:])) for side in sides]
        changes.append(SlotChange(slot, after - before, before, after, *right, *errors))
    return sorted(changes, key=lambda change: -change.difference * change.occurrences)


def _conclude(versions: Mapping[str, VariantComparison], alpha: float, *, name_variants: bool) -> str:
    """The significant differences in words."""
    pairs = [(version, pair) for version, compared in versions.items() for pair in compared.pairs]
    count = sum(not math.isnan(test.p) for _, pair in pairs for test in pair.tests.values())
    tests = f"{count} test{'' if count == 1 else 's'}"
    differences = []
    for version, pair in pairs:
        for word, sign in (("above", 1), ("below", -1)):
            metrics = [
                describe(name) for name, test in pair.tests.items() if test.significant and sign * test.difference > 0
            ]
            if metrics:
                where = f" on {version}" if name_variants else ""
                differences.append(f"{pair.system} is {word} {pair.baseline} in {', '.join(metrics)}{where}")
    if not differences:
        return f"No difference is significant at alpha {alpha:g} after Holm's correction over {tests}."
    return f"Significant at alpha {alpha:g} after Holm's correction over {tests}: {'; '.join(differences)}."
