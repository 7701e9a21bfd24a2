"""Values in place of placeholders, in the form that people say them in at that place."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dstress.dialogue import Schema
from dstress.generators.templates.delexical import PLURAL, Surface
from dstress.generators.templates.tokens import is_mark, lists, slot_in, words
from dstress.text import inflection as surface
from dstress.text.edits import apply
from dstress.text.letters import fold
from dstress.text.numbers import number_of
from dstress.text.slot_kinds import kind_of
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.times import date_of, time_of
from dstress.text.writing_style import WritingStyle, is_common_noun, write_title

_PLACEHOLDER = re.compile(r"\[[^\[\]]+\]( -s\b)?")
_KEPT = 6
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b")


class Filler:
    """Knows how the training corpus says each value, before which words."""

    def __init__(self, surfaces: Iterable[Surface], schema: Schema) -> None:
        counted: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for one in surfaces:
            if not _is_measured(one.value):
                shown = " ".join(one.words.lower().split()).removesuffix(" -s")
                counted[one.slot, fold(one.value)][shown, one.after] += 1
        self._said = {key: _common(counts) for key, counts in sorted(counted.items())}
        self._schema = schema

    def fill(self, tokens: Sequence[str], said: Mapping[str, str], style: WritingStyle) -> str:
        """The text of a template with values, still in tokens; empty where a value does not go into it."""
        text = " ".join(token for token in tokens if not is_mark(token))
        changes = []
        for match in _PLACEHOLDER.finditer(text):
            slot = slot_in(match.group().removesuffix(f" {PLURAL}"))
            change = self._change(text, match, slot, said[slot], style)
            if change is None:
                return ""
            changes.append(change)
        return apply(text, surface.edits_with_articles(text, changes))

    def _change(
        self, text: str, match: re.Match[str], slot: str, value: str, style: WritingStyle
    ) -> tuple[int, int, str] | None:
        start, end = match.span()
        number = number_of(value)
        if number is not None and time_of(value) is None:
            stop, noun = surface.count_noun(text, end, 2, int(number))
            return _one(text, start, end, value) if number == 1 and not noun else (start, stop, value + noun)
        if _is_measured(value):
            return start, end, f"the {value}" if _ORDINAL.match(value) and not text[:start].endswith("the ") else value
        after = text[end:].split(maxsplit=1)[:1]
        shown = self._shown(slot, value, after[0] if after else ">")
        many = match.group(1) is not None
        if surface.plural(fold(value)) == fold(value) and (many or re.search(r"\ban? $", text[:start])):
            return None  # "a architecture", "nightlifes"
        if many:
            apart = style.endings_apart and shown in words("names.parted")
            shown = f"{shown} {PLURAL}" if apart else surface.plural(shown)
        is_name = is_named_entity_slot(slot, self._schema)
        if style.cased:
            shown = _with_capitals(shown, value, style.titled and (is_name or kind_of(slot) == "food"))
        if not is_name:
            return start, end, shown
        return surface.place_name(text, start, end, shown, town=kind_of(slot) == "town")

    def _shown(self, slot: str, value: str, after: str) -> str:
        """The most usual words for a value before this token; the value itself where nothing is known."""
        known = self._said.get((slot, fold(value)))
        if known is None:
            return str(surface.table()["written"].get(value, value))
        by_after, usual = known
        return by_after.get(after, usual)


def _one(text: str, start: int, end: int, value: str) -> tuple[int, int, str]:
    """One of what is counted after a placeholder: "[stars] stars" is "1 star"."""
    for one, many in lists()["units"].items():
        if re.match(rf" {many}\b", text[end:]):
            return start, end + 1 + len(many), f"{value} {one}"
    return start, end, value


def _is_measured(value: str) -> bool:
    return time_of(value) is not None or number_of(value) is not None or date_of(value) is not None


def _common(counts: Counter[tuple[str, str]]) -> tuple[dict[str, str], str]:
    """The most usual words before each of the most usual tokens, and over all."""
    over_all: Counter[str] = Counter()
    before: dict[str, Counter[str]] = defaultdict(Counter)
    for (said, after), number in sorted(counts.items()):
        over_all[said] += number
        before[after][said] += number
    often = sorted(before.items(), key=lambda item: (-sum(item[1].values()), item[0]))[: 4 * _KEPT]
    usual = {after: _most(counted) for after, counted in often if sum(counted.values()) > 1}
    return usual, _most(over_all)


def _most(counted: Counter[str]) -> str:
    return min(counted.items(), key=lambda item: (-item[1], item[0]))[0]


def _with_capitals(shown: str, value: str, is_name: bool) -> str:
    """A value in its own capitals, or in those that names have."""
    if fold(shown) == fold(value) and value != value.lower():
        return value
    return write_title(shown) if is_name and shown == shown.lower() and not is_common_noun(shown) else shown
