"""How the corpus to be stressed writes: with capitals or without, with blanks before marks or without."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import NamedTuple

from dstress.dialogue import Dialogue
from dstress.generators.templates.tokens import lists
from dstress.text import inflection as surface

_DIALOGUES = 60
_BEFORE_MARK = re.compile(r" (?=[,.?!;:])| (?='(?:s|m|d|ll|re|ve|t)\b)")
_SUFFIX = re.compile(r"(\w+) -(s|ly|er)\b")
_PARTED = re.compile(r"\w [,.?!](?:\s|$)")
_JOINED = re.compile(r"\w[,.?!](?:\s|$)")
_CONTRACTION = re.compile(r"(?<=[a-z])(?:n't|'(?:s|m|d|ll|re|ve))\b")
_STARTS = re.compile(r"(^|[.?!] )([a-z])")
_I = re.compile(r"\bi(?=\b(?!-))")


class Writing(NamedTuple):
    """Whether there are capitals, whether blanks part marks and contractions from words, and whether endings too are
    parted ("place -s", "it s"), as in the text that TRADE trains on. `titled`: names need capitals that the values of
    the labels do not have."""

    cased: bool
    parted: bool
    split: bool
    titled: bool

    def write(self, text: str) -> str:
        """A tokenised text in small letters (values may have capitals), as the corpus would write it."""
        if not self.split:
            text = _SUFFIX.sub(_inflected, text)
            for parted, whole in lists()["contractions"].items():
                text = re.sub(rf"\b{parted}\b", whole, text)
            text = _CONTRACTION.sub(r" \g<0>", text) if self.parted else _BEFORE_MARK.sub("", text)
        if not self.cased:
            return text.lower()
        text = _calendar().sub(lambda match: match[0].capitalize(), _I.sub("I", text))
        return _STARTS.sub(lambda match: match[1] + match[2].upper(), text)


def writing_of(corpus: Iterable[Dialogue]) -> Writing:
    """The writing of most user turns among the first dialogues."""
    cased = parted = split = proper = 0
    for dialogue in islice(corpus, _DIALOGUES):
        for turn in dialogue.turns:
            cased += 1 if turn.user != turn.user.lower() else -1
            parted += bool(_PARTED.search(turn.user)) - bool(_JOINED.search(turn.user))
            split += bool(_SUFFIX.search(turn.user))
            proper += any(form != form.lower() for forms in turn.state.values() for form in forms[:1])
    return Writing(cased > 0, parted > 0, split > 0, cased > 0 and not proper)


@cache
def _calendar() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(lists()['calendar']['capital'])})\b")


def _inflected(match: re.Match[str]) -> str:
    return surface.plural(match[1]) if match[2] == "s" else match[1] + match[2]
