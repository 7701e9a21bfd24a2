"""From a network's words back to an utterance: values in place of placeholders, written as the corpus writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from dstress.dialogue import Turn
from dstress.generators.network.vocabulary import words_in
from dstress.text import edits as editing
from dstress.text import inflection as surface
from dstress.text.tables import read_table

_PLACEHOLDER = re.compile(r"<value_(\d+)>")
_SENTENCE = re.compile(r"(?:^|[.!?]\s+)([^\W\d_])")
_LETTERS = re.compile(r"[^\W\d_]+")
_SPACED = re.compile(r"\w [.?!,](?:\s|$)")
_CLOSE = re.compile(r"\w[.?!,](?:\s|$)")
_PERSON = re.compile(r"\s+person\b")
_MOST = 5000
"""Utterances that are looked at."""


class Filled(NamedTuple):
    """A value to put in. `name`: it may be a name, which has capitals where the corpus has them."""

    value: str
    name: bool = True


class Style(NamedTuple):
    """How a corpus writes: capitals, blanks before marks, apostrophes, endings apart ("hotel -s")."""

    cased: bool = False
    spaced: bool = True
    apostrophes: bool = False
    parted: bool = True
    titled: bool = False
    """The label has names in small letters that the texts have in capitals."""
    capitals: Mapping[str, str] = {}
    """Words that the corpus writes with capitals inside sentences."""


def style_of(turns: Iterable[Turn]) -> Style:
    """The style of most of some users' utterances."""
    counts: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for turn in islice(turns, _MOST):
        text = turn.user
        counts["values"] += len(turn.state)
        counts["titled values"] += sum(forms[0] != forms[0].lower() for forms in turn.state.values() if forms)
        counts["cased" if text[:1].isupper() else "small"] += 1
        counts["spaced"] += len(_SPACED.findall(text))
        counts["close"] += len(_CLOSE.findall(text))
        counts["apostrophes"] += "'" in text
        counts["parted"] += " -s" in text
        for match in list(_LETTERS.finditer(text))[1:]:
            if not surface.opens_sentence(text, match.start()):
                forms.setdefault(match[0].lower(), Counter())[match[0]] += 1
    capitals = {word: max(sorted(found), key=found.__getitem__) for word, found in sorted(forms.items())}
    cased = counts["cased"] > counts["small"]
    many = counts["cased"] + counts["small"]
    return Style(
        cased,
        counts["spaced"] > counts["close"],
        counts["apostrophes"] * 50 > many,
        counts["parted"] * 500 > many,
        cased and counts["titled values"] * 50 < counts["values"],
        {word: form for word, form in capitals.items() if cased and word != form},
    )


def filled(text: str, values: Sequence[Filled], style: Style) -> str:
    """The utterance. An article, a counted noun and a repeated word agree with the value that is put in."""
    words = [word for word in words_in(text) if not _is_foreign(word, len(values))]
    given = [_cased_value(value, style) if style.cased else value.value for value in values]
    joined = _joined(_without_repeats(words, [words_in(value) for value in given]), style)
    if style.cased:
        joined = _SENTENCE.sub(lambda match: match[0][:-1] + match[1].upper(), _cased(joined, style))
    changes = [
        _change(joined, match, given[int(match[1]) - 1], cased=style.cased) for match in _PLACEHOLDER.finditer(joined)
    ]
    return editing.apply(joined, surface.edits(joined, changes))


def _is_foreign(word: str, count: int) -> bool:
    """A placeholder that stands for nothing."""
    match = _PLACEHOLDER.fullmatch(word)
    return match is not None and not 0 < int(match[1]) <= count


def _change(text: str, match: re.Match[str], value: str, *, cased: bool) -> tuple[int, int, str]:
    """What to put, and where: with the noun after a number if that must change, `2 people` -> `1 person`."""
    start, end = match.span()
    if value.isdecimal():
        one = int(value) == 1
        if one or _PERSON.match(text, end):
            end, noun = surface.counted(text, end, 2 if one else 1, int(value))
            return start, end, value + noun
    if text[end : end + 1] == "s":  # an ending that was apart
        end, value = end + 1, surface.plural(value)
    return start, end, value[:1].upper() + value[1:] if cased and surface.opens_sentence(text, start) else value


def _without_repeats(words: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
    """Words around a value that the value has itself: "the <value_1> hotel" for "the lensfield hotel"."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        match = _PLACEHOLDER.fullmatch(word)
        if match:
            value = values[int(match[1]) - 1]
            if kept and value[:1] == ["the"] and kept[-1] == "the":
                kept.pop()
            at += next((size for size in (2, 1) if len(value) > size and words[at : at + size] == value[-size:]), 0)
        kept.append(word)
    return kept


def _joined(words: Iterable[str], style: Style) -> str:
    """Words with the blanks that the style has."""
    text = ""
    known = _table()
    for word in words:
        if style.apostrophes and word in known["clipped"] and text:
            word = f"'{word}"
        if word[:1] == "-" and len(word) > 1 and not style.parted:
            text += "" if text.endswith("s") and word == "-s" else word[1:]
        elif text and not (style.spaced or text[-1] in known["opening"]) and word[:1] in known["closing"]:
            text += word
        else:
            text += f" {word}" if text else word
    return text


def _cased(text: str, style: Style) -> str:
    return re.sub(r"(?<![<_\w])[^\W\d_]+(?![_>])", lambda match: style.capitals.get(match[0], match[0]), text)


def _cased_value(value: Filled, style: Style) -> str:
    text = value.value
    if text != text.lower() or any(map(str.isdigit, text)):
        return text if text != text.lower() else _cased(text, style)
    if not (value.name and style.titled) or text in surface.table()["common"]:
        return _cased(text, style)
    return surface.titled(text)


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "filler.toml")
