"""Telegraphic requests, one of RADDLE's language variations (Peng et al. 2021, section 4.1).

"Users express their intents using fewer words to be concise": greetings, politeness, fillers, request formulas,
auxiliaries and articles go. Values, negations, the prepositions that give a value its slot, question words, requested
attributes and references such as "the same day" stay. RADDLE's workers wrote theirs; rules write ours, without chance.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from random import Random
from typing import ClassVar, Literal, NamedTuple, get_args

from dstress.dialogue import update
from dstress.errors import SpecError
from dstress.stressors.base import Outcome, Rewriter
from dstress.text.edits import replace_places
from dstress.text.tables import expand_shorthand, read_table
from dstress.text.utterance import Ranges, Utterance

Part = Literal["fillers", "openers", "acknowledgements", "politeness", "requests", "auxiliaries", "articles"]

VALUE = "ꙮ"
"""Stands for a value while the rules work: a letter without case that nobody writes."""

_PLACES = {"kept": 0, "anywhere": 0, "after": 0, "clause": 1, "sentence": 2}
_JOINTS = frozenset({"and", "but", "so", "yes", "yeah", "yep", "no", "nope", "sure", "also"})
_STOPS = frozenset(".!?")
_WORD = re.compile(r"\w+")
_LOOSE_START = re.compile(r"^[\s,.;!?-]+(?=\w)")
_LOOSE_MARKS = re.compile(r"\s*,(?=\s*[.?!,])|(?<=[.!?])(?:\s*[.,])+(?=\s|$)|(?:\s*,)?\s*$")
_FIRST_LETTER = re.compile(r"(^\W*|[.!?]\s+)([a-z])")
_SMALL_SENTENCE = re.compile(r"[.!?]\s+[a-z]")
_OFFER = re.compile(
    r"\b(?:can|could|may|shall|should) i (?!help|assist|do|get)\w+[^.?!]*\?"
    r"|(?:^|[.!?,]\s)\W*(?:would|do) you (?:like|want)\b[^.?!]*\?\W*$"
)
_ORDER = re.compile(
    r"((?:^|[.!?,] )(?:(?:yes|and|but|also|then|so|now) )?"
    r"(?:arrange|book|check|find|give|look|make|recommend|reserve|search|send|show|suggest|tell)\b[^.?!]*)\?",
    re.IGNORECASE,
)
"""An order that was a question: "can you find a place ?"."""


class Simplification(Rewriter):
    """The same request in fewer words, as a telegram. Values, negations, prepositions and questions stay.

    `parts` names what goes: fillers, openers, acknowledgements, politeness, requests, auxiliaries, articles. A turn
    that adds values which only the system named, or follows on an offer, keeps its acknowledgements: they accept.
    """

    languages = ("en",)
    rephrases: ClassVar[bool] = True

    def __init__(self, parts: tuple[Part, ...] = get_args(Part)) -> None:
        if not parts:
            raise SpecError("simplification: parts is empty", fix=f"name some of {', '.join(get_args(Part))}")
        self.parts = tuple(parts)
        self._forms = _forms(frozenset(parts))
        self._accepting = _forms(frozenset(parts) - {"acknowledgements"})

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance in fewer words; it is seen whether it accepts an offer."""
        changed = update(utterance.before, utterance.turn.state)
        accepts = bool(changed) and not changed.keys() <= {mention.slot for mention in utterance.mentions}
        accepts = accepts or bool(_OFFER.search(utterance.turn.system.lower()))
        return _telegram(utterance.text, utterance.protected, self._accepting if accepts else self._forms)

    def rewrite(self, utterance: str, protected: Ranges, random: Random) -> str:
        """The utterance without what can go, by its words alone."""
        return _telegram(utterance, protected, self._forms)


class _Form(NamedTuple):
    """What follows on a first word, where both may stand, and what they become: a text, or FIRST for the first word."""

    rest: str
    at: str
    place: int
    replacement: str


