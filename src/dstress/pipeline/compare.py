"""Two or more systems on the same data, side by side.

Whose score is higher, whether that is more than chance, and in which slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from dstress import corpora
from dstress.alignment.pairing import key
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, State
from dstress.errors import DstressError, PredictionError, place
from dstress.metrics import metrics as known_metrics
from dstress.metrics.base import Floats, Metric
from dstress.metrics.consistency import paired
from dstress.predictions.base import Prediction
from dstress.scoring.score import Options, Scored, tallied
from dstress.scoring.scorecard import Score
from dstress.scoring.significance import approximate_randomisation, holm, mcnemar, paired_bootstrap
from dstress.scoring.systems import OPTIONS, Held, Judged, Predictions, Run, hold, judge, located, usual_convention

DEFAULT_METRICS = ("jga", "fga", "gca", "slot-f1")
"""Few, since every further test makes the others stricter."""


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


class Comparison(msgspec.Struct, frozen=True):
    """Two or more systems on the same gold. The first is the baseline of every pair. Values are fractions."""

    signature: dict[str, str]
    systems: dict[str, dict[str, Score]]
    pairs: list[Pair]
    alpha: float
    conclusion: str
    notes: list[str]


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
    systems = [hold(Run(predictions, corpus), options, name) for name, predictions in given.items()]
    text = convention or usual_convention(systems)
    shared, coverage = _shared_gold(systems, options)
    scored = [_scored(system, shared, text, metrics, options) for system in systems]
    if coverage < 1:
        for one in scored:
            one.signature = _with_coverage(one.signature, coverage)
    joint = [judge(system._replace(corpus=shared), text, known_metrics.create("jga"), options) for system in systems]
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


def _names_of(files: Sequence[str | Path]) -> list[str]:
    """Files by their names without endings; by their paths where two would be called the same."""
    short = [Path(file).name.partition(".")[0] or str(file) for file in files]
    names = [name if short.count(name) == 1 else str(file) for name, file in zip(short, files, strict=True)]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise DstressError(f"{doubled} is given twice", fix="give each prediction file once")
    return names


def _shared_gold(systems: Sequence[Held], options: Options) -> tuple[Corpus, float]:
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


def _require_same_gold(first: Held, other: Held) -> None:
    expected, found = _numbered_states(first), _numbered_states(other)
    for name, number in (*expected, *found):
        if expected.get((name, number)) != found.get((name, number)):
            raise PredictionError(
                f"the gold in this file is not the gold in {first.name}",
                where=place(other.name, name, number),
                fix="compare systems on the same data, or name one gold for all with --gold CORPUS:SPLIT",
            )


def _numbered_states(run: Held) -> dict[tuple[str, int], State]:
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


def _scored(system: Held, gold: Corpus, convention: str, metrics: Sequence[str], options: Options) -> Scored:
    with located(system.name):
        (scored,) = tallied(system.predictions, gold, [convention], list(metrics), (), options)
        if scored.tally.streamed:
            raise DstressError("too many dialogues to compare one by one", fix="compare on a part of them")
    return scored


def _with_coverage(signature: dict[str, str], coverage: float) -> dict[str, str]:
    last = {name: signature[name] for name in ("boot", "seed", "dstress")}
    return {**{n: v for n, v in signature.items() if n not in last}, "coverage": f"{coverage:.4f}", **last}


def _pair(
    names: tuple[str, str], scored: tuple[Scored, Scored], joint: tuple[Judged, Judged], options: Options
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


def _discordance(baseline: Judged, system: Judged) -> Discordance | None:
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
        return f"No difference is significant at alpha {alpha:g} after Holm's correction over {_counted(tests)}."
    return f"Significant at alpha {alpha:g} after Holm's correction over {_counted(tests)}: {'; '.join(found)}."


def _counted(tests: int) -> str:
    return f"{tests} test{'s' if tests > 1 else ''}"


def _differences(pair: Pair) -> Iterator[str]:
    for word, sign in (("above", 1), ("below", -1)):
        metrics = [n for n, test in pair.tests.items() if test.significant and sign * test.difference > 0]
        if metrics:
            yield f"{pair.system} is {word} {pair.baseline} in {', '.join(metrics)}"
