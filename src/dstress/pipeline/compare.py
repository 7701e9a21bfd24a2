"""Two or more systems on the same data, side by side.

Whose score is higher, whether that is more than chance, and in which slots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from dstress.alignment.pairing import key
from dstress.analysis.ranking import Ranking, rank_found, slack_behind_best
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, State
from dstress.display import Displayed
from dstress.errors import DstressError, PredictionError, place
from dstress.metrics import metrics as known_metrics
from dstress.metrics.base import Floats
from dstress.metrics.consistency import paired
from dstress.metrics.measures import describe
from dstress.predictions.base import Prediction
from dstress.runs.comparability import require_comparable, short_names
from dstress.runs.folder import ORIGINAL, RunFolder, is_run
from dstress.runs.measured import MeasuredRun, gather_notes, measure_tally, nothing_to_compare
from dstress.scoring.open_pair import (
    Gold,
    LoadedSystem,
    Predictions,
    PredictionSource,
    load_gold,
    load_system,
    located,
    usual_convention,
)
from dstress.scoring.score import COMPARING, Scored, ScoringOptions, tally_predictions
from dstress.scoring.scorecard import UNITS, Score, Scorecard, Slices, TestedDifference
from dstress.scoring.significance import holm, mcnemar, paired_test
from dstress.scoring.unit_scores import UnitCollector, UnitScores

DEFAULT_METRICS = ("jga", "fga", "gca", "slot-f1")
"""Few, since every further test makes the others stricter."""
RUN_METRICS = ("jga", "cjga")
"""Of runs fewer still, since each is tested under every stressor; `ss(jga)` comes with suites that have groups."""


class Test(TestedDifference, frozen=True, kw_only=True):
    """One metric of two systems, the system's value less the baseline's.

    `p` is by approximate randomisation; `p_bootstrap`, by the paired bootstrap, is a second opinion. `significant` goes
    by `p_holm`.
    """

    p_bootstrap: float
    significant: bool


class Discordance(msgspec.Struct, frozen=True):
    """McNemar's test on joint accuracy: units that only one of the two has right. It takes units as independent."""

    only_baseline: int
    only_system: int
    p: float
    method: str


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

    _tabled_by = "dstress.pipeline.tables:comparison_tables"

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
    """Of three systems or more: their order by the first metric, and who cannot be told apart, all pairs tested."""

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
    given = files if isinstance(files, Mapping) else _named(files)
    if len(given) < 2:
        raise DstressError("a comparison needs two systems or more", fix="give two or more prediction files, or runs")
    runs, named = _apart(given)
    if runs:
        if named:
            problem = f"{next(iter(runs))} is a run, and {next(iter(named))} is none"
            raise DstressError(problem, fix="compare runs with runs, or prediction files with each other")
        if gold is not None or options.format or options.allow_partial or by:
            raise DstressError(
                f"{next(iter(runs))} is a run, which has its own gold and all of its answers",
                fix="compare runs without --gold, --by, --format and --allow-partial",
            )
        return _compare_runs(runs, convention, metrics, options)
    metrics = metrics or DEFAULT_METRICS
    corpus = load_gold(gold)
    systems = [
        load_system(PredictionSource(predictions, corpus), name, options.format) for name, predictions in named.items()
    ]
    convention = convention or usual_convention(systems)
    shared, coverage = _shared_gold(systems, options)
    options = msgspec.structs.replace(options, limit=0, draw=0)  # what is shared is that part
    compared = [_scored(system, shared, convention, metrics, options, by) for system in systems]
    if coverage < 1:
        for system in compared:
            system.scored.signature = _with_coverage(system.scored.signature, coverage)
    alpha = round(1 - options.level, 12)
    pairs = _adjusted([_pair(compared[0], system, options) for system in compared[1:]], alpha)
    cards = {system.name: system.scored.card() for system in compared}
    notes = [f"{name}: {note}" for name, card in cards.items() for note in card.notes]
    scores = {name: card.metrics for name, card in cards.items()}
    conclusion = _conclusion({"": pairs}, alpha)
    slack = average_slack(scores)
    slices = {name: {one: _cut(card, one, metrics) for one in by} for name, card in cards.items()}
    signature, first = compared[0].scored.signature, metrics[0]
    measured = {one.name: measure_tally(one.scored.tally, [first]) for one in compared}
    ranking = rank_found(first, {ORIGINAL: measured}, options) if len(measured) > 2 else None
    notes += [ranking.doubt] if ranking and ranking.doubt else []
    return Comparison(signature, scores, pairs, alpha, conclusion, notes, slack, slices, ranking=ranking)


