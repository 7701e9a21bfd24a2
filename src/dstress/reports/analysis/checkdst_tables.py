"""What CheckDST's tables say of several systems: medians over seeds, who is best and worst, slack behind the best.

("CheckDST: Measuring Real-World Generalization of Dialogue State Tracking Performance")
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.metrics.measures import measure_of

BEST, WORST = "best", "worst"
SLACK = "avg-slack"


class Summary(NamedTuple):
    """A measure over the seeds of a system."""

    median: float
    error: float
    """The seeds' sample standard deviation over sqrt(seeds), as in table 2; not a number with a single seed."""
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Of one value for each seed."""
        error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return cls(float(np.median(values)), error, min(values), max(values))


def mark_ends(summaries: Mapping[str, Summary], sign: int) -> dict[str, str]:
    """The marks of tables 2, 4 and 5: the best system, and all whose median -+ standard error overlaps the best one's;
    likewise the worst. Whoever overlaps with both is neither.

    (The caption says "overlap ... with the best/worst score"; we read that as interval against interval.) Touching
    counts as overlap; an unknown error counts as 0.
    """

    def overlap_with_top(sign: int) -> set[str]:
        centres = np.array([sign * summary.median for summary in summaries.values()])
        widths = np.nan_to_num([summary.error for summary in summaries.values()])
        lower_end = (centres - widths)[centres == centres.max()].min()
        reaching = centres + widths >= lower_end - 1e-9 * max(1.0, abs(lower_end))  # but for rounding
        return {name for name, reaches in zip(summaries, reaching, strict=True) if reaches}

    best, worst = overlap_with_top(sign), overlap_with_top(-sign)
    return {name: BEST if name in best else WORST for name in summaries if (name in best) != (name in worst)}


class Slack(NamedTuple):
    """How far each system lies behind the best, averaged over the same measures for all; 0 is the best in every one.

    A system that lacks one of the measures has none (nan), and changes nothing for the others.
    """

    values: list[float]
    measures: list[str]
    left_out: dict[str, str]
    """Measures that cannot be averaged, and why."""

    @property
    def caption(self) -> str:
        """What is averaged, and what is not."""
        if not self.measures:
            return f"{SLACK}: no measure that it could be of"
        reasons: dict[str, list[str]] = {}
        for measure, why in self.left_out.items():
            reasons.setdefault(why, []).append(measure)
        left_out = "".join(f"; without {', '.join(names)} ({why})" for why, names in reasons.items())
        return f"{SLACK}: mean distance to the best in {', '.join(self.measures)}{left_out}"


def slack_behind_best(measures: Sequence[tuple[str, str, Sequence[float]]], systems: int) -> Slack:
    """The average slack (table 3) of measures: each by its name, its metric, and a value for each system.

    From the rounded medians of table 5 this gives the few-shot column to 0.02 for six of seven systems (not SimpleTOD:
    13.49, printed 14.11); the full-shot column (from table 2) differs by up to 0.8, so the authors used other numbers
    there than those they print.
    """
    left_out, kept = {}, {}
    for name, metric, values in measures:
        if measure_of(metric).of_data:
            left_out[name] = "of the data"
        elif measure_of(metric).unit != PERCENT:
            left_out[name] = "no percent"
        elif not np.isfinite(values).any():
            left_out[name] = "no system has it"
        else:
            kept[name] = (measure_of(metric).sign, values)
    if not kept:
        return Slack([math.nan] * systems, [], left_out)
    signs, scores = zip(*kept.values(), strict=True)
    gains = np.transpose(scores) * np.array(signs, np.float64)
    best = np.where(np.isnan(gains), -np.inf, gains).max(axis=0)
    return Slack((best - gains).mean(axis=1).tolist(), list(kept), left_out)
