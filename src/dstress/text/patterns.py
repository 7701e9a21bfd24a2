"""Patterns over utterances as tables write them: plain words, with a shorthand for what corpora write in many ways.

In a pattern a blank is any white space and " ?" perhaps some; ' is an apostrophe, parted or not ("I'm", "I 'm", "i m"),
n't likewise. LAST sees, but does not take, the end of a sentence or a comma.
"""

from __future__ import annotations

import re

_APOSTROPHE = r"(?:\s?['’]|\s)"
_WRITTEN = {
    "n't": rf"{_APOSTROPHE}?n['’]?t",
    "'": _APOSTROPHE,
    " ?": r"\s*",
    " ": r"\s+",
    "LAST": r"(?=\s*[.?!,]|\s*$)",
}
_SHORTHAND = re.compile(r"n't|'| \?| |LAST")


def expand_shorthand(pattern: str) -> str:
    """The regular expression that a pattern of a table stands for."""
    return _SHORTHAND.sub(lambda match: _WRITTEN[match.group()], pattern)
