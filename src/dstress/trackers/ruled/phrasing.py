"""Fixed phrases by which people answer: yes, no, not caring, changing their mind; and how systems ask."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from dstress.trackers.ruled.words import Words, table


class Phrasing:
    """The regular expressions of the table, compiled. They run over words with one blank between two."""

    def __init__(self, entries: dict[str, Any]) -> None:
        patterns = {
            name: re.compile(rf"(?<!\S)(?:{'|'.join(texts)})(?!\S)") for name, texts in entries.items()
        }
        self.discards = patterns["discards"]
        self.corrects = patterns["corrects"]
        self.unavailable = patterns["unavailable"]
        self.accepts = patterns["accepts"]
        self.refuses = patterns["refuses"]
        self.declines = patterns["declines"]
        self.books = patterns["books"]
        self.asks = patterns["asks"]
        self.seeks = patterns["seeks"]
        self.open = patterns["open"]
        self.open_alone = patterns["open_alone"]
        self.question = patterns["question"]

    def questions(self, words: Words) -> set[int]:
        """The numbers of the sentences that ask something."""
        found = set()
        text, ends, sentences = words.text, words.ends, words.sentences
        for at, number in enumerate(sentences):
            is_last = at + 1 == len(sentences) or sentences[at + 1] != number
            if is_last and text[ends[at] : ends[at] + 3].lstrip()[:1] == "?":
                found.add(number)
        if not found:
            first = 0
            for at in range(1, len(sentences) + 1):
                if at == len(sentences) or sentences[at] != sentences[first]:
                    if self.question.search(" ".join(words.words[first:at])):
                        found.add(sentences[first])
                    first = at
        return found


@cache
def phrasing() -> Phrasing:
    """The shipped phrases."""
    return Phrasing(table()["phrases"])
