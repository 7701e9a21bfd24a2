"""Texts as words for a network, and the words that it knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

PAD, END, UNKNOWN = "<pad>", "<end>", "<unknown>"
SYSTEM, SPOKEN, UNSPOKEN, IS = "<system>", "<said>", "<taken>", "<is>"
CLEAN, LOOSE = "<clean>", "<loose>"
"""Whether the user says just the goal, or more than the label has: training data have both, we only want the first."""

MOST_VALUES = 12
VALUES = tuple(f"<value_{number}>" for number in range(1, MOST_VALUES + 1))
"""Each stands for a whole value, so that one that no training text has comes out whole."""
_VALUE = "<value"

SPECIAL = (PAD, END, UNKNOWN, SYSTEM, SPOKEN, UNSPOKEN, IS, CLEAN, LOOSE)
_WORD = re.compile(r"<value[_:]\w+>|\d+(?:[:.,]\d+)*|'?[^\W\d_]+|(?<=\s)-(?:s|ly|er)\b|[^\w\s]")


def slot_placeholder(name: str) -> str:
    """The placeholder of a slot's own: `<value:book_people>`. What it stands for is then no riddle to a network."""
    return f"{_VALUE}:{name}>"


def words_in(text: str) -> list[str]:
    """A text in lower case, in words: "It's 5pm." -> it, 's, 5, pm, `.`; some corpora write plurals as "hotel -s"."""
    return _WORD.findall(text.lower().replace("’", "'"))


class Vocabulary:
    """Numbers for words, the special ones first."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self.pad, self.end, self.unknown = (self.numbers[word] for word in (PAD, END, UNKNOWN))
        self.values = [number for word, number in self.numbers.items() if word.startswith(_VALUE)]

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], least: int = 2) -> Vocabulary:
        """The words of `texts` that are there `least` times, the frequent ones first."""
        known = {*SPECIAL, *VALUES}
        counts = Counter(word for text in texts for word in text if word not in known)
        frequent = sorted((-count, word) for word, count in counts.items() if count >= least)
        return cls([*SPECIAL, *VALUES, *(word for _, word in frequent)])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of words. Corpora differ in "it 's" and "it s"."""
        known, unknown = self.numbers, self.unknown
        return [known.get(word, known.get(word.lstrip("'"), unknown)) for word in words]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words of numbers."""
        return [self.words[number] for number in numbers]
