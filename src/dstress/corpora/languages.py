"""Which language a corpus is written in, where nothing but its letters tells."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dstress.corpora.base import ENGLISH, LocatedDialogue

_LETTERS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7a3]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}
"""Letters that one language has, tried in this order: Japanese has the Chinese ones too."""


def find_language(dialogues: Iterable[LocatedDialogue]) -> str:
    """The language of the first dialogue by its letters; English where they are those of many."""
    for _, dialogue in dialogues:
        words = " ".join(turn.user for turn in dialogue.turns)
        return next((language for language, letters in _LETTERS.items() if letters.search(words)), ENGLISH)
    return ENGLISH
