"""An utterance as a row of words, and the places between them where something may be said.

Blanks part tokens, so that nothing but what is added changes. A token is a word, a mark, or (in tokenised corpora) a
contraction that belongs to the word before it. A place never lies inside a value.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from dstress.text.tables import read_table
from dstress.text.utterance import Ranges
from dstress.text.writing_style import CONTRACTION, capitalise

_TOKEN = re.compile(r"\S+")
_CONTRACTION = re.compile(CONTRACTION)
_EDGES = ".,;:!?\"'()[]…’‘“”-*"
_STOPS = ".?!…;:"
_REMEMBERED = 16_384


class WordLists(NamedTuple):
    """The word lists of `word_row.toml`."""

    function: frozenset[str]
    doubled: frozenset[str]
    openers: frozenset[str]
    fixed: frozenset[str]
    glued: frozenset[str]
    lead: frozenset[str]


@cache
def word_lists() -> WordLists:
    """The lists, read once."""
    lists = {name: frozenset(words) for name, words in read_table(__package__, "data/word_row.toml").items()}
    function, fixed = lists["function"], lists["fixed"]
    openers = (function | lists["openers"]) - {"i"}
    return WordLists(function, function - lists["once"], openers, fixed, fixed | lists["glued"], lists["lead"])


class Addition(NamedTuple):
    """Words to be said before token `at`."""

    at: int
    text: str


class WordRow:
    """The tokens of an utterance: `cores` are their small letters without marks, empty where there is nothing to say.

    For each token, `hangs` tells whether it is a contraction of the word before it, `free` whether it lies outside
    every value, `inside` whether a value is under way where it begins, `opens` whether a sentence begins with it.
    """

    def __init__(self, text: str, protected: Ranges) -> None:
        matches = list(_TOKEN.finditer(text))
        self.text, self.tokens = text, [match[0] for match in matches]
        self.starts = [match.start() for match in matches]
        facts = [_facts(token) for token in self.tokens]
        self.cores: Sequence[str] = [core for core, _, _ in facts]
        contracted = "'" in text or "’" in text
        self.hangs: Sequence[bool] = [hangs for _, hangs, _ in facts] if contracted else [False] * len(facts)
        self.opens: Sequence[bool] = [True, *[stops for _, _, stops in facts[:-1]]] if facts else []
        self.free, self.inside = _placement(self.starts, self.tokens, protected)

    def may_precede(self, at: int) -> bool:
        """Whether words may be added before token `at`: it is a word, not in the midst of a value or a fixed pair."""
        core = self.cores[at]
        if not core or self.hangs[at] or self.inside[at] or not core[0].isascii():
            return False
        return not at or f"{self.cores[at - 1]} {core}" not in word_lists().glued

    def run(self, at: int, count: int) -> str:
        """The `count` words from token `at` on that can be said twice, with a word that follows; empty if they cannot.

        They lie outside every value, no mark stands between them or after them, and contractions come along. Idioms
        are not broken up ("a a lot").
        """
        last, fixed = at + count, word_lists().fixed
        if at and f"{self.cores[at - 1]} {self.cores[at]}" in fixed:
            return ""
        if last < len(self.cores) and f"{self.cores[last - 1]} {self.cores[last]}" in fixed:
            return ""
        index = at
        while index < len(self.tokens) and (count or self.hangs[index]):
            token = self.tokens[index]
            if not self.cores[index] or not self.free[index] or not token[-1].isalnum():
                return ""
            count -= not self.hangs[index]
            index += 1
        followed = not count and index < len(self.tokens) and self.cores[index]
        return self.text[self.starts[at] : self.starts[index - 1] + len(self.tokens[index - 1])] if followed else ""

    def clauses(self) -> Iterator[int]:
        """The token with which each sentence gets to its point: "Yes, thanks, I need ..." begins it with "I"."""
        lead, pending = word_lists().lead, False
        for index, core in enumerate(self.cores):
            pending = pending or self.opens[index]
            if pending and core and core not in lead:
                yield index
                pending = False

    def with_additions(self, additions: Iterable[Addition]) -> str:
        """The text with everything added; what now stands inside a sentence loses the capital of its beginning."""
        parts: list[str] = []
        done = 0
        for at, addition in sorted(additions):
            start, token = self.starts[at], self.tokens[at]
            opens = token[0].isupper() and self.opens[at]
            parts += self.text[done:start], capitalise(addition) if opens else addition, " "
            done = start
            if opens and self.free[at] and self.cores[at] in word_lists().openers:
                parts.append(token[0].lower())
                done += 1
        return "".join(parts) + self.text[done:]


@lru_cache(maxsize=_REMEMBERED)
def _facts(token: str) -> tuple[str, bool, bool]:
    """The token's word, empty for marks; whether it is a contraction that stands apart; whether it ends a sentence."""
    folded = token.lower()
    if _CONTRACTION.fullmatch(folded):
        return folded, True, False
    core = folded.strip(_EDGES)
    return core if any(character.isalnum() for character in core) else "", False, token[-1] in _STOPS


def _placement(starts: Sequence[int], tokens: Sequence[str], protected: Ranges) -> tuple[list[bool], list[bool]]:
    """For each token: whether it touches no value, and whether a value is under way where it begins."""
    free, inside = [True] * len(starts), [False] * len(starts)
    for first, last in protected:
        index = max(bisect_right(starts, first) - 1, 0)
        while index < len(starts) and starts[index] < last:
            if first < starts[index] + len(tokens[index]):
                free[index] = False
                inside[index] = inside[index] or first < starts[index]
            index += 1
    return free, inside
