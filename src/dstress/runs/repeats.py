"""Several answers to every turn: how far a tracker that is not deterministic agrees with itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb

import msgspec
import numpy as np

from dstress.predictions.base import Prediction
from dstress.scoring.metrics.base import Floats


class Repeats(msgspec.Struct, frozen=True):
    """How far the repeated answers to a variant's turns agree."""

    jga: list[float]
    """Joint goal accuracy, or call accuracy, of each repeat."""
    spread: float
    """The largest of these less the smallest: the noise floor, below which a difference says nothing."""
    differing: float
    """The share of turns whose states are not the same in all repeats."""
    passed: list[float]
    """pass^k for k = 1, 2, ...: the chance that k answers to a turn are all right."""


def compare_repeats(values: Sequence[Floats], answers: Iterable[Sequence[Prediction]]) -> Repeats:
    """`values` are how far the same units are right in each repeat, `answers` those to each turn."""
    units = np.array(values)
    units = units[:, ~np.isnan(units).any(axis=0)]
    jga = units.mean(axis=1)
    differing = [any(_outcome(other) != _outcome(first) for other in others) for first, *others in answers]
    # pass^k without bias: of all ways to choose k of the answers to a unit, the share that is right throughout.
    right, repeats = (units == 1).sum(axis=0), len(units)
    passed = []
    for k in range(1, repeats + 1):
        share = np.array([comb(number, k) / comb(repeats, k) for number in range(repeats + 1)])
        passed.append(float(share[right].mean()))
    return Repeats(jga.tolist(), float(np.ptp(jga)), float(np.mean(differing)), passed)


def _outcome(answer: Prediction) -> tuple[dict[str, str], object, bool]:
    """The state and the calls; one that failed for another reason says no more and no less."""
    return answer.state, answer.calls, bool(answer.failed)
