"""What a whole back-translated candidate must keep to be a paraphrase, beside the values that the label guard checks.

CoCo keeps a paraphrase if every value is still said (Li et al. 2021, footnote 8). A lost negation or a "from" that
became a "to" would pass that test and change the label, so more is asked here.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from dstress.stressors.paraphrase.phrase_table import WORD
from dstress.text.ngrams import stutters
from dstress.text.tables import read_table
from dstress.text.writing_style import capitalise, style_of, write

SHORTEST, LONGEST = 0.5, 2.0
"""A candidate's length as a share of the original's, in words."""
_MARKED = re.compile(r"[*@#]\w")


def find_problem(original: str, candidate: str) -> str:
    """Why a candidate is no paraphrase of the original; empty if it may be one."""
    before, after = _words(original), _words(candidate)
    if before == after:
        return "the words came back unchanged"
    foreign = {letter for letter in candidate.lower() if letter.isalpha() and not letter.isascii()}
    if (_MARKED.search(candidate) and not _MARKED.search(original)) or foreign - {*original.lower()}:
        return "a word was left untranslated"
    if stutters(after) and not stutters(before):
        return "words were repeated"
    if not SHORTEST * len(before) - 1 <= len(after) <= LONGEST * len(before) + 1:
        return "the length changed too much"
    # What is left are changes of meaning.
    lists = _lists()
    if lists["negations"].isdisjoint(before) != lists["negations"].isdisjoint(after):
        return "a negation came or went"
    if ("?" in original) != ("?" in candidate):
        return "a question became none, or the reverse"
    if lists["kept"] & (set(before) ^ set(after)):
        return "a word that carries meaning for a slot came or went"
    old, new = (Counter(word for word in words if word.isdigit()) for words in (before, after))
    if old != new and not lists["numbers"] & set(before):
        return "a number came or went"
    return ""


def telling_words(text: str) -> set[str]:
    """The words of a text that say what is wanted, asked or done, as against "I would like"; a plural is the same."""
    return {word.removesuffix("s") for word in _words(text)} - _lists()["free"]


def match_style(candidate: str, original: str) -> str:
    """The candidate in the original's letters and spacing: lower case, or blanks around punctuation as in MultiWOZ."""
    styled = write(" ".join(candidate.split()), style_of(original)._replace(apostrophes=True))
    return capitalise(styled) if original[:1].isupper() else styled


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


@cache
def _lists() -> dict[str, frozenset[str]]:
    read = read_table(__package__, "candidates.toml")
    return {name: frozenset(words) for name, words in read.items()}
