"""The default utterance generator: delexicalised user utterances of a training corpus, chosen, joined and filled."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from dstress.dialogue import Schema
from dstress.resources import Material, Resources
from dstress.storage.fits import load_or_fit
from dstress.stressors.generators.base import Candidate, Generator, Goal, Request
from dstress.stressors.generators.matching import find_unsaid
from dstress.stressors.generators.templates.acts.composition import compose
from dstress.stressors.generators.templates.acts.learning import ActLibrary, learn_for
from dstress.stressors.generators.templates.acts.turns import has_acts
from dstress.stressors.generators.templates.composition import Composer
from dstress.stressors.generators.templates.delexical import PLURAL, SurfaceForm
from dstress.stressors.generators.templates.learning import Learned, learn
from dstress.stressors.generators.templates.library import borrow_templates
from dstress.stressors.generators.templates.system_acts import ActTagger
from dstress.stressors.generators.templates.tokens import element_for, has_phrase, is_flag_mark, lists, words
from dstress.text import inflection
from dstress.text.letters import fold
from dstress.text.mentions import find_value
from dstress.text.numbers import number_of
from dstress.text.slot_names import is_named_entity_slot, kind_of
from dstress.text.times import calendar_words, date_of, time_of
from dstress.text.utterance import random_for
from dstress.text.writing_style import (
    CONTRACTION,
    WritingStyle,
    corpus_style,
    is_common_noun,
    space_contractions,
    write_title,
)

_PLACEHOLDER = re.compile(rf"\[([^\[\]]+)\]( {PLURAL}\b)?")
_KEPT = 24  # tokens after a value that decide how it is said, at most
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b")
_BEFORE_MARK = re.compile(rf" (?=[.,?!;:]|{CONTRACTION}|'t\b)")
_SUFFIX = re.compile(r"(\w+) -(s|ly|er)\b")
_STARTS = re.compile(r"(^|[.?!] )([a-z])")
_I = re.compile(r"\bi(?=\b(?!-))")
_SPREAD = 0.35  # chance among phrasings that are nearly as good as each other


class Templates(Generator):
    """Says goals with templates learned from a training corpus; needs no weights."""

    _by_acts: ActLibrary | None = None
    _tagger: ActTagger
    _composer: Composer
    _filler: Filler
    _style: WritingStyle

    def prepare(self, resources: Resources, train: Material) -> None:
        """Learn templates, and how the corpus to be stressed writes."""
        if has_acts(train):
            self._by_acts = learn_for(resources, train)
            return
        learned = load_or_fit(resources.folder, type(self), train, Learned, lambda: learn(train))
        self._tagger = learned.tagger
        library = borrow_templates(learned.library, resources.schema, learned.vocabulary)
        self._composer = Composer(library, learned.flag_words, learned.vocabulary.introducing)
        self._filler = Filler(learned.surfaces, resources.schema)
        self._style = corpus_style(resources.corpus)

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """By acts where turns have them, else by the words of the system's turn."""
        if self._by_acts is None:
            return [self._compose(system, goal, n) for system, goal, *_ in requests]
        return [compose(self._by_acts, request, n) for request in requests]

    def _compose(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        if not goal.spoken or n < 1:
            return []
        elements = {slot: element_for(slot, value) for slot, value in goal.spoken.items()}
        key = frozenset(elements.values())
        heard = frozenset(elements[slot] for slot in elements if find_value(system, slot, (goal.spoken[slot],)))
        act = self._tagger.tag(system)
        if goal.may_decline and act.kind == "asks" and act.kind_toward(key) == "turns":
            return []  # whatever is said leaves the question unanswered, and nobody has said it
        act = act._replace(offers=act.offers and goal.may_decline)
        phrasings = self._composer.compose(key, act, goal.unspoken, heard)
        random = random_for("templates", system, sorted(goal.spoken.items()), sorted(goal.unspoken.items()))
        scored = [(phrasing.score + random.gauss(0.0, _SPREAD), phrasing.tokens) for phrasing in phrasings]
        candidates: dict[str, float] = {}
        for score, tokens in sorted(scored, key=lambda item: (-item[0], item[1])):
            text = write_sentence(self._filler.fill(tokens, goal.spoken, self._style), self._style)
            fits = text and text not in candidates and not has_phrase(text.lower(), "misfits")
            if fits and not find_unsaid(text, goal):
                candidates[text] = score
                if len(candidates) >= n:
                    break
        return [Candidate(text, score) for text, score in candidates.items()]


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
