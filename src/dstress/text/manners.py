"""Another time or date in the manner of one that is shown: `quarter to 9` for `quarter to 6`, `8 pm` for `5 pm`."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import NamedTuple

from dstress.text.letters import fold
from dstress.text.numbers import ORDINAL_ENDING, ordinal, spell
from dstress.text.times import DAY_PART, HALF_OF_DAY, MONTH, O_CLOCK, calendar_words, date_of, hour_words, time_of
from dstress.text.writing_style import copy_capitals

_REMEMBERED = 16_384
_NOON, _DAY = 12, 24
_NAMED_TIMES = range(7 * 60, 23 * 60, 5)
"""The times of day that people name, in minutes."""
_PARTS = {"morning": range(7, 12), "afternoon": range(13, 18), "evening": range(18, 22), "night": range(21, 24)}
_YEAR = 2021  # any year of 365 days, as is the one after it: the dates of states name none
_LAST_DAY, _LONGEST_MONTH = 28, 31
"""A day that every month has, and the days that some have."""
_DATE = re.compile(
    rf"(?P<month>{MONTH}\b)?(?P<between>\W*)(?P<day>[0-3]?\d)(?P<ending>\s?{ORDINAL_ENDING})?(?P<of>\s(?:of\s)?)?"
    rf"(?P<behind>{MONTH}\b|this\smonth)?",
    re.IGNORECASE,
)
_UNMOVED = re.compile(r"\b(?:after|later|earlier)\b", re.IGNORECASE)  # nobody says "later tomorrow"
_THE = re.compile(r"the\s", re.IGNORECASE)


class _Manner(NamedTuple):
    """How a time is said: its parts, "quarter to" and its like, the part of the day, and what its hour says alone."""

    match: re.Match[str]
    part: str
    day_part: str
    counted: int


@cache
def _time_pattern() -> re.Pattern[str]:
    """A part of the day, minutes in words, an hour, minutes in digits, and what says the half of the day."""
    return re.compile(
        rf"(?P<lead>{DAY_PART},?\s(?:at\s)?)?(?P<part>(?:a\s)?(?:quarter|half)\s(?:past|to|after|before)\s)?"
        rf"(?P<hour>\d{{1,2}}|{hour_words()})(?P<clock>[:.][0-5]\d)?"
        rf"(?P<rest>(?:\s?{O_CLOCK})?(?:\s?{HALF_OF_DAY})?)",
        re.IGNORECASE,
    )


@lru_cache(maxsize=_REMEMBERED)
def times_like(shown: str, own: int) -> dict[int, str]:
    """The times of day, in minutes, that can be said in the manner of `shown`, which says `own`; and their words."""
    manner = _read_manner(shown)
    return {new: words for new in _NAMED_TIMES if (words := _write_time(manner, own, new))} if manner else {}


@lru_cache(maxsize=_REMEMBERED)
def write_time_like(shown: str, own: int, new: int) -> str:
    """The time `new` in the manner of `shown`, which says `own`; empty where it cannot be said so."""
    manner = _read_manner(shown)
    return _write_time(manner, own, new) if manner else ""


def _write_time(manner: _Manner, own: int, new: int) -> str:
    match, part, day_part, counted = manner
    hour, minute = divmod(new, 60)
    clock, shown_hour = match["clock"], match["hour"]
    if minute and not part and not clock:
        return ""
    if part:
        to = part.split()[-1] in ("to", "before")
        if minute != (30 if "half" in part else 45 if to else 15):
            return ""
        hour += to
    if day_part and new // 60 not in _PARTS[day_part]:
        return ""
    # "5:15" for 17:15 and "5 in the evening" count to twelve, and stay in their half of the day.
    if part or not clock or match["lead"] or match["rest"] or counted != own // 60 * 60:
        if (new // 60 < _NOON) != (own // 60 < _NOON):
            return ""
        hour = hour % _NOON or _NOON
    number = f"{hour:02d}" if shown_hour.startswith("0") else str(hour)
    if not shown_hour.isdecimal():
        number = copy_capitals(shown_hour, spell(hour), name=False)
    shown_minute = f"{clock[0]}{minute:02d}" if clock else ""
    return (match["lead"] or "") + (match["part"] or "") + number + shown_minute + match["rest"]


@lru_cache(maxsize=_REMEMBERED)
def _read_manner(shown: str) -> _Manner | None:
    match = _time_pattern().fullmatch(shown)
    if match is None:
        return None
    day_part = re.search(DAY_PART, fold(shown))
    counted = time_of(f"{match['hour']} o'clock") or 0
    return _Manner(match, fold(match["part"] or ""), day_part[0] if day_part else "", counted)


def days_between(first: str, second: str) -> int | None:
    """About how many days after one date another is; None where one is no date. An open month is the other's."""
    one, other = date_of(first), date_of(second)
    if one is None or other is None:
        return None
    months = _month_number(other[0]) - _month_number(one[0]) if one[0] and other[0] else 0
    return 31 * months + other[1] - one[1]


@cache
def _month_number(start: str) -> int:
    """A month by its first three letters, from 1 on."""
    return next(number for number, name in enumerate(calendar_words("months"), 1) if name.startswith(start))


@lru_cache(maxsize=_REMEMBERED)
def dates_like(shown: str) -> tuple[str, ...]:
    """Other dates in the manner of `shown`, day after day from it on, through a year or the month that it leaves open.

    So two dates that become the equally manieth of their lists keep the days between them. A day of the week gives the
    other six, today and tomorrow each other.
    """
    return tuple(_shift_weekday(shown) if date_of(shown) is None else _shift_date(shown))


def _shift_date(shown: str) -> Iterator[str]:
    month, day = date_of(shown) or ("", 0)
    the = _THE.match(shown)
    start = the.end() if the else 0
    match = _DATE.fullmatch(shown, start)
    if match is None:
        return
    numbers = [ordinal(number) if match["ending"] else str(number) for number in range(_LONGEST_MONTH + 1)]
    before, between, after, behind = (match[name] or "" for name in ("month", "between", "of", "behind"))
    if not month:
        for days in range(1, _LAST_DAY):
            yield f"{shown[:start]}{before}{between}{numbers[(day + days - 1) % _LAST_DAY + 1]}{after}{behind}"
        return
    said = before or behind
    months = calendar_words("months")
    names = [copy_capitals(said, name[:3] if len(said) == 3 and month != "may" else name) for name in months]
    for new_month, new_day in _days_after(_month_number(month), day):
        if before:
            before = names[new_month - 1]
        else:
            behind = names[new_month - 1]
        yield f"{shown[:start]}{before}{between}{numbers[new_day]}{after}{behind}"


def _days_after(month: int, day: int) -> list[tuple[int, int]]:
    """The other days of a year, from the one after a date on."""
    days = _days_of_two_years()
    first = days.index((month, min(day, monthrange(_YEAR, month)[1])))
    return days[first + 1 : first + 365]


@cache
def _days_of_two_years() -> list[tuple[int, int]]:
    """Month and day of each."""
    days = (date(_YEAR, 1, 1) + timedelta(days=days) for days in range(2 * 365))
    return [(day.month, day.day) for day in days]


def _shift_weekday(shown: str) -> Iterator[str]:
    for group in (calendar_words("weekdays"), ("today", "tomorrow")):
        for number, word in enumerate(group):
            match = re.search(rf"\b{word}\b", shown, re.IGNORECASE)
            if match and not _UNMOVED.search(shown):
                for other in (*group[number + 1 :], *group[:number]):
                    yield shown[: match.start()] + copy_capitals(match[0], other) + shown[match.end() :]
                return
