"""Times of day and dates in an utterance: `17:15`, `5:15 pm`, `quarter past five`, `noon`; `March 8th`, `the 8th`.

A time without morning or evening can be either: "at 5:15" says 05:15 as well as 17:15.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from dstress.text.letters import LetteredText, Place, fold
from dstress.text.numbers import ORDINAL_ENDING, number_words
from dstress.text.tables import read_table

# Expressions over small letters that others build theirs of.
CLOCK = r"\d{1,2}\s?:\s?\d\d"
AM_PM = r"[ap](?:\.\s?m\b\.?|\s?m\b)"
O_CLOCK = r"o\s?[\"'’]?\s?clock"
DAY_PART = r"(?:morning|afternoon|evening|night)"
HALF_OF_DAY = rf"(?:{AM_PM}|in\sthe\s(?:early\s|late\s)?{DAY_PART}|at\snight|this\s(?!night){DAY_PART}|tonight)"
"""What says whether an hour is of the morning or of the evening."""
COUNTED_NOUN = r"(?:peoples?|persons?|nights?|stars?|tickets?|days?|guests?|adults?|passengers?|pounds?|gbp)"
"""What follows a number that is no hour."""
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)

_NOON = 12 * 60
_DAY = 24 * 60


class Clock(NamedTuple):
    """A time of day in minutes; `half` is "am", "pm" or "" where it is open."""

    minutes: int
    half: str

    def says(self, minutes: int) -> bool:
        """Whether this can be meant when a clock of 24 hours shows `minutes`."""
        if self.half or self.minutes >= _NOON + 60:
            return self.minutes % _DAY == minutes % _DAY
        return (self.minutes - minutes) % _NOON == 0


_NAMED = {"noon": _NOON, "midday": _NOON, "midnight": 0}
_HALF = rf"(?: (?P<clock>\s?{O_CLOCK}) | \s?hours? )? (?: ,?\s?(?P<half>{HALF_OF_DAY}) )? (?!\w)"
_DIGITS = re.compile(
    rf"""(?<![\w£$€])(?<!\d[.:,])
    (?: (?P<h>\d{{1,2}})(?:\s?[:.h]\s?|\s(?=00|15|30|45))(?P<m>[0-5]\d)(?!\d|[.,:]\d)
      | (?P<hm>(?:[01]?\d|2[0-4])[0-5]\d)(?!\d|[.,:]\d)
      | (?P<bare>\d{{1,2}})(?!\d|[.:,]\d)
    ) {_HALF}""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"\d+")
_LEAD = re.compile(rf"(?<!\w)({DAY_PART})(?: at)? $")
_LEADS = ("morning ", "noon ", "evening ", "night ", " at ")
_BEFORE_HOUR = re.compile(r"(?<!\w)(?:at|by|after|before|around|until|till|than|between) (?:about |around )?$")
_COUNTED = re.compile(rf"[\s-]?(?:{COUNTED_NOUN}|of us|{ORDINAL_ENDING}\b)")
_REACH = 20
_VALUE_LEAD = re.compile(rf"({DAY_PART})(?: at)? ")


@cache
def calendar_words(kind: str) -> tuple[str, ...]:
    """A list of `calendar.toml`: `weekdays`, `months`, `short_months`, `plain_months` or `relative` days."""
    return tuple(read_table(__package__, "data/calendar.toml")[kind])


@cache
def hour_words() -> str:
    """An expression for the numbers below 24 that are one word, the longest first."""
    return "|".join(sorted((word for word, number in number_words().items() if number < 24), key=len, reverse=True))


@cache
def _words() -> re.Pattern[str]:
    """Times that start with a word: `quarter past five`, `five fifteen`, `noon`, and a number in words."""
    words = number_words()
    hours = rf"twenty[\s-](?:one|two|three)|{hour_words()}"
    tens = "|".join(word for word, number in words.items() if 20 <= number < 60)
    ones = "|".join(word for word, number in words.items() if 0 < number < 10)
    minutes = rf"(?:(?:{tens})(?:[\s-]?(?:{ones}))?|{hours})"
    return re.compile(
        rf"""(?<!\w)
        (?: (?P<named>noon|midday|midnight)
          | (?P<part>(?:a\s)?quarter|half|{minutes}|[0-5]?\d)(?:\sminutes?)?\s(?P<way>past|after|to|till|before)\s
            (?P<of>\d{{1,2}}(?!\d|\s?:)|{hours})
          | half\s(?P<british>\d{{1,2}}(?!\d|\s?:)|{hours})
          | (?P<hour>{hours})[\s-](?:(?:oh?|zero)[\s-])?(?P<minute>{minutes}|[0-5]\d)
          | (?P<bare>{hours})
        ) {_HALF}""",
        re.VERBOSE,
    )


@cache
def time_words() -> frozenset[str]:
    """Words one of which every time in words has."""
    return frozenset((*_NAMED, "quarter", "half", *number_words()))


