"""Whether words say a goal: all of it, and nothing plainly beyond it.

`find_unsaid` is CoCo's slot-value match filter against de-generation (section 4.3): every value that must be in the
user's words is. Yes and no are said by what they are about, as the paper does for parking and wifi. `find_oversaid` is
a check of ours against plain over-generation, before any classifier: a time, a day or a count that the goal does not
have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from dstress.dialogue import DONTCARE
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.goals import is_bare_answer, is_flag
from dstress.text import inflection as surface
from dstress.text.letters import fold
from dstress.text.mentions import find_value, merge_places
from dstress.text.numbers import number_words
from dstress.text.times import AM_PM, CLOCK, calendar_words, date_of

_NO = frozenset({"no", "nope"})
_YES = re.compile(r"(?:yes|yeah|yep|yup|sure|ok|okay|certainly|absolutely|of course|great|perfect|sounds|that)\b")
_SEEKS = re.compile(
    r"\b(?:(?:looking|search|searching) for|find|something|somewhere|any|are there)\b"
    r"|\ba (?:place|hotel|guest ?house|restaurant)\b"
)
_CLOCK = re.compile(rf"(?<![\w:])(?:{CLOCK}(?!\d)|\d{{1,2}}\s?{AM_PM})")
_DATE = re.compile(
    r"(?<!\w)(?:[a-z]{3,9}\.?\s\d{1,2}(?:st|nd|rd|th)?|\d{1,2}(?:st|nd|rd|th)(?:\sof)?\s[a-z]{3,9})(?!\w|\s?:)"
)


def find_unsaid(text: str, goal: Goal) -> tuple[str, ...]:
    """The slots whose values are not in the words. Each value needs words of its own: 3 people are not 3 nights too."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for slot, value in goal.spoken.items():
        # Nothing counts that could answer any other question as well.
        spans[slot] = [
            (start, end)
            for *_, start, end in find_value(text, slot, (value,))
            if not (is_bare_answer(text[start:end], value) if is_flag(value) else fold(text[start:end]) in _NO)
        ]
    mentioned, used = set[str](), list[tuple[int, int]]()
    for slot in sorted(spans, key=lambda slot: len(spans[slot])):
        # Words may say these for several slots at once: "no wifi or parking", "any area and any price".
        is_shared = goal.spoken[slot] == DONTCARE or is_flag(goal.spoken[slot])
        if own := [span for span in spans[slot] if is_shared or not overlap(span, used)]:
            mentioned.add(slot)
            used += () if is_shared else own[:1]
    return tuple(slot for slot in goal.spoken if slot not in mentioned)


def takes_up(text: str) -> bool:
    """Whether words say yes to what the system asks, or thank for it."""
    return bool(_YES.match(fold(text)))


def seeks(text: str) -> bool:
    """Whether words look for something that has no name yet."""
    return bool(_SEEKS.search(fold(text)))


def find_oversaid(text: str, goal: Goal) -> str:
    """A time, a day or a count that the words say and the goal does not have; empty if there is none."""
    own = merge_places(
        mention[2:]
        for part in (goal.spoken, goal.unspoken)
        for slot, value in part.items()
        for mention in find_value(text, slot, (value,))
    )
    folded = fold(text)
    for kind, pattern in _plain_patterns():
        for match in pattern.finditer(folded):
            # Without a month it is no date: "the 1st" may be the first of anything.
            is_plain = pattern is not _DATE or bool((date := date_of(match[0])) and date[0])
            if is_plain and not overlap(match.span(), own):
                return f"{kind} beyond the goal: {match[0]}"
    return ""


def without_values(text: str, goal: Goal, mark: str) -> str:
    """A text with a mark in place of every character that says a value of the goal."""
    letters = list(text)
    for slot, value in goal.spoken.items():
        for *_, start, end in find_value(text, slot, (value,)):
            letters[start:end] = mark * (end - start)
    return "".join(letters)


def overlap(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Whether a stretch of a text has a part in common with one of the others."""
    return any(start < span[1] and span[0] < end for start, end in others)


@cache
def _plain_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """What is plain wherever it stands."""
    units = "|".join(sorted({"star", "stars", *(word for pair in surface.table()["units"].items() for word in pair)}))
    numbers = "|".join(number_words())
    weekdays = "|".join(calendar_words("weekdays"))
    return (
        ("a time", _CLOCK),
        ("a day", re.compile(rf"(?<!\w)(?:{weekdays})(?!\w)")),
        ("a day", _DATE),
        ("a count", re.compile(rf"(?<![\w:.])(?:\d+|{numbers})[\s-](?:{units})(?!\w|[\s-](?:house|room))")),
    )
