"""Several runs side by side: a tracker on stressed data, a tracker on schema variants, two or more systems.

`conditional` and `variants` are about one tracker on several versions of the data, unit by unit. `compare` is about
several systems on the same data: whose score is higher, whether that is more than chance, and in which slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from dstress import corpora
from dstress._version import __version__
from dstress.alignment import Alignment
from dstress.columns import gather
from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, State
from dstress.errors import DstressError, PredictionError, place
from dstress.gold import own_gold
from dstress.metrics import metrics as known_metrics
from dstress.metrics.base import Floats, Metric
from dstress.metrics.consistency import Cjga, ConsistentJga, Names, OverRuns, PairedUnits, paired
from dstress.metrics.sensitivity import DiffRel, OverVariants, Sensitivity
from dstress.metrics.significance import approximate_randomisation, holm, mcnemar, paired_bootstrap
from dstress.metrics.statistics import bca_interval, evaluate, percentile_interval, resampled_sums
from dstress.pairing import Pairing, key
from dstress.predictions import detect, formats
from dstress.predictions.base import Prediction
from dstress.scorecard import Score, Scorecard, signature_text
from dstress.scoring import Options, Scored, tallied
from dstress.sources import open_source

DEFAULT_METRICS = ("jga", "fga", "gca", "slot-f1")
"""Few, since every further test makes the others stricter."""
OPTIONS = Options(resamples=10_000)
"""More resamples than a single score needs: a p-value is never smaller than one over their number."""
_BATCH = 1000

Predictions = str | Path | Iterable[Prediction]


class Run(NamedTuple):
    """Predictions, as a file or themselves, and the gold that they answer to; without gold, the file's own."""

    predictions: Predictions
    gold: str | Corpus | None = None


class Test(msgspec.Struct, frozen=True):
    """One metric of two systems: the system's value less the baseline's, and how likely chance alone gives as much.

    `p` is by approximate randomisation, `p_bootstrap` by the paired bootstrap, whose interval `low` to `high` is.
    `p_holm` is `p` after Holm's correction over all tests of the comparison; `significant` goes by it.
    """

    difference: float
    low: float
    high: float
    p: float
    p_bootstrap: float
    p_holm: float
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


class Pair(msgspec.Struct, frozen=True):
    """A system against the baseline. `slots` goes from the largest gain to the largest loss in F1."""

    baseline: str
    system: str
    tests: dict[str, Test]
    mcnemar: Discordance | None
    slots: list[SlotChange]


class Comparison(msgspec.Struct, frozen=True):
    """Two or more systems on the same gold. The first is the baseline of every pair. Values are fractions."""

    signature: dict[str, str]
    systems: dict[str, dict[str, Score]]
    pairs: list[Pair]
    alpha: float
    conclusion: str
    notes: list[str]


def conditional(original: Run, stressed: Run, convention: str = "", options: Options = OPTIONS) -> Scorecard:
    """CheckDST's `cjga` and `consistent-jga` of one tracker on a test set and on its stressed copy.

    Units pair by dialogue, turn and, where the convention scores frames, service; files may hold a part of the turns.
    """
    held = [_held(run, options, f"run {number}") for number, run in enumerate((original, stressed), start=1)]
    text = convention or _usual(held)
    judged = [_judged(run, text, known_metrics.create("jga"), options, by_service=True) for run in held]
    return _card(held, judged, [Cjga(), ConsistentJga()], {"conv": text}, options)


def variants(
    runs: Sequence[Run],
    original: Run | None = None,
    metric: str = "jga",
    convention: str = "",
    options: Options = OPTIONS,
) -> Scorecard:
    """SGD-X's `jga-v1-5` and `ss(jga)` of one tracker over schema variants, and with the original `diff-rel`.

    Units pair by dialogue, turn and position of the frame, since a variant renames the services. Units for which the
    metric is undefined (average goal accuracy of an empty gold) are left out. All scores are over the same units.
    """
    if len(runs) < 2:
        raise DstressError(f"{len(runs)} variants do not show variation", fix="give two or more, SGD-X has five")
    held = [_held(run, options, f"variant {number}") for number, run in enumerate(runs, start=1)]
    first = [] if original is None else [_held(original, options, "original")]
    text = convention or _usual(first + held)
    made = known_metrics.create(metric)
    judged = [_judged(run, text, made, options, by_service=False) for run in first + held]
    found: list[OverRuns] = [OverVariants(metric), Sensitivity(metric)]
    parts = {"variants": str(len(runs)), "conv": text}
    card = _card(held, judged[len(first) :], found, parts, options)
    if first:
        relative = _card(first, judged, [DiffRel()], parts, options)
        card.metrics["diff-rel"] = relative["diff-rel"]
        card.notes.extend(note for note in relative.notes if note not in card.notes)
    return card


