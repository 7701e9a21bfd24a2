"""Texts as words, for networks that learn their words from a corpus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

PAD, UNKNOWN, END = "<pad>", "<unknown>", "<end>"
SPECIAL = (PAD, UNKNOWN, END)

_WORD = re.compile(r"\d+(?:[:.,]\d+)*|'?[^\W\d_]+|[^\w\s]")


def split_words(text: str) -> list[str]:
    """A text in lower case, in words: "It's 5:30pm." -> it, 's, 5:30, pm, `.`."""
    return _WORD.findall(text.lower().replace("’", "'"))


def find_words(text: str, words: Sequence[str]) -> str:
    """The part of a text that is made of these words, as it is written there; empty where there is none."""
    matches = list(_WORD.finditer(text.lower().replace("’", "'")))
    spoken = [match.group() for match in matches]
    size = len(words)
    for at in range(len(spoken) - size + 1):
        if spoken[at : at + size] == list(words):
            return text[matches[at].start() : matches[at + size - 1].end()]
    return ""


class Vocabulary:
    """Numbers for words: the special ones first, then as they are given."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self.pad, self.unknown, self.end = (self.numbers[word] for word in SPECIAL)

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], first: Iterable[str] = (), least: int = 2) -> Vocabulary:
        """The words of `first`, then those that `texts` have at least `least` times, the frequent ones first."""
        leading = dict.fromkeys((*SPECIAL, *first))
        counts = Counter(word for text in texts for word in text if word not in leading)
        frequent = sorted((-count, word) for word, count in counts.items() if count >= least)
        return cls([*leading, *(word for _, word in frequent)])

    def __len__(self) -> int:
        return len(self.words)