@lru_cache(maxsize=4096)
def time_hints(minutes: int) -> tuple[str, ...]:
    """Letters one of which a text must have to say a time."""
    hour, minute = divmod(minutes, 60)
    if minute:
        numbers = (minute, 60 - minute)
        hints = [f"{minute:02d}", str(60 - minute), "half" if minute == 30 else "quarter"]
    else:
        numbers = (hour, hour % 12 or 12)
        hints = [*map(str, numbers), *(_NAMED if hour % 12 == 0 else ())]
    parts = {part for number in numbers for part in (number, number // 10 * 10) if part}
    return (*hints, *(word for word, number in number_words().items() if number in parts))


def clock_time(minutes: int) -> str:
    """A time of day as states write it: `19:15`."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def half_day_time(minutes: int, *, whole: bool = False) -> str:
    """A time of day as `7:15 pm`, `7 pm`; `7:00 pm` if `whole`."""
    hour, minute = divmod(minutes, 60)
    half = "am" if hour % 24 < 12 else "pm"
    return f"{hour % 12 or 12}:{minute:02d} {half}" if minute or whole else f"{hour % 12 or 12} {half}"


def find_time(text: LetteredText, minutes: int) -> list[Place]:
    """Where a text says a time of day, in digits; else, in words."""
    for reader in (_in_digits, _in_words):
        if reader not in text.results:
            text.results[reader] = reader(text.folded)
        if places := [place for place, clock in text.results[reader] if clock.says(minutes)]:
            return places
    return []


def _in_digits(folded: str) -> list[tuple[Place, Clock]]:
    times, end = [], 0
    for number in _NUMBER.finditer(folded):  # much faster than to look for a whole time at every character
        match = _DIGITS.match(folded, number.start()) if number.start() >= end else None
        if match and (time := _read_time(folded, match)):
            times.append(time)
            end = match.end()
    return times


def _in_words(folded: str) -> list[tuple[Place, Clock]]:
    if not any(word in folded for word in time_words()):  # much faster than the expression
        return []
    return [time for match in _words().finditer(folded) if (time := _read_time(folded, match))]


def _read_time(folded: str, match: re.Match[str]) -> tuple[Place, Clock] | None:
    start, end = match.span()
    read = match.groupdict()
    left = folded[max(0, start - _REACH) : start]
    lead = _LEAD.search(left) if not read["half"] and left.endswith(_LEADS) else None
    if not (read["clock"] or read["half"] or lead):
        if (read["bare"] or len(read.get("hm") or "") == 3) and not _BEFORE_HOUR.search(left):
            return None
        if read["bare"] and _COUNTED.match(folded, end):
            return None
    clock = _read_clock(read, lead)
    return None if clock is None else ((start - len(lead[0]) if lead else start, end), clock)


def _read_clock(read: dict[str, str | None], lead: re.Match[str] | None) -> Clock | None:
    """The time that the groups of an expression say; `lead` is a part of the day before it."""
    groups = {name: text for name, text in read.items() if text}
    day_part = groups.get("half") or (lead[1] if lead else "")
    half = "am" if re.match(r"a[.\s]?\s?m", day_part) or "morning" in day_part else "pm" if day_part else ""
    if named := groups.get("named"):
        return Clock(_NAMED[named], "am" if named == "midnight" else "pm")
    if "h" in groups:
        hour, minute = int(groups["h"]), int(groups["m"])
    elif "hm" in groups:
        hour, minute = divmod(int(groups["hm"]), 100)
    elif "british" in groups:
        hour, minute = _number(groups["british"]), 30
    elif "of" in groups:
        part, hour = groups["part"].removeprefix("a "), _number(groups["of"])
        minute = {"quarter": 15, "half": 30}.get(part) or _number(part)
        if groups["way"] not in ("past", "after"):
            hour, minute = (hour - 1) % 24, 60 - minute
    elif "hour" in groups:
        hour, minute = _number(groups["hour"]), _number(groups["minute"])
    else:
        hour, minute = _number(groups["bare"]), 0
    if hour > 24 or minute > 59:
        return None
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    # "13:15 in the morning" is said; the number decides.
    return Clock(hour * 60 + minute, half)


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    return sum(number_words()[word] for word in re.split(r"[\s-]+", text))


@lru_cache(maxsize=4096)
def time_of(value: str, *, hours: bool = False) -> int | None:
    """The minutes of a value that is nothing but a time of day; a value is on a clock of 24 hours unless it says.

    A bare number is the hour only if `hours`.
    """
    folded = fold(value).strip()
    lead = _VALUE_LEAD.match(folded)
    spoken = folded[lead.end() :] if lead else folded
    match = _DIGITS.fullmatch(spoken) or _words().fullmatch(spoken)
    if match is None or (match["bare"] and not (hours or lead or match["clock"] or match["half"])):
        return None
    clock = _read_clock(match.groupdict(), lead)
    return None if clock is None else clock.minutes % _DAY


_DATE = re.compile(
    rf"(?<!\w)(?:the\s(?=\d+\s?[a-z]))?(?:(?P<m1>{MONTH})\.?\s(?:the\s)?(?P<d1>[0-3]?\d)(?:\s?{ORDINAL_ENDING})?"
    rf"|(?P<d2>[0-3]?\d)(?:\s?(?P<th>{ORDINAL_ENDING}))?(?:\s(?:of\s)?(?:(?P<m2>{MONTH})|(?P<this>this\smonth)))?)(?!\w)"
)


@lru_cache(maxsize=4096)
def date_of(value: str) -> tuple[str, int] | None:
    """Month (`` if it is left open) and day of a value that is nothing but a date."""
    match = _DATE.fullmatch(fold(value).strip())
    return _date(match) if match else None


def find_date(text: LetteredText, month: str, day: int) -> list[Place]:
    """Where a text says a date. A month that either leaves open can be any."""
    return [
        match.span()
        for match in _DATE.finditer(text.folded)
        if (date := _date(match)) and date[1] == day and (not month or not date[0] or date[0] == month)
    ]


def _date(match: re.Match[str]) -> tuple[str, int] | None:
    month = match["m1"] or match["m2"] or ""
    if not (month or match["th"] or match["this"]):
        return None
    return month[:3], int(match["d1"] or match["d2"])
