"""Numbers as a report prints them: percent and points with one decimal, true minus signs, p-values that stay honest."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
_SMALLEST_P = 0.001


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in percent, without the sign."""
    if value is None or math.isnan(value):
        return "–"
    return f"{100 * value:.{digits}f}".replace("-", MINUS)


def points(difference: float | None, digits: int = 1) -> str:
    """A difference of fractions in percentage points, with its sign; a zero has none."""
    if difference is None or math.isnan(difference):
        return "–"
    text = f"{100 * difference:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def interval(low: float, high: float) -> str:
    """Where a value lies, in percent."""
    return "" if math.isnan(low) or math.isnan(high) else f"{percent(low)} – {percent(high)}"


def change_interval(low: float, high: float) -> str:
    """Where a difference lies, in points."""
    return "" if math.isnan(low) or math.isnan(high) else f"{points(low)} to {points(high)}"


def probability(p: float) -> str:
    """A p-value; never `0`."""
    return f"< {_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.3f}"


def count(number: float) -> str:
    """A whole number with its thousands apart."""
    return f"{number:,.0f}"
