"""What a person says who uses more words than needed: the phrases of `verbosity.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from dstress.text.patterns import expand_shorthand
from dstress.text.tables import read_table
from dstress.text.writing_style import capitalise

_CHOICE = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"\w+(?:['’]\w+)*")

Lines = list[list[str]]
"""Lines of the table, each with all of its readings. A line is drawn first, so that one with many is not said more."""


class Phrases(NamedTuple):
    """What is added, by the kind of clause; `opening` are sentences before a dialogue's first request.

    `within` has, by a clause's first word, what follows on it and the longer forms of both. `small` are the words that
    lose their capital when something comes before them.
    """

    opening: Lines
    before: dict[str, Lines]
    after: dict[str, Lines]
    within: dict[str, list[tuple[re.Pattern[str], list[str]]]]
    small: frozenset[str]


@cache
def phrases() -> Phrases:
    """The phrases, read once."""
    table = read_table(__package__, "verbosity.toml")
    before = {kind: [list(_readings(line)) for line in lines] for kind, lines in table["before"].items()}
    after = {kind: [list(_readings(line)) for line in lines] for kind, lines in table["after"].items()}
    within: dict[str, list[tuple[re.Pattern[str], list[str]]]] = {}
    for words, rest, longer_forms in table["within"]["forms"]:
        for word in words.split():
            within.setdefault(word, []).append((re.compile(expand_shorthand(rest)), longer_forms))
    first_words = {phrase.split(" ")[0] for lines in before.values() for line in lines for phrase in line}
    small = {word.partition("'")[0].strip(",.:").lower() for word in first_words} - {"i"}
    return Phrases(
        [list(_readings(line)) for line in table["opening"]["first"]],
        before,
        after | dict.fromkeys(("order", "plea", "fragment"), after["request"]),
        within,
        frozenset(table["joining"]["small"]) | small,
    )


@cache
def domain_details(slot: str) -> Lines:
    """What a person may tell about the matter of a slot id; nothing where it is of no known domain."""
    return next((lines for slots, lines in _details() if slots.match(slot.lower())), [])


@cache
def _details() -> list[tuple[re.Pattern[str], Lines]]:
    """The slots of each domain, and what a person may tell about it."""
    domains = read_table(__package__, "details.toml").values()
    return [(re.compile(domain["slots"]), [list(_readings(line)) for line in domain["lines"]]) for domain in domains]


def _readings(line: str) -> Iterator[str]:
    """Every reading of a line with {choices}; blanks that a missing choice leaves are mended."""
    parts = _CHOICE.split(line)
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    for chosen in product(*choices):
        yield capitalise(" ".join("".join(chosen).split()))


def loses_capital(word: str) -> bool:
    """Whether a word, in small letters, loses its capital inside a sentence."""
    return word.replace("’", "'").partition("'")[0] in phrases().small


def without_capital(text: str) -> str:
    """The text with a small first letter, if its first word is one that may lose its capital."""
    word = _WORD.match(text)
    return text[0].lower() + text[1:] if word and loses_capital(word.group().lower()) else text