def compare(
    files: Sequence[str | Path] | Mapping[str, Predictions],
    gold: str | Corpus | None = None,
    convention: str = "",
    metrics: Sequence[str] = DEFAULT_METRICS,
    options: Options = OPTIONS,
) -> Comparison:
    """Compare two or more systems on the same gold; the first is the baseline. A mapping names the systems itself.

    Without `gold` the files must all carry the same. With leave to be partial, only turns that all have are compared.
    """
    given = files if isinstance(files, Mapping) else dict(zip(_names_of(files), files, strict=True))
    if len(given) < 2:
        raise DstressError("a comparison needs two systems or more", fix="give two or more prediction files")
    corpus = corpora.load(gold) if isinstance(gold, str) else gold
    systems = [_held(Run(predictions, corpus), options, name) for name, predictions in given.items()]
    text = convention or _usual(systems)
    shared, coverage = _shared_gold(systems, options)
    scored = [_scored(system, shared, text, metrics, options) for system in systems]
    if coverage < 1:
        for one in scored:
            one.signature = _with_coverage(one.signature, coverage)
    joint = [_judged(system._replace(corpus=shared), text, known_metrics.create("jga"), options) for system in systems]
    pairs = [
        _pair((systems[0].name, systems[i].name), (scored[0], scored[i]), (joint[0], joint[i]), options)
        for i in range(1, len(systems))
    ]
    alpha = round(1 - options.level, 12)
    pairs = _adjusted(pairs, alpha)
    cards = {system.name: one.card() for system, one in zip(systems, scored, strict=True)}
    notes = [f"{name}: {note}" for name, card in cards.items() for note in card.notes]
    scores = {name: card.metrics for name, card in cards.items()}
    return Comparison(scored[0].signature, scores, pairs, alpha, _conclusion(pairs, alpha), notes)


class _Held(NamedTuple):
    """A run in memory: its gold, and, where that is the file's own, the turn numbers that the file had."""

    name: str
    predictions: list[Prediction]
    corpus: Corpus
    usual: str
    numbers: dict[str, list[int]]


class _Judged(NamedTuple):
    """What a metric says of each unit of a run."""

    names: Names
    values: Floats
    unit: str


def _held(run: Run, options: Options, name: str) -> _Held:
    corpus = corpora.load(run.gold) if isinstance(run.gold, str) else run.gold
    if not isinstance(run.predictions, str | Path):
        predictions, usual = list(run.predictions), "exact"
    else:
        with open_source(run.predictions) as source:
            reader = formats.create(options.format) if options.format else detect(source)
            predictions, usual = list(reader.read(source, corpus.schema if corpus else None)), reader.convention
            if corpus is None and not reader.carries_gold:
                problem = f"the format {reader.name!r} carries no gold"
                raise PredictionError(problem, where=str(run.predictions), fix="name the gold, CORPUS:SPLIT")
    if corpus is not None:
        return _Held(name, predictions, corpus, usual, {})
    numbers: dict[str, list[int]] = {}
    for prediction in predictions:
        numbers.setdefault(key(prediction.dialogue), []).append(prediction.turn)
    called = Path(run.predictions).name if isinstance(run.predictions, str | Path) else name
    corpus, numbered = own_gold(called, predictions)
    return _Held(name, numbered, corpus, usual, {dialogue: sorted(turns) for dialogue, turns in numbers.items()})


def _usual(held: Sequence[_Held]) -> str:
    """The convention of the scripts that read such files, if it is one."""
    found = dict.fromkeys(run.usual for run in held)
    if len(found) > 1:
        raise PredictionError(
            f"these files are usually scored in different ways: {', '.join(found)}", fix="name one with --convention"
        )
    return next(iter(found))


def _judged(run: _Held, text: str, metric: Metric, options: Options, *, by_service: bool = True) -> _Judged:
    convention = conventions.create(text)
    pairing = Pairing(run.corpus, run.predictions, run.corpus.schema)
    names: list[str] = []
    values: list[Floats] = []
    for alignment in _alignments(pairing, run.corpus, convention):
        if reason := metric.missing(alignment):
            raise PredictionError(f"{metric.name} cannot be computed: {reason}", where=run.name)
        names += _unit_names(alignment, run.numbers, by_turn=metric.by_turn, by_service=by_service)
        values.append(evaluate(metric.value, metric.statistics(alignment)))
    _check(pairing, convention, run, options)
    unit = "turn" if metric.by_turn else convention.unit
    return _Judged(np.array(names, np.str_), np.concatenate(values), unit)


