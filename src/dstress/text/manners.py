"""Another time or date in the manner of one that is shown: `quarter to 9` for `quarter to 6`, `8 pm` for `5 pm`."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache, lru_cache

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
_LAST_DAY = 28
"""A day that every month has."""
_DATE = re.compile(
    rf"(?P<month>{MONTH}\b)?(?P<between>\W*)(?P<day>[0-3]?\d)(?P<ending>\s?{ORDINAL_ENDING})?(?P<of>\s(?:of\s)?)?"
    rf"(?P<behind>{MONTH}\b|this\smonth)?",
    re.IGNORECASE,
)
_UNMOVED = re.compile(r"\b(?:after|later|earlier)\b", re.IGNORECASE)  # nobody says "later tomorrow"
_THE = re.compile(r"the\s", re.IGNORECASE)


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
    return {new: words for new in _NAMED_TIMES if (words := write_time_like(shown, own, new))}


def write_time_like(shown: str, own: int, new: int) -> str:
    """The time `new` in the manner of `shown`, which says `own`; empty where it cannot be said so."""
    match, day_part, counted = _read_manner(shown)
    if match is None:
        return ""
    hour, minute = divmod(new, 60)
    part, clock, shown_hour = fold(match["part"] or ""), match["clock"], match["hour"]
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
def _read_manner(shown: str) -> tuple[re.Match[str] | None, str, int]:
    """How a time is said: its parts, the part of the day, and what its hour says alone."""
    match = _time_pattern().fullmatch(shown)
    if match is None:
        return None, "", 0
    day_part = re.search(DAY_PART, fold(shown))
    return match, day_part[0] if day_part else "", time_of(f"{match['hour']} o'clock") or 0


def days_between(first: str, second: str) -> int | None:
    """About how many days after one date another is; None where one is no date. An open month is the other's."""
    start, end = date_of(first), date_of(second)
    if start is None or end is None:
        return None
    months = _month_number(end[0]) - _month_number(start[0]) if start[0] and end[0] else 0
    return 31 * months + end[1] - start[1]


def _month_number(start: str) -> int:
    """A month by its first three letters, from 1 on."""
    return [name[:3] for name in calendar_words("months")].index(start) + 1


@lru_cache(maxsize=_REMEMBERED)
def dates_like(shown: str) -> tuple[str, ...]:
    """Other dates in the manner of `shown`, day after day from it on, through a year or the month that it leaves open.

    So two dates at the same place of their lists keep the days between them. A day of the week gives the
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
    before, between, after, behind = (match[name] or "" for name in ("month", "between", "of", "behind"))
    days = [(0, (day + number - 1) % _LAST_DAY + 1) for number in range(1, _LAST_DAY)]
    names = [""]
    if month:
        own_month = before or behind
        months = calendar_words("months")
        size = 3 if len(own_month) == 3 and month != "may" else None
        names += [copy_capitals(own_month, name[:size]) for name in months]
        # The other days of a year, from the one after the date on.
        number = _month_number(month)
        own = date(_YEAR, number, min(day, monthrange(_YEAR, number)[1]))
        days = [((other := own + timedelta(days=later)).month, other.day) for later in range(1, 365)]
    for new_month, new_day in days:
        first, last = (names[new_month], behind) if before else ("", names[new_month] or behind)
        shown_day = ordinal(new_day) if match["ending"] else str(new_day)
        yield f"{shown[:start]}{first}{between}{shown_day}{after}{last}"


def _shift_weekday(shown: str) -> Iterator[str]:
    for group in (calendar_words("weekdays"), ("today", "tomorrow")):
        for number, word in enumerate(group):
            match = re.search(rf"\b{word}\b", shown, re.IGNORECASE)
            if match and not _UNMOVED.search(shown):
                for other in (*group[number + 1 :], *group[:number]):
                    yield shown[: match.start()] + copy_capitals(match[0], other) + shown[match.end() :]
                return
