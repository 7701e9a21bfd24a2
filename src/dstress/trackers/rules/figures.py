"""Times, dates and numbers in a row of words: where they are. What they mean, `dstress.text.times` knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from dstress.text import times
from dstress.text.numbers import ORDINAL_ENDING, number_of, number_words
from dstress.trackers.rules.words import Words, word_set, words_of_match

_DECIDED = re.compile(rf"[:.]|noon|midday|midnight|\d{{3}}|m$|{times.DAY_PART}")
_DIGIT = re.compile(r"\d")
_CROWD = 60


class Figure(NamedTuple):
    """Words `first` to `last` (exclusive) say a time, a date or a number; `value` is its normal form.

    `either` marks a spoken time that may be of the morning or of the evening: `half past seven`.
    """

    kind: str
    first: int
    last: int
    value: str
    either: bool = False


@cache
def _time_pattern() -> re.Pattern[str]:
    half = rf"(?:\ {times.HALF_OF_DAY})?"
    hour = rf"(?:\d{{1,2}}|{times.hour_words()})"
    minute = rf"(?:(?:twenty|thirty|forty|fifty)(?: (?:five|one|two))?|fifteen|ten|twenty five|oh five|{hour})"
    return re.compile(
        rf"""(?<!\S)(?:
          (?P<time>
            noon|midday|midnight
          | (?:(?:a\ )?quarter|half|{minute})(?:\ minutes?)?\ (?:past|to|till|before|after)\ {hour}{half}
          | \d{{1,2}}[:.]\d\d(?:\ o\ clock)?{half}
          | {hour}(?:\ {minute})?\ (?:o\ clock{half}|hours|{times.HALF_OF_DAY})
          )
        | (?:at|by|after|before|around|until|till|than|past)\ (?:about\ |around\ |like\ )?
          (?P<bare>\d{{3,4}}|{hour}(?:\ (?:thirty|fifteen|forty\ five))?)
          (?!\ (?:{times.HALF_OF_DAY}|o\ clock|\d|past|to\ \d)(?!\S))
          (?!\ (?:{times.COUNTED_NOUN}|{ORDINAL_ENDING}|of|different|other|or)\b)
        )(?!\S)""",
        re.VERBOSE,
    )


_DATE = re.compile(
    rf"(?<!\S)(?:(?:the )?\d{{1,2}}(?: {ORDINAL_ENDING})?(?: of)? {times.MONTH}"
    rf"|{times.MONTH} (?:the )?\d{{1,2}}(?: {ORDINAL_ENDING})?"
    rf"|(?:the )?\d{{1,2}} {ORDINAL_ENDING}(?: of this month)?)(?!\S)"
)


def figures(words: Words) -> list[Figure]:
    """All dates, times and numbers, in this order; none overlap."""
    if times.time_words().isdisjoint(words.words) and not _DIGIT.search(words.text):
        return []
    taken: set[int] = set()
    free = []
    for figure in _find(words):
        if taken.isdisjoint(range(figure.first, figure.last)):
            taken.update(range(figure.first, figure.last))
            free.append(figure)
    return free


def _find(words: Words) -> Iterator[Figure]:
    for match in _DATE.finditer(words.row):
        if date := times.date_of(match[0]):
            month = next((name for name in times.calendar_words("months") if date[0] and name.startswith(date[0])), "")
            yield Figure("date", *words_of_match(match), f"{date[1]} {month}".strip())
    for match in _time_pattern().finditer(words.row):
        name = "time" if match["time"] else "bare"
        minutes = times.time_of(match[name], hours=True)
        first, last = words_of_match(match, name)
        # A bare hour: `at 5 on monday`, not `at 5 Pond Close`.
        ends_phrase = (
            last == len(words)
            or words.clauses[last] != words.clauses[last - 1]
            or words.words[last] in word_set("boundaries")
        )
        if minutes is not None and (name == "time" or ends_phrase):
            either = not _DECIDED.search(match[name]) and 0 < minutes // 60 < 12
            yield Figure("time", first, last, times.clock_time(minutes), either)
    for at, word in enumerate(words.words):
        if word.isdecimal() or word in number_words():
            number = number_of(word)
            if number is not None and number <= _CROWD:
                yield Figure("number", at, at + 1, f"{number:g}")


def evening(time: str) -> str:
    """The same time of the evening."""
    hour, _, minute = time.partition(":")
    return f"{int(hour) + 12 if int(hour) < 12 else int(hour):02d}:{minute}"
