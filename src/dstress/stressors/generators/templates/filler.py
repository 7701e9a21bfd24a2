"""Values in place of placeholders, as people say them there; the text as the corpus to be stressed would write it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from dstress.dialogue import Schema
from dstress.stressors.generators.templates.delexical import PLURAL, SurfaceForm
from dstress.stressors.generators.templates.tokens import is_flag_mark, lists, words
from dstress.text import inflection
from dstress.text.letters import fold
from dstress.text.numbers import number_of
from dstress.text.slot_names import is_named_entity_slot, kind_of
from dstress.text.times import calendar_words, date_of, time_of
from dstress.text.writing_style import CONTRACTION, WritingStyle, is_common_noun, space_contractions, write_title

_PLACEHOLDER = re.compile(rf"\[([^\[\]]+)\]( {PLURAL}\b)?")
_KEPT = 24  # tokens after a value that decide how it is said, at most
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b")
_BEFORE_MARK = re.compile(rf" (?=[.,?!;:]|{CONTRACTION}|'t\b)")
_SUFFIX = re.compile(r"(\w+) -(s|ly|er)\b")
_STARTS = re.compile(r"(^|[.?!] )([a-z])")
_I = re.compile(r"\bi(?=\b(?!-))")


class Filler:
    """Knows how the training corpus says each value, before which words."""

    def __init__(self, surfaces: Iterable[SurfaceForm], schema: Schema) -> None:
        self._schema = schema
        counts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for form in surfaces:
            if not _is_measured(form.value):
                shown = " ".join(form.words.lower().split()).removesuffix(" -s")
                counts[form.slot, fold(form.value)][shown, form.after] += 1
        # The most usual words before each of the most usual tokens, and over all.
        self._usual: dict[tuple[str, str], tuple[dict[str, str], str]] = {}
        for key, of_value in sorted(counts.items()):
            over_all, by_after = Counter[str](), defaultdict[str, Counter[str]](Counter)
            for (shown, after), number in sorted(of_value.items()):
                over_all[shown] += number
                by_after[after][shown] += number
            often = sorted(by_after.items(), key=lambda item: (-item[1].total(), item[0]))[:_KEPT]
            usual_before = {after: _most_usual(forms) for after, forms in often if forms.total() > 1}
            self._usual[key] = usual_before, _most_usual(over_all)

    def fill(self, tokens: Sequence[str], values: Mapping[str, str], style: WritingStyle) -> str:
        """The text of a template with values, still in tokens; empty where a value does not go into it."""
        text = " ".join(token for token in tokens if not is_flag_mark(token))
        changes = [self._change(text, match, values[match[1]], style) for match in _PLACEHOLDER.finditer(text)]
        fitting = [change for change in changes if change is not None]
        return inflection.replace_with_articles(text, fitting) if len(fitting) == len(changes) else ""

    def _change(self, text: str, match: re.Match[str], value: str, style: WritingStyle) -> tuple[int, int, str] | None:
        """Start and end of what a value replaces, and the words for it; nothing where it does not go into the text."""
        slot, start, end = match[1], *match.span()
        number = number_of(value)
        if number is not None and time_of(value) is None:
            stop, noun = inflection.count_noun(text, end, 2, int(number))
            if number == 1 and not noun:
                for singular, plural in lists()["units"].items():
                    if re.match(rf" {plural}\b", text[end:]):  # " stars" in "[stars] stars" becomes " star"
                        stop, noun = end + 1 + len(plural), f" {singular}"
                        break
            return start, stop, value + noun
        if _is_measured(value):
            return start, end, f"the {value}" if _ORDINAL.match(value) and not text[:start].endswith("the ") else value
        is_plural = match[2] is not None
        if inflection.plural(fold(value)) == fold(value) and (is_plural or re.search(r"\ban? $", text[:start])):
            return None  # "a architecture", "nightlifes"
        after = text[end:].split(maxsplit=1)[:1] or [">"]
        if usual := self._usual.get((slot, fold(value))):
            shown = usual[0].get(after[0], usual[1])
        else:
            shown = str(inflection.table()["written"].get(value, value))
        if is_plural:
            is_split = style.endings_apart and shown in words("names.parted")
            shown = f"{shown} {PLURAL}" if is_split else inflection.plural(shown)
        is_name = is_named_entity_slot(slot, self._schema)
        if style.cased and fold(shown) == fold(value) and value != value.lower():
            shown = value  # in capitals of its own
        elif style.cased and style.titled and (is_name or kind_of(slot) == "food"):
            shown = write_title(shown) if shown == shown.lower() and not is_common_noun(shown) else shown
        if not is_name:
            return start, end, shown
        return inflection.place_name(text, start, end, shown, town=kind_of(slot) == "town")


def _is_measured(value: str) -> bool:
    return time_of(value) is not None or number_of(value) is not None or date_of(value) is not None


def _most_usual(counts: Counter[str]) -> str:
    return min(counts.items(), key=lambda item: (-item[1], item[0]))[0]


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
    """Weekdays and months; but `may` is more often a verb, and stays small."""
    names = (name for name in (*calendar_words("weekdays"), *calendar_words("months")) if name != "may")
    return re.compile(rf"\b(?:{'|'.join(names)})\b")
