"""Yes and no among the values of a goal. They are said by what they are about: "free wifi", "no parking"."""

from __future__ import annotations

from dstress.text.letters import fold
from dstress.text.mentions import find_value

_PLAIN = {"yes": "yes", "true": "yes", "free": "yes", "no": "no", "false": "no"}
_NO_SLOT = "nothing-nothing"
"""Nobody speaks of it. So what says yes or no to it says so to any slot."""


def is_flag(value: str) -> bool:
    """Whether a value is a yes or a no."""
    return fold(value) in _PLAIN


def as_yes_or_no(value: str) -> str:
    """`yes` or `no` for one of a corpus's words for them; empty for any other value."""
    return _PLAIN.get(fold(value), "")


def is_bare_answer(words: str, value: str) -> bool:
    """Whether words that say a yes or a no are an answer that does not say to what: "yes", "nope"."""
    return bool(find_value(words, _NO_SLOT, (as_yes_or_no(value),)))
