"""An utterance as a row of words, with the clause that each stands in and the way back to its characters.

Corpora separate words in their own ways: `does n't`, `don't`, `cheap -er`, `christ 's`. Here they all come out alike:
`not` is a word of its own, endings that a tokeniser cut off are gone, and `keys` are the words in the singular and in
one spelling, so that a value is found however it is written.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from typing import Any

from dstress.text.letters import fold
from dstress.text.tables import read_table

_TOKEN = re.compile(r"\d{1,2}[:.]\d\d(?!\d)|\d+|[^\W\d_]+|[.?!;,&]")
_MARKS = frozenset(".?!;,")
_LONG_ENOUGH = 4


def table() -> dict[str, Any]:
    """All words and phrases that the tracker knows, whatever the schema."""
    return read_table(__package__, "rules.toml")


@cache
def word_set(name: str) -> frozenset[str]:
    """A list of single words from the table."""
    return frozenset(table()["words"][name])


@cache
def pattern(name: str, part: str = "phrases") -> re.Pattern[str]:
    """A list of phrases from the table: by which people say yes or no, change their mind, ask for a fact ...

    It is searched for in words with one blank between two.
    """
    return re.compile(rf"(?<!\S)(?:{'|'.join(table()[part][name])})(?!\S)")


@cache
def _spellings() -> dict[str, str]:
    return {variant: word for word, variants in table()["spellings"].items() for variant in variants}


@lru_cache(maxsize=32_768)
def key_of(word: str) -> str:
    """A word in the singular and in one spelling."""
    if len(word) >= _LONG_ENOUGH and word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    return _spellings().get(word, word)


class Words:
    """The words of a text. `sentences` and `clauses` number the parts that marks make of it.

    `questions` are the numbers of the sentences that end with a question mark. `row` is the words with one blank
    between two.
    """

    __slots__ = ("clauses", "ends", "keys", "questions", "row", "sentences", "starts", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.sentences: list[int] = []
        self.clauses: list[int] = []
        self.questions: set[int] = set()
        words, cut = self.words, word_set("cut")
        sentence = clause = 0
        for match in _TOKEN.finditer(fold(text)):
            token = match.group()
            if token in _MARKS:
                if token == "?":
                    self.questions.add(sentence)
                sentence += token != ","
                clause += 1
                continue
            if token in cut:
                continue
            start, end = match.span()
            if token == "t" and words and words[-1].endswith("n"):
                # `don t` -> `do not`, `n t` -> `not`
                token, start = "not", self.ends[-1] - 1
                words[-1] = words[-1][:-1]
                if not words[-1]:
                    for row in (words, self.starts, self.ends, self.sentences, self.clauses):
                        row.pop()
            elif token == "but":
                clause += 1
            words.append("and" if token == "&" else token)
            self.starts.append(start)
            self.ends.append(end)
            self.sentences.append(sentence)
            self.clauses.append(clause)
        self.keys = [key_of(word) for word in words]
        self.row = " ".join(words)

    def __len__(self) -> int:
        return len(self.words)

    def span_text(self, first: int, last: int) -> str:
        """The text of words `first` to `last` (exclusive), as it was written."""
        return self.text[self.starts[first] : self.ends[last - 1]]

    def is_capital(self, at: int) -> bool:
        """Whether a word is written with a capital."""
        return self.text[self.starts[at]].isupper()

    def sentence(self, at: int) -> tuple[int, int]:
        """The first word of the sentence of word `at`, and the one after its last."""
        return bisect_left(self.sentences, self.sentences[at]), bisect_right(self.sentences, self.sentences[at])

    def clause(self, at: int) -> tuple[int, int]:
        """The first word of the clause of word `at`, and the one after its last."""
        return bisect_left(self.clauses, self.clauses[at]), bisect_right(self.clauses, self.clauses[at])


def words_of_match(match: re.Match[str], group: str | int = 0) -> tuple[int, int]:
    """The first word of a match in a row of words, and the one after its last."""
    first = match.string.count(" ", 0, match.start(group))
    return first, first + match[group].count(" ") + 1


@lru_cache(maxsize=32_768)
def keys_of(text: str) -> tuple[str, ...]:
    """The keys of a phrase or a value."""
    return tuple(Words(text).keys)
