"""Numbers as people read them: percent, points, intervals and p-values, on the page and in plain text.

The page has one decimal and the signs of print; plain text, which the console, Markdown and LaTeX share, has two and
only the signs of a keyboard.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dstress.metrics.base import PERCENT

_ROUNDING = 1e-9


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

    def measured_change(self, difference: float, unit: str) -> str:
        """A difference in its unit: points of percent, or as it is."""
        return self.points(difference if unit == PERCENT else difference / 100)

    def measured_change_interval(self, low: float, high: float, unit: str) -> str:
        """Where a difference lies, in its unit."""
        return self.change_interval(low, high) if unit == PERCENT else self.change_interval(low / 100, high / 100)

    def number(self, n: float) -> str:
        """Over how many units a value is."""
        return self.unknown if math.isnan(n) else f"{n:,.0f}"

    def probability(self, p: float, *, at_floor: bool = False) -> str:
        """A p-value; never `0`, and at the floor of resampling `<`: more resamples would have made it smaller."""
        smallest = 10**-self.p_digits
        if math.isnan(p):
            return self.unknown
        if at_floor and smallest <= p < 1:
            return f"{self.below}{math.ceil(p / smallest - _ROUNDING) * smallest:.{self.p_digits}f}"
        return f"{self.below}{smallest:.{self.p_digits}f}" if p < smallest else f"{p:.{self.p_digits}f}"


PAGE = NumberFormat(1, "\N{MINUS SIGN}", "–", "", zero_has_sign=False, p_digits=3, below="< ")
PLAIN = NumberFormat(2, "-", "-", "-", zero_has_sign=True, p_digits=4, below="<")
