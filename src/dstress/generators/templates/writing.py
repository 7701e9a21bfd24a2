"""A template's tokens as the corpus to be stressed would write them."""

from __future__ import annotations

import re
from functools import cache

from dstress.generators.templates.tokens import lists
from dstress.text import inflection
from dstress.text.times import calendar_words
from dstress.text.writing_style import CONTRACTION, WritingStyle, space_contractions

_BEFORE_MARK = re.compile(rf" (?=[,.?!;:]|{CONTRACTION}|'t\b)")
_SUFFIX = re.compile(r"(\w+) -(s|ly|er)\b")
_STARTS = re.compile(r"(^|[.?!] )([a-z])")
_I = re.compile(r"\bi(?=\b(?!-))")
_MAY = "may"
"""The month that is more often a verb, and stays small."""


def write_sentence(text: str, style: WritingStyle) -> str:
    """A tokenised text in small letters (values may have capitals), in the corpus's style."""
    if not style.endings_apart:
        text = _SUFFIX.sub(lambda match: inflection.plural(match[1]) if match[2] == "s" else match[1] + match[2], text)
        for apart, whole in lists()["contractions"].items():
            text = re.sub(rf"\b{apart}\b", whole, text)
        text = space_contractions(text) if style.spaced else _BEFORE_MARK.sub("", text)
    if not style.cased:
        return text.lower()
    text = _calendar().sub(lambda match: match[0].capitalize(), _I.sub("I", text))
    return _STARTS.sub(lambda match: match[1] + match[2].upper(), text)


@cache
def _calendar() -> re.Pattern[str]:
    names = (name for name in (*calendar_words("weekdays"), *calendar_words("months")) if name != _MAY)
    return re.compile(rf"\b(?:{'|'.join(names)})\b")
