"""Do a metric's values depend on where in a dialogue the mistakes lie? The study of GCA, section 5.2.

A mistake is a change that GCA counts as missed, wrong or spurious, in the turn in which it is made. Its two traits of a
dialogue should not move a metric that is about how many mistakes there are; the study measures how far they do.
The authors' own figures stand on two systems together, and on dialogues in which the two metrics differ; here every
system is measured by itself, on all of its dialogues that have a mistake (docs/metrics/bias.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from dstress.errors import DstressError
from dstress.reports.analysis.systems import JudgedSystem
from dstress.runs.folder import ORIGINAL
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.granular import change_counts
from dstress.scoring.resampling import UNKNOWN, Interval, evaluate

TRAITS = {"to": "tail-orientation", "nu": "non-uniformity"}
"""Both traits by their names in JSON."""
_REACH = NormalDist().inv_cdf((1 + 0.95) / 2)
"""Standard errors to each side of a 95 % interval."""


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
        gaps = [(abs(row.values[first] - row.values[second]), row) for row in self.dialogues]
        ranked = sorted((gap for gap in gaps if not math.isnan(gap[0])), key=lambda gap: -gap[0])
        return [row for _, row in ranked[:most]]


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


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation; nan where one side does not vary or there are fewer than two pairs."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    first, second = first - first.mean(), second - second.mean()
    correlation = float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))
    return max(-1.0, min(1.0, correlation))


def fisher_interval(correlation: float, pairs: int) -> Interval:
    """Fisher's (1921) 95 % interval of a correlation; unknown with fewer than four pairs."""
    if pairs < 4 or math.isnan(correlation):
        return UNKNOWN
    if abs(correlation) >= 1:
        return Interval(correlation, correlation)
    centre, width = math.atanh(correlation), _REACH / math.sqrt(pairs - 3)
    return Interval(math.tanh(centre - width), math.tanh(centre + width))


def zou_interval(first: float, second: float, between: float, pairs: int) -> Interval:
    """Zou's (2007) 95 % interval for `first - second`, two correlations that share a variable, as GCA 5.2 uses it.

    `first` is the correlation of the shared variable (say, turn offset) with one variable (FGA), `second` that with
    the other (GCA), `between` that of the two others. ("Toward using confidence intervals to compare correlations",
    Psychological Methods 12, 399-413; GCA cites it as 2008.) The difference is significant where 0 lies outside. The
    ends join the Fisher intervals of both, less what their own correlation shares. Unknown with fewer than four pairs.
    """
    if pairs < 4 or math.isnan(first + second + between):
        return UNKNOWN
    # How the two correlations are correlated, after Olkin & Siotani; one that is exact does not vary.
    unexplained, left_over = (1 - first**2) * (1 - second**2), 1 - first**2 - second**2 - between**2
    shared = ((between - first * second / 2) * left_over + between**3) / unexplained if unexplained > 0 else 0.0

    def join(width: float, other: float) -> float:
        return math.sqrt(max(0.0, width**2 + other**2 - 2 * shared * width * other))

    ends, other_ends = fisher_interval(first, pairs), fisher_interval(second, pairs)
    down = join(first - ends.low, other_ends.high - second)
    up = join(ends.high - first, second - other_ends.low)
    return Interval(first - second - down, first - second + up)


def study_bias(system: JudgedSystem, metrics: Sequence[str], against: str, variant: str = ORIGINAL) -> BiasStudy:
    """Correlate every metric with both traits; each correlation is tested against that of one metric."""
    by_dialogue: list[Floats] = []

    def keep_mistakes(alignment: Alignment) -> None:
        """Keep the mistakes of every dialogue of an alignment, turn by turn."""
        made = change_counts(alignment)[:, 1:].sum(axis=1)
        by_turn = np.bincount(alignment.unit_turn, made, len(alignment.columns.turns))
        by_dialogue.extend(np.split(by_turn, np.cumsum(alignment.columns.turn_counts)[:-1]))

    scored = system.judge(variant, list(dict.fromkeys((*metrics, against))), [keep_mistakes])
    tally = scored.tally
    if tally.streamed:
        raise DstressError("there are too many dialogues to keep", where=system.name, fix="study a part of them")
    if against not in tally.metrics:
        raise DstressError(f"{against} cannot be computed: {scored.missing.get(against, '')}", where=system.name)
    values = {name: evaluate(metric.value, tally.totals(name)) for name, metric in tally.metrics.items()}
    rows = []
    for place, (dialogue, mistakes) in enumerate(zip(tally.dialogues, by_dialogue, strict=True)):
        if count := int(mistakes.sum()):
            traits = tail_orientation(mistakes), non_uniformity(mistakes)
            own = {name: float(column[place]) for name, column in values.items()}
            rows.append(DialogueMistakes(dialogue, len(mistakes), count, *traits, own))

    def defined(trait: str, *names: str) -> list[Floats]:
        """A trait and metrics, over the dialogues in which all of them are defined."""
        table = np.array([[getattr(row, trait), *(row.values[name] for name in names)] for row in rows], np.float64)
        table = table.reshape(-1, 1 + len(names))
        return list(table[np.isfinite(table).all(axis=1)].T)

    correlations, differences = [], []
    for trait, name in product(TRAITS, values):
        x, y = defined(trait, name)
        correlation = pearson(x, y)
        correlations.append(Correlation(trait, name, correlation, *fisher_interval(correlation, len(x)), len(x)))
        if name != against:
            x, y, other = defined(trait, name, against)
            first, second, between = pearson(x, y), pearson(x, other), pearson(y, other)
            ends = zou_interval(first, second, between, len(x))
            differences.append(CorrelationDifference(trait, name, against, first - second, *ends, between, len(x)))
    faultless = len(tally.dialogues) - len(rows)
    study = list(values), rows, correlations, differences
    return BiasStudy(system.name, variant, scored.signature, faultless, *study, scored.notes)