def _cut(card: Scorecard, name: str, metrics: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """One slice; it must have something of a metric that is compared."""
    keys = card.by(name)
    known = dict.fromkeys(metric for values in keys.values() for metric in values if metric != UNITS)
    if known and not known.keys() & set(metrics):
        possible = ", ".join(metric for metric in known if metric in known_metrics)
        raise DstressError(f"{', '.join(metrics)} cannot be cut by {name!r}", fix=f"possible --metrics: {possible}")
    return keys


def average_slack(*versions: Mapping[str, Mapping[str, Score]]) -> dict[str, float]:
    """How far each system lies behind the best, averaged over the metrics in percent; 0 is the best in all.

    Each version of the data has the systems by name, with their metrics.
    """
    measures = [
        (metric, [scores[metric].value for scores in systems.values()])
        for systems in versions
        for metric in next(iter(systems.values()))
        if all(metric in scores for scores in systems.values())
    ]
    return dict(zip(versions[0], slack_behind_best(measures, len(versions[0])), strict=True))


def _named(files: Sequence[str | Path | RunFolder]) -> dict[str, str | Path | RunFolder]:
    paths = [Path(file.path if isinstance(file, RunFolder) else file) for file in files]
    return dict(zip(short_names(paths), files, strict=True))


def _apart(given: Mapping[str, Predictions | RunFolder]) -> tuple[dict[str, RunFolder], dict[str, Predictions]]:
    """Runs, and predictions."""
    runs: dict[str, RunFolder] = {}
    others: dict[str, Predictions] = {}
    for name, system in given.items():
        if isinstance(system, RunFolder):
            runs[name] = system
        elif isinstance(system, str | Path) and is_run(Path(system)):
            runs[name] = RunFolder.open(Path(system))
        else:
            others[name] = system
    return runs, others


def _compare_runs(
    runs: Mapping[str, RunFolder], convention: str, metrics: Sequence[str], options: ScoringOptions
) -> Comparison:
    shared, left_out = require_comparable(list(runs.values()), any_convention=bool(convention))
    has_groups = any(run.manifest.suite.across for run in runs.values())
    metrics = metrics or (*RUN_METRICS, *(["ss(jga)"] if has_groups else []))
    measured = {name: MeasuredRun(run, shared, metrics, options, convention) for name, run in runs.items()}
    baseline, *others = measured
    found: dict[str, VariantComparison] = {}
    for variant in measured[baseline].places:
        cards = {name: run.card(variant) for name, run in measured.items()}
        if variant == ORIGINAL or any(card.metrics for card in cards.values()):
            pairs = [_run_pair(variant, baseline, name, measured, options) for name in others]
            found[variant] = VariantComparison(
                cards[baseline].signature, {name: card.metrics for name, card in cards.items()}, pairs
            )
    if not any(pair.tests for one in found.values() for pair in one.pairs):
        raise nothing_to_compare(metrics, measured)
    notes = [f"only some of the runs have it: {variant}" for variant in left_out]
    for name, run in runs.items():
        failed = run.scores.failed.items()
        notes += [
            f"{name}: {count:,} turns of {variant} have no answer and count as wrong" for variant, count in failed
        ]
    notes += gather_notes(measured)
    alpha = round(1 - options.level, 12)
    adjusted = iter(_adjusted([pair for one in found.values() for pair in one.pairs], alpha))
    found = {
        variant: msgspec.structs.replace(one, pairs=[next(adjusted) for _ in others]) for variant, one in found.items()
    }
    conclusion = _conclusion({variant: one.pairs for variant, one in found.items()}, alpha)
    slack = average_slack(*(one.systems for one in found.values()))
    versions = {variant: {name: run.measured(variant) for name, run in measured.items()} for variant in shared}
    ranking = rank_found(metrics[0], versions, options) if len(measured) > 2 else None
    notes += [ranking.doubt] if ranking and ranking.doubt else []
    original = found.pop(ORIGINAL)
    scored = (original.signature, original.systems, original.pairs)
    return Comparison(*scored, alpha, conclusion, notes, slack, stressed=found, ranking=ranking)


def _run_pair(
    variant: str, baseline: str, system: str, runs: Mapping[str, MeasuredRun], options: ScoringOptions
) -> Pair:
    before, after = runs[baseline], runs[system]
    ours, theirs = after.measured(variant), before.measured(variant)
    made = {name: ours[name].test_against(theirs[name], options) for name in ours if name in theirs}
    tests = {
        name: Test(**test.tested(test.p), p_bootstrap=test.p_bootstrap, significant=False)
        for name, test in made.items()
    }
    if variant not in before.scored:
        return Pair(baseline, system, tests, None, [])
    slots = _slot_changes(before.scored[variant].tally.slots, after.scored[variant].tally.slots)
    return Pair(baseline, system, tests, _discordance(before.joint(variant), after.joint(variant)), slots)


def _shared_gold(systems: Sequence[LoadedSystem], options: ScoringOptions) -> tuple[Corpus, float]:
    """The gold of all systems, and which share of its turns all of them have.

    Sorted by id: the resampling tests go by place, and their answer should not depend on the order of a file.
    """
    corpus = systems[0].corpus.take(options.limit, options.draw, options.seed)
    if systems[0].turns:
        for other in systems[1:]:
            _require_same_gold(systems[0], other)
    dialogues = sorted(corpus, key=lambda dialogue: dialogue.id)
    turns = sum(len(dialogue.turns) for dialogue in dialogues)
    if options.allow_partial:
        dialogues = _trimmed(dialogues, [_turns_by_dialogue(system.predictions) for system in systems])
    kept = sum(len(dialogue.turns) for dialogue in dialogues)
    if turns and not kept:
        raise PredictionError("the systems share no turn of the gold", fix="are these runs over the same split?")
    shared = Corpus(corpus.name, corpus.split, corpus.schema, lambda: iter(dialogues))
    shared.seen, shared.stressed = corpus.seen, corpus.stressed
    shared.whole, shared.part, shared.open_database = corpus.whole, corpus.part, lambda: corpus.database
    return shared, kept / max(1, turns)


def _require_same_gold(first: LoadedSystem, other: LoadedSystem) -> None:
    expected, found = _numbered_states(first), _numbered_states(other)
    for name, number in (*expected, *found):
        if expected.get((name, number)) != found.get((name, number)):
            raise PredictionError(
                f"the gold in this file is not the gold in {first.name}",
                where=place(other.name, name, number),
                fix="compare systems on the same data, or name one gold for all with --gold CORPUS:SPLIT",
            )


def _numbered_states(system: LoadedSystem) -> dict[tuple[str, int], State]:
    return {
        (key(dialogue.id), number): turn.state
        for dialogue in system.corpus
        for number, turn in zip(system.turns[key(dialogue.id)], dialogue.turns, strict=True)
    }


def _turns_by_dialogue(predictions: Iterable[Prediction]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for prediction in predictions:
        found.setdefault(key(prediction.dialogue), set()).add(prediction.turn)
    return found


def _trimmed(dialogues: Iterable[Dialogue], predicted: Sequence[dict[str, set[int]]]) -> list[Dialogue]:
    """Of each dialogue the turns before the first that a system lacks, as when one system is scored in part."""
    kept = []
    for dialogue in dialogues:
        turns = set.intersection(*(found.get(key(dialogue.id), set()) for found in predicted))
        length = next((index for index in range(len(dialogue.turns)) if index not in turns), len(dialogue.turns))
        if length:
            kept.append(msgspec.structs.replace(dialogue, turns=dialogue.turns[:length]))
    return kept


class _System(NamedTuple):
    """A system as it is compared: its tally, and which units it has right."""

    name: str
    scored: Scored
    joint: UnitScores


def _scored(
    system: LoadedSystem,
    gold: Corpus,
    convention: str,
    metrics: Sequence[str],
    options: ScoringOptions,
    by: Sequence[str],
) -> _System:
    joint = UnitCollector("jga", system.turns)
    with located(system.name):
        source = PredictionSource(system.predictions, gold)
        (scored,) = tally_predictions(source, [convention], list(metrics), by, options, [joint])
        if scored.tally.streamed:
            raise DstressError("too many dialogues to compare one by one", fix="compare on a part of them")
    return _System(system.name, scored, joint.scores(gold))


def _with_coverage(signature: dict[str, str], coverage: float) -> dict[str, str]:
    parts = ("boot", "seed", "data", "stress", "dstress")
    last = {name: value for name, value in signature.items() if name in parts}
    return {**{n: v for n, v in signature.items() if n not in last}, "coverage": f"{coverage:.4f}", **last}


def _pair(baseline: _System, system: _System, options: ScoringOptions) -> Pair:
    before, after = baseline.scored.tally, system.scored.tally
    tests = {}
    for name in before.metrics:
        test = paired_test(after, before, name, options.resamples, options.seed, options.level)
        tests[name] = Test(**test.tested(test.p), p_bootstrap=test.p_bootstrap, significant=False)
    slots = _slot_changes(before.slots, after.slots)
    return Pair(baseline.name, system.name, tests, _discordance(baseline.joint, system.joint), slots)


def _discordance(baseline: UnitScores, system: UnitScores) -> Discordance | None:
    """McNemar's test, where every unit is simply right or wrong."""
    table = paired([baseline.names, system.names], [baseline.values, system.values]).table
    if not np.isin(table, (0.0, 1.0)).all():
        return None
    only_baseline, only_system = (table > table[:, ::-1]).sum(axis=0).tolist()
    return Discordance(only_baseline, only_system, *mcnemar(only_baseline, only_system))


def _slot_changes(baseline: Mapping[str, Floats], system: Mapping[str, Floats]) -> list[SlotChange]:
    changes = []
    for slot in sorted(baseline.keys() | system.keys()):
        before, after = (counts.get(slot, np.zeros(4)) for counts in (baseline, system))
        scores = (_f1(before), _f1(after))
        right, errors = ((int(row[0]) for row in (before, after)), (int(row[1:].sum()) for row in (before, after)))
        changes.append(SlotChange(slot, scores[1] - scores[0], *scores, *right, *errors))
    return sorted(changes, key=lambda change: -change.difference * change.occurrences)


def _f1(counts: Floats) -> float:
    """F1 from right, wrong, missed, extra; 1 where there is nothing to find and nothing was said."""
    right, wrong, missed, extra = counts.tolist()
    filled = 2 * (right + wrong) + missed + extra
    return float(2 * right / filled) if filled else 1.0


def _adjusted(pairs: Sequence[Pair], alpha: float) -> list[Pair]:
    """Holm's correction over every metric of every pair, in the order given."""
    corrected = iter(holm([test.p for pair in pairs for test in pair.tests.values()]))
    adjusted = []
    for pair in pairs:
        tests = {
            name: msgspec.structs.replace(test, p_holm=(p := next(corrected)), significant=p <= alpha)
            for name, test in pair.tests.items()
        }
        adjusted.append(msgspec.structs.replace(pair, tests=tests))
    return adjusted


def _conclusion(pairs: Mapping[str, Sequence[Pair]], alpha: float) -> str:
    """The significant differences in words; pairs by the variant that they are of."""
    made = (test for found in pairs.values() for pair in found for test in pair.tests.values())
    count = sum(not math.isnan(test.p) for test in made)
    tests = f"{count} test{'' if count == 1 else 's'}"
    found = [
        f"{sentence} on {variant}" if variant else sentence
        for variant, of_variant in pairs.items()
        for pair in of_variant
        for sentence in _differences(pair)
    ]
    if not found:
        return f"No difference is significant at alpha {alpha:g} after Holm's correction over {tests}."
    return f"Significant at alpha {alpha:g} after Holm's correction over {tests}: {'; '.join(found)}."


def _differences(pair: Pair) -> Iterator[str]:
    for word, sign in (("above", 1), ("below", -1)):
        tests = pair.tests.items()
        metrics = [describe(n) for n, test in tests if test.significant and sign * test.difference > 0]
        if metrics:
            yield f"{pair.system} is {word} {pair.baseline} in {', '.join(metrics)}"
