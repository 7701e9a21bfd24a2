"""The ways to cut a text into words, one name each.

A rule that cuts otherwise (a corpus's own tokens, a learned vocabulary) is part of what it serves and stands there.
"""

from __future__ import annotations

import re

WORD = re.compile(r"\w+(?:['’]\w+)*")
"""A word with its apostrophes: `I'm`, `o'clock`, `7pm`."""
ALPHANUMERIC = re.compile(r"[^\W_]+")
"""A run of letters and digits: `I`, `m`, `7pm`."""
LETTERS = re.compile(r"[^\W\d_]+")
"""A run of letters: `I`, `m`, `pm`."""
WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
"""A word without apostrophes, or a single mark."""
CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where a new word begins in a name such as `numberOfRooms`."""


def words_in(text: str) -> list[str]:
    """The words of a text, without marks."""
    return WORD.findall(text)
