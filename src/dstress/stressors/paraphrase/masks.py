"""What a paraphrase must not touch, masked: each value, name, number, time and day by one letter of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from dstress.text.numbers import ORDINAL_ENDING, number_words
from dstress.text.times import AM_PM, CLOCK, MONTH, calendar_words
from dstress.text.utterance import Ranges
from dstress.text.writing_style import capitalise, opens_sentence

LETTERS = {
    "word": 0xA000,
    "number": 0xA080,
    "time": 0xA100,
    "day": 0xA180,
    "price": 0xA200,
    "one": 0xA280,
    "answer": 0xA300,
    "open": 0xA380,
}
"""Where the letters of each kind begin. They are of a script (Yi) that no English text is written in."""
ROOM = 128
"""Masks in one utterance; nobody says more values."""

_MASK = re.compile(r"[\uA000-\uA3FF]")
_NO_NAME = (
    r"(?!(?:I|Im|Thanks?|Please|Can|Could|What|How|Is|Are|Yes|No|Ok|Okay|That|This|The|It|My|And|But|Also|So|An?|Do|We"
    r"|You)\b)"
)
_NAME = re.compile(rf"(?<=[\w,;] ){_NO_NAME}[A-Z][\w'’&-]*(?: (?:of |the |and )?{_NO_NAME}[A-Z][\w'’&-]*)*")
_COMMON = re.compile(r"(?:An?|Any|Anything|Anywhere|Whatever|Whichever|Just|Only|Not|No|Do|Does)\b")
_ENDING = re.compile(r"\s?-?ly\b(?:[ -]priced)?|[ -]priced\b|\s-s\b|(?<=\d)(?:st|nd|rd|th)\b")


class Masks:
    """An utterance in masks (`text`), and the way back."""

    def __init__(self, text: str, kept: Ranges) -> None:
        self._words: dict[str, str] = {}
        parts, at = [], 0
        for start, end in sorted({*kept, *_untouchable(text)}, key=lambda span: (span[0], -span[1])):
            if start < at or len(self._words) == ROOM:
                continue
            while (ending := _ENDING.match(text, end)) is not None:
                end = ending.end()
            kind = _kind(text[start:end])
            letter = chr(LETTERS[kind] + len(self._words))
            common = kind in ("number", "price") or _COMMON.match(text, start)
            self._words[letter] = text[start:end].lower() if common else text[start:end]
            parts += [text[at:start], letter]
            at = end
        self.text = "".join((*parts, text[at:]))

    def restore(self, text: str, *, cased: bool = False) -> str:
        """A text with its words in place of the masks; if it is `cased`, those that open a sentence have a capital."""

        def words(mask: re.Match[str]) -> str:
            found = self._words.get(mask[0], mask[0])
            return capitalise(found) if cased and opens_sentence(text, mask.start()) else found

        return _MASK.sub(words, text)

    def all_in(self, text: str) -> bool:
        """Whether a text has every mask once."""
        return sorted(_MASK.findall(text)) == sorted(self._words)


def _untouchable(text: str) -> Iterator[tuple[int, int]]:
    """Names by their capitals; numbers, times and days by their words."""
    for pattern in (_NAME, *(_patterns()[kind] for kind in ("time", "day", "number"))):
        yield from (match.span() for match in pattern.finditer(text) if _kind(match[0]) != "one")


def _kind(words: str) -> str:
    return next((kind for kind, pattern in _patterns().items() if pattern.fullmatch(words)), "word")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    days = "|".join(calendar_words("weekdays"))
    numbers = "|".join(sorted((word for word in number_words() if len(word) > 1), key=len, reverse=True))
    expressions = {
        "one": r"1|one",
        "time": rf"(?:{CLOCK}|\d{{1,2}}(?:\.\d\d)?)\s?{AM_PM}|{CLOCK}|noon|midnight",
        "day": rf"(?:(?:next|this)(?: coming)? )?(?:{days})s?(?: (?:this|next) week)?|today|tomorrow|tonight|"
        rf"{MONTH} \d{{1,2}}{ORDINAL_ENDING}?|(?:the )?\d{{1,2}}{ORDINAL_ENDING}?(?: of)? (?:this month|{MONTH})|"
        rf"(?:the )?\d{{1,2}}{ORDINAL_ENDING}",
        "number": rf"\d+|{numbers}",
        "price": r"(?:cheap|expensive|moderate|inexpensive|affordable)(?:\s?-?ly)?(?:[ -]priced)?",
        "answer": r"yes|yeah|yep|yup|sure|no|nope|ok|okay|not (?:really|at all|particularly|sure)",
        "open": r".*\b(?:not?|\w+n['’]t|cannot|matters?|minds?|care|preferences?|difference|picky|decide|surprise)\b.*",
    }
    return {kind: re.compile(rf"(?<!\w)(?:{rule})(?!\w)", re.IGNORECASE) for kind, rule in expressions.items()}