def _alignments(pairing: Pairing, corpus: Corpus, convention: Convention) -> Iterator[Alignment]:
    arriving = iter(pairing)
    while batch := list(islice(arriving, _BATCH)):
        yield Alignment(gather(corpus.schema, batch), convention)


def _check(pairing: Pairing, convention: Convention, run: _Held, options: Options) -> None:
    with _located(run.name):
        if not pairing.coverage.turns:
            found = pairing.coverage.misfits.describe() or "it is empty"
            raise PredictionError(f"no prediction fits the gold: {found}", fix="is this the right corpus and split?")
        if not options.allow_partial:
            pairing.require_complete(schema_only=convention.within_schema)


def _unit_names(
    alignment: Alignment, numbers: dict[str, list[int]], *, by_turn: bool, by_service: bool
) -> Iterator[str]:
    """`dialogue/turn/part`; the part is the frame's service, or its position where services have other names."""
    columns = alignment.columns
    ids = [key(dialogue) for dialogue in columns.dialogues]
    by_frame = alignment.convention.unit == "frame" and not by_turn
    turns = alignment.unit_turn if by_frame else np.arange(len(columns.turns))
    position = np.arange(len(turns)) - np.searchsorted(turns, turns)
    for unit, turn in enumerate(turns.tolist()):
        dialogue, index = ids[columns.turn_dialogue[turn]], int(columns.turn_index[turn])
        number = numbers[dialogue][index] if dialogue in numbers else index
        part = columns.services[alignment.unit_service[unit]] if by_frame and by_service else position[unit]
        yield f"{dialogue}/{number}/{part}"


def _card(
    held: Sequence[_Held], judged: Sequence[_Judged], found: Sequence[OverRuns], parts: dict[str, str], options: Options
) -> Scorecard:
    """Scores of metrics over the runs' shared units, with intervals over dialogues."""
    units = paired([run.names for run in judged], [run.values for run in judged])
    defined = np.asarray(~np.isnan(units.table).any(axis=1), np.bool_)
    if not defined.any():
        raise PredictionError("the runs share no unit", fix="are these runs over versions of the same dialogues?")
    notes = [f"{units.left_out:,} units without a partner in every run are left out"] if units.left_out else []
    if undefined := len(defined) - int(defined.sum()):
        notes.append(f"{undefined:,} units for which the metric is undefined are left out")
    units = PairedUnits(units.names[defined], units.table[defined], units.left_out)
    corpus = held[0].corpus
    signature = {"corpus": f"{corpus.name}.{corpus.split}" if corpus.split else corpus.name}
    signature |= {"units": str(len(units.names)), "unpaired": str(units.left_out), **parts, "unit": judged[0].unit}
    signature |= {"boot": f"{options.interval}.{options.resamples}", "seed": str(options.seed), "dstress": __version__}
    scores = {metric.name: _score(metric, units, signature, options) for metric in found}
    return Scorecard(signature, scores, notes=notes)


def _score(metric: OverRuns, units: PairedUnits, signature: dict[str, str], options: Options) -> Score:
    _, dialogue = np.unique([name.rsplit("/", 2)[0] for name in units.names], return_inverse=True)
    statistics = metric.statistics(units.table)
    totals: Floats = np.column_stack([np.bincount(dialogue, column) for column in statistics.T]).astype(np.float64)
    resampled = resampled_sums(totals, options.resamples, options.seed)
    if options.interval == "bca":
        low, high = bca_interval(totals, resampled, metric.value, options.level)
    else:
        low, high = percentile_interval(resampled, metric.value, options.level)
    sums = totals.sum(axis=0)
    return Score(float(metric.value(sums)), low, high, metric.count(sums), signature_text(metric.name, signature))


@contextmanager
def _located(name: str) -> Iterator[None]:
    """Say whose fault it is, where a message does not: several systems are in play."""
    try:
        yield
    except DstressError as error:
        error.where = error.where or name
        raise


def _names_of(files: Sequence[str | Path]) -> list[str]:
    """Files by their names without endings; by their paths where two would be called the same."""
    short = [Path(file).name.partition(".")[0] or str(file) for file in files]
    names = [name if short.count(name) == 1 else str(file) for name, file in zip(short, files, strict=True)]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise DstressError(f"{doubled} is given twice", fix="give each prediction file once")
    return names


