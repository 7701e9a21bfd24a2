"""From a network's words back to an utterance: values in place of placeholders, written as the corpus writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from dstress.generators.network.vocabulary import words_in
from dstress.text import edits, inflection
from dstress.text.tables import read_table
from dstress.text.writing_style import WritingStyle, capitalise, is_common_noun, opens_sentence, write_title

_PLACEHOLDER = re.compile(r"<value_(\d+)>")
_SENTENCE = re.compile(r"(?:^|[.!?]\s+)([^\W\d_])")
_WORD = re.compile(r"(?<![<_\w])[^\W\d_]+(?![_>])")
_PERSON = re.compile(r"\s+person\b")


class Filled(NamedTuple):
    """A value to put in. `name`: it may be a name, which has capitals where the corpus has them."""

    value: str
    name: bool = True


def fill(text: str, values: Sequence[Filled], style: WritingStyle, capitals: Mapping[str, str]) -> str:
    """The utterance. An article, a counted noun and a repeated word agree with the value that is put in.

    `capitals` are the words that a cased corpus writes with capitals inside sentences.
    """
    shown = [_with_capitals(value, style, capitals) if style.cased else value.value for value in values]
    words = [
        word
        for word in words_in(text)
        if not (match := _PLACEHOLDER.fullmatch(word)) or 0 < int(match[1]) <= len(values)  # others stand for nothing
    ]
    joined = _joined(_without_repeats(words, [words_in(value) for value in shown]), style)
    if style.cased:
        joined = _SENTENCE.sub(lambda match: match[0][:-1] + match[1].upper(), _in_capitals(joined, capitals))
    changes = [
        _change(joined, match, shown[int(match[1]) - 1], cased=style.cased) for match in _PLACEHOLDER.finditer(joined)
    ]
    return edits.apply(joined, inflection.edits_with_articles(joined, changes))


def _change(text: str, match: re.Match[str], value: str, *, cased: bool) -> tuple[int, int, str]:
    """What to put, and where: with the noun after a number if that must change, `2 people` -> `1 person`."""
    start, end = match.span()
    if value.isdecimal():
        is_one = int(value) == 1
        if is_one or _PERSON.match(text, end):
            end, noun = inflection.count_noun(text, end, 2 if is_one else 1, int(value))
            return start, end, value + noun
    if text[end : end + 1] == "s":  # an ending that was apart
        end, value = end + 1, inflection.plural(value)
    return start, end, capitalise(value) if cased and opens_sentence(text, start) else value


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


def _joined(words: Iterable[str], style: WritingStyle) -> str:
    """Words with the blanks that the style has."""
    text = ""
    known = _table()
    for word in words:
        if style.apostrophes and word in known["clipped"] and text:
            word = f"'{word}"
        if word[:1] == "-" and len(word) > 1 and not style.endings_apart:
            text += "" if text.endswith("s") and word == "-s" else word[1:]
        elif text and not (style.spaced or text[-1] in known["opening"]) and word[:1] in known["closing"]:
            text += word
        else:
            text += f" {word}" if text else word
    return text


def _in_capitals(text: str, capitals: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: capitals.get(match[0], match[0]), text)


def _with_capitals(value: Filled, style: WritingStyle, capitals: Mapping[str, str]) -> str:
    """A value as a cased corpus writes it."""
    text = value.value
    if text != text.lower():
        return text
    is_title = value.name and style.titled and not any(map(str.isdigit, text)) and not is_common_noun(text)
    return write_title(text) if is_title else _in_capitals(text, capitals)


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "filler.toml")
