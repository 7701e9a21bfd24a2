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

from dstress.text.inflection import replace_with_articles
from dstress.text.tables import read_table

WORD = re.compile(r"n['’]t(?!\w)|['’]\w+|\w+?(?=n['’]t(?!\w))|\w+(?:-\w+)*")

Entries = dict[str, dict[str, list[str]]]
"""Phrases by part of a file: what may come back for each, and how it is then said if not in the same words."""

_Index = dict[str, list[tuple[tuple[str, ...], str]]]
"""First word -> the forms that begin with it, each with the phrase it stands for."""


class Change(NamedTuple):
    """From character `start` to `end` of the original, `text` may stand. `slight`: too little to be a paraphrase."""

    start: int
    end: int
    text: str
    slight: bool = False


class _Phrase(NamedTuple):
    """One or more words of a text, and the phrase of the table that they stand for; a word alone stands for itself."""

    key: str
    start: int
    end: int
    words: str


class PhraseTable:
    """Phrases that may change, by entries such as `everyday_phrases`; those of a later file win.

    Where a file names the heads of compounds, those may be turned around: "alarm time" becomes "time of alarm".
    """

    def __init__(self, *files: Entries) -> None:
        self._table: dict[str, dict[str, str]] = {}
        for entries in files:
            for key, answers in (entries.get("phrases", {}) | entries.get("contractions", {})).items():
                pairs = [answer.partition(" -> ") for answer in answers]
                self._table[key] = {back: text if arrow else back for back, arrow, text in pairs}
        self._slight = frozenset(key for entries in files for key in entries.get("contractions", ()))
        self._index = _index_forms((key, key) for key in self._table)
        compounds = next((entries["compounds"] for entries in files if "compounds" in entries), {})
        self._heads = frozenset(compounds.get("heads", ()))
        self._bound = frozenset(compounds.get("bound", ()))

    def find_changes(self, original: str, back: str) -> list[Change]:
        """What of a back-translation can be taken over, in the order of the original; changes do not overlap."""
        index, table = self._table_for(original)
        old = list(_split_phrases(original, index))
        changeable = {phrase.key: table[phrase.key] for phrase in old if phrase.key in table}
        forms = ((form, key) for key, answers in changeable.items() for form in (key, *answers))
        new = list(_split_phrases(back, _index_forms(forms)))
        keys, new_keys = ([phrase.key for phrase in phrases] for phrases in (old, new))
        changes = []
        for at, other, length in SequenceMatcher(None, keys, new_keys, autojunk=False).get_matching_blocks():
            for (key, start, end, words), answer in zip(old[at : at + length], new[other:], strict=False):
                if (text := table.get(key, {}).get(answer.words, words)) != words:
                    changes.append(Change(start, end, text, key in self._slight))
        return changes

    def offers(self, original: str) -> list[list[Change]]:
        """What each phrase that the table names may become, whatever came back; phrases do not overlap."""
        index, table = self._table_for(original)
        return [
            [Change(phrase.start, phrase.end, text) for text in table[phrase.key].values()]
            for phrase in _split_phrases(original, index)
            if table.get(phrase.key)
        ]

    def _table_for(self, original: str) -> tuple[_Index, dict[str, dict[str, str]]]:
        """The table for one text: with its own compounds, if they may be turned around."""
        turned = {
            f"{first} {head}": dict.fromkeys((f"{head} of {first}",), f"{head} of {first}")
            for first, head in pairwise(WORD.findall(original.lower()) if self._heads else ())
            if head in self._heads and first not in self._bound
        }
        if not turned:
            return self._index, self._table
        table = turned | self._table
        return _index_forms((key, key) for key in table), table


def apply_changes(original: str, changes: Sequence[Change]) -> str:
    """The original with these changes, in its own style of letters; everything else stays character by character."""
    replaced = []
    for start, end, text, _ in changes:
        text = _match_letters(text, original[start:end], original[:start])
        # "I'm" has no blank where "I am" needs one.
        needs_blank = original[:start][-1:].isalnum() and not text.startswith(("'", "’"))
        replaced.append((start, end, f" {text}" if needs_blank else text))
    return replace_with_articles(original, replaced)


def _match_letters(text: str, like: str, before: str) -> str:
    """Words in the letters of those they replace: `THANKS`, `Thanks` or `thanks`."""
    letters = [letter for letter in like if letter.isalpha()]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return text.upper()
    lower_i = re.search(r"\bi\b", like) is not None or (not re.search(r"\bI\b", like) and before.islower())
    styled = text if lower_i else re.sub(r"\bi\b", "I", text)
    opens = not before.strip() or before.rstrip()[-1:] in ".?!"
    if like[:1].isupper() and (opens or like.split()[0] != "I"):
        return styled[:1].upper() + styled[1:]
    return styled


def _split_phrases(text: str, index: _Index) -> Iterator[_Phrase]:
    """The text's words, those that make a known phrase taken together; the longest phrase wins."""
    matches = list(WORD.finditer(text))
    words = [match.group().lower().replace("’", "'") for match in matches]
    at = 0
    while at < len(words):
        # Only blanks may part the words: a comma or a full stop ends a phrase.
        fitting = (
            (len(form), phrase)
            for form, phrase in index.get(words[at], ())
            if tuple(words[at : at + len(form)]) == form
            and not any(text[a.end() : b.start()].strip() for a, b in pairwise(matches[at : at + len(form)]))
        )
        length, key = next(fitting, (1, words[at]))
        yield _Phrase(key, matches[at].start(), matches[at + length - 1].end(), " ".join(words[at : at + length]))
        at += length


def _index_forms(forms: Iterable[tuple[str, str]]) -> _Index:
    """Forms and the phrases they stand for, by their first words, the longest first; a phrase's own words win."""
    index: _Index = {}
    for form, key in sorted(set(forms), key=lambda pair: (-len(pair[0].split()), pair[0] != pair[1], *pair)):
        words = tuple(form.split())
        index.setdefault(words[0], []).append((words, key))
    return index


@cache
def everyday_phrases() -> Entries:
    """The phrases that may change in any text."""
    return read_table(__package__, "phrase_table.toml")
