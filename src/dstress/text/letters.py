"""An utterance as letters and digits alone, with the way back to its characters.

Whether a text says a value should not hang on case, accents, marks or blanks: `Saint John 's` and `st. johns`, `Fen
Ditton` and `fenditton`. So a text's words are run together, and a value is a substring that starts and ends where words
do. That is also the fastest search Python has: one `in` tells most values away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable
from functools import cached_property, lru_cache
from itertools import compress, count
from typing import Any

from dstress.text.tokens import CAMEL_HUMP

_WORD = re.compile(r"\d+|[^\W\d_]+|&")
_LETTERS = {code: "and" if chr(code) == "&" else chr(code) if chr(code).isalnum() else None for code in range(128)}
_REMEMBERED = 512

Place = tuple[int, int]
"""Characters `start` to `end` (exclusive) of a text."""


class LetteredText:
    """A text in lower case without accents (`folded`), and its letters and digits run together (`letters`).

    `results` is for whoever searches the text: what was found stays there. The rest is made when first asked for: most
    texts say few of the values that they are searched for.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = folded = fold(text)
        self.letters = folded.translate(_LETTERS) if text.isascii() else "".join(words_of(text))
        self.results: dict[Hashable, Any] = {}

    @cached_property
    def positions(self) -> list[int]:
        """The character that each letter comes from; `&` stands for three letters."""
        if "&" not in self.folded:
            return list(compress(count(), map(str.isalnum, self.folded)))
        sizes = (3 if character == "&" else character.isalnum() for character in self.folded)
        return [at for at, size in enumerate(sizes) for _ in range(size)]

    @cached_property
    def spans(self) -> list[Place]:
        """The characters of each word."""
        return [match.span() for match in _WORD.finditer(self.folded)]

    def is_edge(self, at: int) -> bool:
        """Whether a word starts at an offset of `letters`, or ends before it."""
        positions = self.positions
        if not 0 < at < len(positions):
            return at == 0 or at == len(positions)
        before, here = positions[at - 1], positions[at]
        if here - before != 1:
            return here != before
        left, right = self.folded[before], self.folded[here]
        return left.isdigit() != right.isdigit() or "&" in (left, right)

    def places(self, letters: str, words: int = 0) -> list[Place]:
        """Where words are spelled by `letters`, also in the plural, however they are parted unless `words` says."""
        places: list[Place] = []
        text, positions = self.letters, self.positions
        at = text.find(letters)
        while at >= 0:
            # Most names start after a blank; the full test is for the others.
            if (at and positions[at] - positions[at - 1] > 1) or self.is_edge(at):
                end = self._word_end(at + len(letters))
                # Blanks and marks separate words.
                gaps = sum(positions[letter + 1] - positions[letter] > 1 for letter in range(at, end - 1))
                if end and (not words or gaps + 1 == words):
                    places.append((positions[at], positions[end - 1] + 1))
            at = text.find(letters, at + 1)
        return places

    def _word_end(self, at: int) -> int:
        """The end of a word that ends here or after the s of its plural; 0 if none does."""
        if self.is_edge(at):
            return at
        for plural in ("s", "es"):
            if self.letters.startswith(plural, at) and self.is_edge(at + len(plural)):
                return at + len(plural)
        return 0


@lru_cache(maxsize=_REMEMBERED)
def letter_text(text: str) -> LetteredText:
    """A text, prepared; a turn's text is asked about many times in a row."""
    return LetteredText(text)


def words_of(text: str) -> list[str]:
    """The words of a value, as `LetteredText` spells them."""
    return ["and" if word == "&" else word for word in _WORD.findall(fold(text))]


@lru_cache(maxsize=_REMEMBERED)
def name_words(slot: str) -> tuple[str, ...]:
    """The words of a slot's name: `Hotels_4-numberOf_rooms` -> number, of, rooms."""
    return tuple(words_of(CAMEL_HUMP.sub(" ", slot.partition("-")[2] or slot)))


def fold(text: str) -> str:
    """Lower case without accents, character by character: places in the folded text are places in the text."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character in "’‘´ʼ":
        return "'"
    parts = unicodedata.normalize("NFD", character.lower())
    # Accents go; what is no accent (the parts of a Korean syllable) tells letters apart.
    return parts[0] if all(map(unicodedata.combining, parts[1:])) else character