def _shared_gold(systems: Sequence[_Held], options: Options) -> tuple[Corpus, float]:
    """The gold of all systems, and which share of its turns all of them have.

    Sorted by id: the resampling tests go by place, and their answer should not depend on the order of a file.
    """
    corpus = systems[0].corpus
    if systems[0].numbers:
        for other in systems[1:]:
            _require_same_gold(systems[0], other)
    dialogues = sorted(corpus, key=lambda dialogue: dialogue.id)
    turns = sum(len(dialogue.turns) for dialogue in dialogues)
    if options.allow_partial:
        dialogues = _trimmed(dialogues, [_turns_by_dialogue(system.predictions) for system in systems])
    kept = sum(len(dialogue.turns) for dialogue in dialogues)
    if turns and not kept:
        raise PredictionError("the systems share no turn of the gold", fix="are these runs over the same split?")
    return Corpus(corpus.name, corpus.split, corpus.schema, lambda: iter(dialogues)), kept / max(1, turns)


def _require_same_gold(first: _Held, other: _Held) -> None:
    expected, found = _numbered_states(first), _numbered_states(other)
    for name, number in (*expected, *found):
        if expected.get((name, number)) != found.get((name, number)):
            raise PredictionError(
                f"the gold in this file is not the gold in {first.name}",
                where=place(other.name, name, number),
                fix="compare systems on the same data, or name one gold for all with --gold CORPUS:SPLIT",
            )


def _numbered_states(run: _Held) -> dict[tuple[str, int], State]:
    return {
        (key(dialogue.id), number): turn.state
        for dialogue in run.corpus
        for number, turn in zip(run.numbers[key(dialogue.id)], dialogue.turns, strict=True)
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


def _scored(system: _Held, gold: Corpus, convention: str, metrics: Sequence[str], options: Options) -> Scored:
    with _located(system.name):
        (scored,) = tallied(system.predictions, gold, [convention], list(metrics), (), options)
        if scored.tally.streamed:
            raise DstressError("too many dialogues to compare one by one", fix="compare on a part of them")
    return scored


def _with_coverage(signature: dict[str, str], coverage: float) -> dict[str, str]:
    last = {name: signature[name] for name in ("boot", "seed", "dstress")}
    return {**{n: v for n, v in signature.items() if n not in last}, "coverage": f"{coverage:.4f}", **last}


def _pair(
    names: tuple[str, str], scored: tuple[Scored, Scored], joint: tuple[_Judged, _Judged], options: Options
) -> Pair:
    baseline, system = (one.tally for one in scored)
    tests = {
        name: _test(system.totals(name), baseline.totals(name), metric, options)
        for name, metric in baseline.metrics.items()
    }
    return Pair(*names, tests, _discordance(*joint), _slot_changes(baseline.slots, system.slots))


def _test(system: Floats, baseline: Floats, metric: Metric, options: Options) -> Test:
    shared = (system, baseline, metric.value, options.resamples, options.seed)
    bootstrap, randomised = paired_bootstrap(*shared, options.level), approximate_randomisation(*shared)
    return Test(bootstrap.difference, *bootstrap.interval, randomised.p, bootstrap.p, randomised.p, False)


def _discordance(baseline: _Judged, system: _Judged) -> Discordance | None:
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
    return sorted(changes, key=lambda change: -change.difference)


def _f1(counts: Floats) -> float:
    """F1 from right, wrong, missed, extra; 1 where there is nothing to find and nothing was said."""
    right, wrong, missed, extra = counts.tolist()
    said = 2 * (right + wrong) + missed + extra
    return float(2 * right / said) if said else 1.0


def _adjusted(pairs: Sequence[Pair], alpha: float) -> list[Pair]:
    """Holm's correction over every metric of every pair, in the order given."""
    corrected = iter(holm([test.p for pair in pairs for test in pair.tests.values()]))
    adjusted = []
    for pair in pairs:
        tests = {name: _with_holm(test, next(corrected), alpha) for name, test in pair.tests.items()}
        adjusted.append(msgspec.structs.replace(pair, tests=tests))
    return adjusted


def _with_holm(test: Test, p: float, alpha: float) -> Test:
    return msgspec.structs.replace(test, p_holm=p, significant=p <= alpha)


def _conclusion(pairs: Sequence[Pair], alpha: float) -> str:
    tests = sum(len(pair.tests) for pair in pairs)
    found = [sentence for pair in pairs for sentence in _differences(pair)]
    if not found:
        return f"No difference is significant at alpha {alpha:g} after Holm's correction over {tests} tests."
    return f"Significant at alpha {alpha:g} after Holm's correction over {tests} tests: {'; '.join(found)}."


def _differences(pair: Pair) -> Iterator[str]:
    for word, sign in (("above", 1), ("below", -1)):
        metrics = [n for n, test in pair.tests.items() if test.significant and sign * test.difference > 0]
        if metrics:
            yield f"{pair.system} is {word} {pair.baseline} in {', '.join(metrics)}"
