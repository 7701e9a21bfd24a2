"""Numbers as people read them: percent, points, intervals and p-values, on the page and in plain text.

The page has one decimal and the signs of print; plain text, which the console, Markdown and LaTeX share, has two and
only the signs of a keyboard.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dstress.scoring.metrics.base import PERCENT
from dstress.scoring.scorecard import Score, TestedDifference


def say_gains(test: TestedDifference) -> str:
    """How many of the dialogues in which two systems differ favour the system."""
    if test.gains == test.differ:
        return "all gains"
    return f"{test.gains:,} gain{'' if test.gains == 1 else 's'}" if test.gains else "no gain"


class NumberFormat(NamedTuple):
    """How numbers are written. `unknown` stands for a missing number, `no_interval` for a missing interval."""

    digits: int
    minus: str
    unknown: str
    no_interval: str
    zero_has_sign: bool
    p_digits: int
    below: str

    def percent(self, value: float | None, digits: int | None = None) -> str:
        """A fraction in percent, without the percent sign."""
        if value is None or math.isnan(value):
            return self.unknown
        return f"{100 * value + 0.0:.{self.digits if digits is None else digits}f}".replace("-", self.minus)

    def points(self, difference: float | None, digits: int | None = None) -> str:
        """A difference of fractions in percentage points, with its sign."""
        if difference is None or math.isnan(difference):
            return self.unknown
        text = f"{100 * difference + 0.0:+.{self.digits if digits is None else digits}f}"
        if float(text) == 0 and not self.zero_has_sign:
            return text.lstrip("+-")
        return text.replace("-", self.minus)

    def interval(self, low: float | None, high: float | None, digits: int | None = None) -> str:
        """Where a value lies, in percent."""
        return self._between(self.percent(low, digits), self.percent(high, digits))

    def change_interval(self, low: float, high: float) -> str:
        """Where a difference lies, in points. An end that rounds to 0 keeps the sign: it says whether 0 is inside."""
        signed = self._replace(zero_has_sign=True)
        return self._between(signed.points(low), signed.points(high))

    def _between(self, low: str, high: str) -> str:
        """The one way in which an interval is written: a dash could be taken for a minus."""
        return self.no_interval if self.unknown in (low, high) else f"[{low}, {high}]"

    def measured(self, value: float | None, unit: str) -> str:
        """A value in its unit: percent, or as it is."""
        return self.percent(value if unit == PERCENT or value is None else value / 100)

    def with_unit(self, value: float | None, unit: str) -> str:
        """A value in its unit, which is named unless it is percent: that stands above the column."""
        shown = self.measured(value, unit)
        return shown if unit == PERCENT or shown == self.unknown else f"{shown} {unit}"

    def measured_interval(self, low: float, high: float, unit: str) -> str:
        """Where a value lies, in its unit."""
        return self.interval(low, high) if unit == PERCENT else self.interval(low / 100, high / 100)

    def scored(self, score: Score | None, unit: str) -> str:
        """A value in its unit with its interval."""
        if score is None or math.isnan(score.value):
            return self.unknown
        return f"{self.with_unit(score.value, unit)} {self.measured_interval(score.low, score.high, unit)}"

    def measured_change(self, difference: float, unit: str) -> str:
        """A difference in its unit: points of percent, or as it is."""
        return self.points(difference if unit == PERCENT else difference / 100)

    def change(self, test: TestedDifference, unit: str = PERCENT) -> tuple[str, str]:
        """A difference in its unit, and where it lies."""
        low, high = (end if unit == PERCENT else end / 100 for end in (test.low, test.high))
        return self.measured_change(test.difference, unit), self.change_interval(low, high)

    def number(self, n: float) -> str:
        """Over how many units a value is."""
        return self.unknown if math.isnan(n) else f"{n:,.0f}"

    def differing(self, test: TestedDifference) -> str:
        """In how many dialogues two systems differ, in how many of these the system is better, and if that is few."""
        if test.differ is None:
            return self.unknown
        shown = f"{test.differ:,} ({say_gains(test)})" if test.differ else "0"
        return f"{shown}, too few" if test.is_few else shown

    def probability(self, p: float) -> str:
        """A p-value; never `0`."""
        smallest = 10**-self.p_digits
        if math.isnan(p):
            return self.unknown
        return f"{self.below}{smallest:.{self.p_digits}f}" if p < smallest else f"{p:.{self.p_digits}f}"


PAGE = NumberFormat(1, "\N{MINUS SIGN}", "–", "", zero_has_sign=False, p_digits=3, below="< ")
PLAIN = NumberFormat(2, "-", "-", "-", zero_has_sign=True, p_digits=4, below="<")
