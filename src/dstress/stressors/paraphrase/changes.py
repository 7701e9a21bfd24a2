"""The usable changes of a rough back-translation, taken over one by one into the original words.

Rule-based translators answer word by word: good synonyms beside broken grammar. CoCo's way, to take or leave a whole
candidate (Li et al. 2021, section 4.1), would leave nearly all of them. So original and back-translation are aligned,
and only those differences are taken over that a table names as the same thing said differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from dstress.text.tables import read_table

WORD = re.compile(r"n['’]t(?!\w)|['’]\w+|\w+?(?=n['’]t(?!\w))|\w+(?:-\w+)*")
_ARTICLE = re.compile(r"\b(a|an)(\s+)$", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiou](?!ne\b|ni|se)|ho(?:ur|nest)", re.IGNORECASE)


Table = dict[str, dict[str, list[str]]]
"""Phrases by part: what may stand in place of each."""

_Index = dict[str, list[tuple[tuple[str, ...], str]]]
"""First word -> the forms that begin with it, each with the phrase it stands for."""


class Change(NamedTuple):
    """From character `start` to `end` of the original, `said` may stand. `slight`: too little to be a paraphrase."""

    start: int
    end: int
    said: str
    slight: bool = False


class _Phrase(NamedTuple):
    key: str
    start: int
    end: int
    heard: str


class Rephrasing:
    """Phrases that may change, from tables such as `phrases`; a later table's entries win.

    Where a file names the heads of compounds, those may be turned around: "alarm time" becomes "time of alarm".
    """

    def __init__(self, *tables: Table) -> None:
        self._table = {
            key: dict(_pairs(heard))
            for parts in tables
            for part in ("phrases", "contractions")
            for key, heard in parts.get(part, {}).items()
        }
        self._slight = frozenset(key for parts in tables for key in parts.get("contractions", ()))
        self._own = _by_first((key, key) for key in self._table)
        compounds = next((parts["compounds"] for parts in tables if "compounds" in parts), {})
        self._heads = frozenset(compounds.get("heads", ()))
        self._bound = frozenset(compounds.get("bound", ()))

    def changes(self, original: str, back: str) -> list[Change]:
        """What of a back-translation can be taken over, in the order of the original; changes do not overlap."""
        own, table = self._for(original)
        mine = list(_phrases(original, own))
        asked = {phrase.key: table[phrase.key] for phrase in mine if phrase.key in table}
        theirs = list(_phrases(back, _by_first((form, key) for key, heard in asked.items() for form in (key, *heard))))
        matcher = SequenceMatcher(None, _keys(mine), _keys(theirs), autojunk=False)
        found = []
        for start, other, length in matcher.get_matching_blocks():
            for phrase, answer in zip(mine[start : start + length], theirs[other : other + length], strict=True):
                said = table.get(phrase.key, {}).get(answer.heard, phrase.heard)
                if said != phrase.heard:
                    found.append(Change(phrase.start, phrase.end, said, phrase.key in self._slight))
        return found

    def can_change(self, original: str) -> bool:
        """Whether the text says anything that may change; if not, no translation can change it."""
        own, table = self._for(original)
        return any(table.get(phrase.key) for phrase in _phrases(original, own))

    def _for(self, original: str) -> tuple[_Index, dict[str, dict[str, str]]]:
        """The table for one text: with its own compounds, if they may be turned around."""
        if not self._heads:
            return self._own, self._table
        words = WORD.findall(original.lower())
        turned = {
            f"{first} {head}": {f"{head} of {first}": f"{head} of {first}"}
            for first, head in pairwise(words)
            if head in self._heads and first not in self._bound
        }
        table = turned | self._table
        return _by_first((key, key) for key in table), table


def applied(original: str, made: Sequence[Change]) -> str:
    """The original with these changes, in its own style of letters; everything else stays character by character."""
    parts: list[str] = []
    at = 0
    for change in made:
        gap = original[at : change.start]
        said = _styled(change.said, original[change.start : change.end], original[: change.start])
        if gap[-1:].isalnum() and not said.startswith(("'", "’")):
            said = f" {said}"  # "I'm" has no blank where "I am" needs one
        parts += _with_article(gap, said), said
        at = change.end
    return "".join(parts) + original[at:]


def _styled(said: str, like: str, before: str) -> str:
    """Words in the letters of those they replace: `THANKS`, `Thanks` or `thanks`."""
    letters = [letter for letter in like if letter.isalpha()]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return said.upper()
    lower_i = re.search(r"\bi\b", like) is not None or (not re.search(r"\bI\b", like) and before.islower())
    styled = said if lower_i else re.sub(r"\bi\b", "I", said)
    opens = not before.strip() or before.rstrip()[-1:] in ".?!"
    if like[:1].isupper() and (opens or like.split()[0] != "I"):
        return styled[:1].upper() + styled[1:]
    return styled


def _with_article(gap: str, said: str) -> str:
    """What stands before a change; if that is "a" or "an", the one that goes with the new word."""
    article = _ARTICLE.search(gap)
    if article is None:
        return gap
    right = "an" if _VOWEL.match(said) else "a"
    right = right.capitalize() if article[1][0].isupper() else right
    return gap[: article.start()] + right + article[2]


def _keys(phrases: Iterable[_Phrase]) -> list[str]:
    return [phrase.key for phrase in phrases]


def _phrases(text: str, by_first: _Index) -> Iterator[_Phrase]:
    """The text's words, those that make a known phrase taken together; the longest phrase wins."""
    found = [(match.group().lower().replace("’", "'"), match.start(), match.end()) for match in WORD.finditer(text)]
    words = [word for word, _, _ in found]
    at = 0
    while at < len(words):
        length, key = 1, words[at]
        for phrase, its_key in by_first.get(words[at], ()):
            if tuple(words[at : at + len(phrase)]) == phrase and _together(text, found[at : at + len(phrase)]):
                length, key = len(phrase), its_key
                break
        yield _Phrase(key, found[at][1], found[at + length - 1][2], " ".join(words[at : at + length]))
        at += length


def _together(text: str, words: Sequence[tuple[str, int, int]]) -> bool:
    """Whether only blanks part the words: a comma or a full stop ends a phrase."""
    return all(not text[first[2] : second[1]].strip() for first, second in pairwise(words))


def _by_first(forms: Iterable[tuple[str, str]]) -> _Index:
    """Forms and the phrases they stand for, by their first words, the longest first; a phrase's own words win."""
    found: _Index = {}
    for form, key in sorted(set(forms), key=_rank):
        words = tuple(form.split())
        found.setdefault(words[0], []).append((words, key))
    return found


def _rank(form: tuple[str, str]) -> tuple[int, bool, str, str]:
    return -len(form[0].split()), form[0] != form[1], *form


@cache
def phrases() -> Table:
    """The phrases that may change in any text."""
    return read_table(__package__, "changes.toml")


def _pairs(entries: Iterable[str]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        heard, arrow, said = entry.partition(" -> ")
        yield heard, said if arrow else heard