Forms = list[dict[str, tuple[re.Pattern[str], list[_Form]]]]
"""By how much of a beginning there is: first word -> the forms that may begin with it, in the rules' order, in one
pattern. The number of the empty group that matched tells which it is."""


def _telegram(utterance: str, protected: Ranges, forms: Forms) -> str:
    """The utterance without what the forms drop. Where nothing would be left, it stays."""
    # Each value hides behind one letter. Where that letter is written, nothing can be hidden behind it.
    values = [utterance[start:end] for start, end in protected]
    hidden = replace_places(utterance, ((start, end, VALUE) for start, end in protected))
    short = _shorten(hidden, forms)
    if short == hidden:
        return utterance
    short = _tidy(short, utterance)
    if short.count(VALUE) != len(values) or not any(map(str.isalnum, short)):
        return utterance
    return "".join(part for pair in zip(short.split(VALUE), [*values, ""], strict=True) for part in pair)


def _shorten(text: str, forms: Forms) -> str:
    """One pass from left to right; at each word the first form that fits is applied."""
    lower = text.lower()
    if len(lower) != len(text):
        return text  # a letter whose small form is longer, as in Turkish: places would not agree
    parts: list[str] = []
    copied = end = 0
    place = 2  # how much of a beginning the next word follows on: 2 of a sentence, 1 of a clause
    for match in _WORD.finditer(lower):
        start, stop = match.span()
        if start < end:
            continue
        word = match.group()
        if start != end + 1 or lower[end] != " ":  # most gaps are a blank, which begins nothing
            gap = lower[end:start]
            place = max(place, 2 if not _STOPS.isdisjoint(gap) else 1 if "," in gap or ";" in gap else 0)
        choice = forms[place].get(word)
        rest = choice[0].match(lower, stop) if choice else None
        if not choice or not rest:
            end, place = stop, 1 if word in _JOINTS else 0
            continue
        form, end = choice[1][(rest.lastindex or 1) - 1], rest.end()
        if form.at == "kept":
            place = 0
            continue
        before = text[copied:start]
        parts += (
            before.rstrip(" ,") if form.at == "after" else before,
            text[start:stop] if form.replacement == "FIRST" else form.replacement,
        )
        while form.place and lower[end : end + 1].isspace():
            end += 1
        copied = end
    return "".join(parts) + text[copied:]


def _tidy(short: str, before: str) -> str:
    """Without the commas and blanks that stood beside what went; sentences begin as they did."""
    short = _ORDER.sub(r"\1.", _LOOSE_MARKS.sub("", _LOOSE_START.sub("", short)))
    if not before.lstrip()[:1].isupper():
        return short
    if _SMALL_SENTENCE.search(before):
        return short[:1].upper() + short[1:]
    return _FIRST_LETTER.sub(lambda match: match.group(1) + match.group(2).upper(), short)


@cache
def _forms(parts: frozenset[str]) -> Forms:
    by_place: list[dict[str, list[_Form]]] = [{}, {}, {}]
    for rule in read_table(__package__, "data/simplification.toml")["rule"]:
        if rule["part"] != "all" and rule["part"] not in parts:
            continue
        for words, rest in rule["forms"]:
            pattern = expand_shorthand(rest).replace("V", VALUE)
            form = _Form(pattern, rule["at"], _PLACES[rule["at"]], rule.get("becomes", ""))
            for word, by_word in product(words.split(), by_place[form.place :]):
                by_word.setdefault(word, []).append(form)

    def join(forms: list[_Form]) -> tuple[re.Pattern[str], list[_Form]]:
        patterns = "|".join(rf"(?:{form.rest})()" for form in forms)
        return re.compile(rf"(?:{patterns})(?:(?<=[\s.,!?])|(?!\w))"), forms

    return [{word: join(forms) for word, forms in by_word.items()} for by_word in by_place]
