"""Do a metric's values depend on where in a dialogue the mistakes lie? The study of GCA, section 5.2.

A mistake is a change that GCA counts as missed, wrong or overshot, in the turn in which it is made. Its two traits of a
dialogue should not move a metric that is about how many mistakes there are; the study measures how far they do.
The authors' own figures stand on two systems together, and on dialogues in which the two metrics differ; here every
system is measured by itself, on all of its dialogues that have a mistake (docs/metrics/bias.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np

from dstress.alignment.cells import Alignment
from dstress.analysis.bias import fisher_interval, pearson, zou_interval
from dstress.analysis.systems import System
from dstress.errors import DstressError
from dstress.metrics.base import Floats
from dstress.metrics.granular import change_counts
from dstress.runs.folder import ORIGINAL
from dstress.scoring.resampling import evaluate

TRAITS = {"to": "tail-orientation", "nu": "non-uniformity"}
"""Both traits by their names in JSON."""


class DialogueMistakes(msgspec.Struct, frozen=True):
    """A dialogue with a mistake at least: where they lie, and what each metric says of it."""

    dialogue: str
    turns: int
    mistakes: int
    to: float
    nu: float
    values: dict[str, float]


class Correlation(msgspec.Struct, frozen=True):
    """Pearson's correlation of a trait with a metric, over dialogues, with Fisher's interval."""

    trait: str
    metric: str
    correlation: float
    low: float
    high: float
    dialogues: int


class CorrelationDifference(msgspec.Struct, frozen=True):
    """A trait's correlation with one metric less that with another, with Zou's interval."""

    trait: str
    metric: str
    against: str
    difference: float
    low: float
    high: float
    between: float
    dialogues: int

    @property
    def is_significant(self) -> bool:
        """Whether the interval leaves 0 out; false where it is unknown."""
        return self.low > 0 or self.high < 0


class BiasStudy(msgspec.Struct, frozen=True):
    """One system's answers to one variant: every dialogue with a mistake, correlations and their differences."""

    system: str
    variant: str
    signature: dict[str, str]
    faultless: int
    """Dialogues without a mistake, which have neither trait and are left out."""
    metrics: list[str]
    dialogues: list[DialogueMistakes]
    correlations: list[Correlation]
    differences: list[CorrelationDifference]
    notes: list[str] = []

    def disagreements(self, first: str, second: str, most: int = 20) -> list[DialogueMistakes]:
        """The dialogues on which two metrics disagree most, as the paper's twenty of section 5.2."""
        known = [one for one in self.dialogues if not math.isnan(one.values[first] - one.values[second])]
        return sorted(known, key=lambda one: -abs(one.values[first] - one.values[second]))[:most]


def tail_orientation(mistakes: Sequence[float] | Floats) -> float:
    """TO (equations 7 and 8) from the number of mistakes in each turn: how far from the middle they are made, in turns,
    over the number of turns. Above 0 they are late, below 0 early; undefined without a mistake.
    """
    counts = np.asarray(mistakes, np.float64)
    turns, total = len(counts), counts.sum()
    return float((np.arange(turns) @ counts / total - (turns - 1) / 2) / turns) if total else math.nan


def non_uniformity(mistakes: Sequence[float] | Floats) -> float:
    """NU (equations 9 and 10) from the same: 0 where every turn makes as many; undefined without a mistake."""
    counts = np.asarray(mistakes, np.float64)
    expected = counts.mean() if len(counts) else 0.0
    return float(np.abs(counts - expected).sum() / expected) if expected else math.nan


class _Mistakes:
    """Watches alignments and keeps the mistakes of every dialogue, turn by turn."""

    def __init__(self) -> None:
        self.by_dialogue: list[Floats] = []

    def __call__(self, alignment: Alignment) -> None:
        """Take the dialogues of one alignment in."""
        made = change_counts(alignment)[:, 1:].sum(axis=1)
        by_turn = np.bincount(alignment.unit_turn, made, len(alignment.columns.turns))
        self.by_dialogue.extend(np.split(by_turn, np.cumsum(alignment.columns.turn_counts)[:-1]))


def study_bias(system: System, metrics: Sequence[str], against: str, variant: str = ORIGINAL) -> BiasStudy:
    """Correlate every metric with both traits; each correlation is tested against that of one metric."""
    watched = _Mistakes()
    wanted = list(dict.fromkeys((*metrics, against)))
    scored = system.judge(variant, wanted, [watched])
    tally = scored.tally
    if tally.streamed:
        raise DstressError("there are too many dialogues to keep", where=system.name, fix="study a part of them")
    if against not in tally.metrics:
        raise DstressError(f"{against} cannot be computed: {scored.missing.get(against, '')}", where=system.name)
    values = {name: evaluate(metric.value, tally.totals(name)) for name, metric in tally.metrics.items()}
    rows = [
        DialogueMistakes(
            dialogue,
            len(mistakes),
            int(mistakes.sum()),
            tail_orientation(mistakes),
            non_uniformity(mistakes),
            {name: float(column[place]) for name, column in values.items()},
        )
        for place, (dialogue, mistakes) in enumerate(zip(tally.dialogues, watched.by_dialogue, strict=True))
        if mistakes.sum()
    ]
    names = list(values)
    others = [name for name in names if name != against]
    return BiasStudy(
        system.name,
        variant,
        scored.signature,
        len(tally.dialogues) - len(rows),
        names,
        rows,
        [_correlate(rows, trait, name) for trait, name in product(TRAITS, names)],
        [_compare(rows, trait, name, against) for trait, name in product(TRAITS, others)],
        scored.notes,
    )


def _columns(rows: Sequence[DialogueMistakes], trait: str, *metrics: str) -> list[Floats]:
    """A trait and metrics, over the dialogues in which all of them are defined."""
    table = np.array([[getattr(row, trait), *(row.values[name] for name in metrics)] for row in rows], np.float64)
    table = table.reshape(-1, 1 + len(metrics))
    return list(table[np.isfinite(table).all(axis=1)].T)


def _correlate(rows: Sequence[DialogueMistakes], trait: str, metric: str) -> Correlation:
    x, y = _columns(rows, trait, metric)
    correlation = pearson(x, y)
    return Correlation(trait, metric, correlation, *fisher_interval(correlation, len(x)), len(x))


def _compare(rows: Sequence[DialogueMistakes], trait: str, metric: str, against: str) -> CorrelationDifference:
    x, y, other = _columns(rows, trait, metric, against)
    first, second, between = pearson(x, y), pearson(x, other), pearson(y, other)
    low, high = zou_interval(first, second, between, len(x))
    return CorrelationDifference(trait, metric, against, first - second, low, high, between, len(x))
