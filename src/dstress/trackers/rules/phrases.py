"""Fixed phrases by which people answer: yes, no, not caring, changing their mind; and how systems ask."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from typing import Any

from dstress.trackers.rules.words import Words, table


class Phrasing:
    """The regular expressions of the table, compiled. They run over words with one blank between two."""

    def __init__(self, entries: dict[str, Any]) -> None:
        patterns = {name: re.compile(rf"(?<!\S)(?:{'|'.join(texts)})(?!\S)") for name, texts in entries.items()}
        self.confirms = patterns["confirms"]
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
        self.courtesies = patterns["courtesies"]

    def questions(self, words: Words) -> frozenset[int]:
        """The numbers of the sentences that ask something: by their mark, or if none has one, by their words."""
        if words.questions:
            return frozenset(words.questions)
        return frozenset(
            number
            for number, sentence in groupby(range(len(words)), key=words.sentences.__getitem__)
            if self.question.search(" ".join(words.words[at] for at in sentence))
        )


@cache
def phrasing() -> Phrasing:
    """The shipped phrases."""
    return Phrasing(table()["phrases"])
