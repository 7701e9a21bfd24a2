"""Several answers to every turn: how far a tracker that is not deterministic agrees with itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb

import msgspec
import numpy as np

from dstress.metrics.base import Floats
from dstress.predictions.base import Prediction


class Repeats(msgspec.Struct, frozen=True):
    """How far the repeated answers to a variant's turns agree."""

    jga: list[float]
    """Joint goal accuracy of each repeat."""
    spread: float
    """The largest of these less the smallest: the noise floor, below which a difference says nothing."""
    differing: float
    """The share of turns whose states are not the same in all repeats."""
    passed: list[float]
    """pass^k for k = 1, 2, ...: the chance that k answers to a turn are all right."""


def compare_repeats(values: Sequence[Floats], answers: Iterable[Sequence[Prediction]]) -> Repeats:
    """`values` are the joint goal accuracies of the same units in each repeat, `answers` those to each turn."""
    units = np.array(values)
    units = units[:, ~np.isnan(units).any(axis=0)]
    jga = units.mean(axis=1)
    differing = [any(_said(other) != _said(first) for other in others) for first, *others in answers]
    right, most = (units == 1).sum(axis=0), len(units)
    return Repeats(jga.tolist(), float(np.ptp(jga)), float(np.mean(differing)), _all_right(right, most))


def _said(answer: Prediction) -> tuple[dict[str, str], bool]:
    """The state; one that failed for another reason says no more and no less."""
    return answer.state, bool(answer.failed)


def _all_right(right: np.ndarray[tuple[int], np.dtype[np.int_]], of: int) -> list[float]:
    """pass^k without bias: of all ways to choose k of the answers to a unit, the share that is right throughout."""
    shares = [np.array([comb(number, k) / comb(of, k) for number in range(of + 1)]) for k in range(1, of + 1)]
    return [float(share[right].mean()) for share in shares]
