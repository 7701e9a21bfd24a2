"""Values in place of placeholders, in the form that people say them in at that place."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dstress.dialogue import Schema
from dstress.generators.templates.delexical import PLURAL, SurfaceForm
from dstress.generators.templates.tokens import element_in, is_flag_mark, lists, words
from dstress.text import inflection
from dstress.text.edits import apply
from dstress.text.letters import fold
from dstress.text.numbers import number_of
from dstress.text.slot_kinds import kind_of
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.times import date_of, time_of
from dstress.text.writing_style import WritingStyle, is_common_noun, write_title

_PLACEHOLDER = re.compile(r"\[[^\[\]]+\]( -s\b)?")
_KEPT = 24
"""Tokens after a value that decide how it is said, at most."""
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b")


class Filler:
    """Knows how the training corpus says each value, before which words."""

    def __init__(self, surfaces: Iterable[SurfaceForm], schema: Schema) -> None:
        counts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for form in surfaces:
            if not _is_measured(form.value):
                shown = " ".join(form.words.lower().split()).removesuffix(" -s")
                counts[form.slot, fold(form.value)][shown, form.after] += 1
        self._usual = {key: _usual_forms(of_value) for key, of_value in sorted(counts.items())}
        self._schema = schema

    def fill(self, tokens: Sequence[str], values: Mapping[str, str], style: WritingStyle) -> str:
        """The text of a template with values, still in tokens; empty where a value does not go into it."""
        text = " ".join(token for token in tokens if not is_flag_mark(token))
        changes = []
        for match in _PLACEHOLDER.finditer(text):
            slot = element_in(match.group().removesuffix(f" {PLURAL}"))
            change = self._change(text, match, slot, values[slot], style)
            if change is None:
                return ""
            changes.append(change)
        return apply(text, inflection.edits_with_articles(text, changes))

    def _change(
        self, text: str, match: re.Match[str], slot: str, value: str, style: WritingStyle
    ) -> tuple[int, int, str] | None:
        """Start and end of what a value replaces, and the words for it; nothing where it does not go into the text."""
        start, end = match.span()
        number = number_of(value)
        if number is not None and time_of(value) is None:
            stop, noun = inflection.count_noun(text, end, 2, int(number))
            if number == 1 and not noun:
                stop, noun = _singular_after(text, end)
            return start, stop, value + noun
        if _is_measured(value):
            return start, end, f"the {value}" if _ORDINAL.match(value) and not text[:start].endswith("the ") else value
        is_plural = match.group(1) is not None
        if inflection.plural(fold(value)) == fold(value) and (is_plural or re.search(r"\ban? $", text[:start])):
            return None  # "a architecture", "nightlifes"
        after = text[end:].split(maxsplit=1)[:1] or [">"]
        shown = self._usual_form(slot, value, after[0])
        if is_plural:
            is_split = style.endings_apart and shown in words("names.parted")
            shown = f"{shown} {PLURAL}" if is_split else inflection.plural(shown)
        is_name = is_named_entity_slot(slot, self._schema)
        if style.cased:
            shown = _capitalise(shown, value, style.titled and (is_name or kind_of(slot) == "food"))
        if not is_name:
            return start, end, shown
        return inflection.place_name(text, start, end, shown, town=kind_of(slot) == "town")

    def _usual_form(self, slot: str, value: str, after: str) -> str:
        """The most usual words for a value before this token; the value itself where nothing is known."""
        known = self._usual.get((slot, fold(value)))
        if known is None:
            return str(inflection.table()["written"].get(value, value))
        by_after, usual = known
        return by_after.get(after, usual)


def _singular_after(text: str, end: int) -> tuple[int, str]:
    """The end of a counted noun after a placeholder, and one of it: " stars" in "[stars] stars" is " star"."""
    for singular, plural in lists()["units"].items():
        if re.match(rf" {plural}\b", text[end:]):
            return end + 1 + len(plural), f" {singular}"
    return end, ""


def _is_measured(value: str) -> bool:
    return time_of(value) is not None or number_of(value) is not None or date_of(value) is not None


def _usual_forms(counts: Counter[tuple[str, str]]) -> tuple[dict[str, str], str]:
    """The most usual words before each of the most usual tokens, and over all."""
    over_all: Counter[str] = Counter()
    by_after: dict[str, Counter[str]] = defaultdict(Counter)
    for (shown, after), number in sorted(counts.items()):
        over_all[shown] += number
        by_after[after][shown] += number
    often = sorted(by_after.items(), key=lambda item: (-item[1].total(), item[0]))[:_KEPT]
    return {after: _most_usual(forms) for after, forms in often if forms.total() > 1}, _most_usual(over_all)


def _most_usual(counts: Counter[str]) -> str:
    return min(counts.items(), key=lambda item: (-item[1], item[0]))[0]


def _capitalise(shown: str, value: str, is_name: bool) -> str:
    """A value in its own capitals, or in those that names have."""
    if fold(shown) == fold(value) and value != value.lower():
        return value
    return write_title(shown) if is_name and shown == shown.lower() and not is_common_noun(shown) else shown
