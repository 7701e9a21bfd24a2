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
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges, Utterance

Part = Literal["fillers", "openers", "acknowledgements", "politeness", "requests", "auxiliaries", "articles"]

VALUE = "ꙮ"
"""Stands for a value while the rules work: a letter without case that nobody writes."""

_PLACES = {"kept": 0, "anywhere": 0, "after": 0, "clause": 1, "sentence": 2}
_JOINTS = frozenset({"and", "but", "so", "yes", "yeah", "yep", "no", "nope", "sure", "also"})
_WORD = re.compile(r"\w+")
_APOSTROPHE = r"(?:\s?['’]|\s)"
_WRITTEN = {
    "n't": rf"{_APOSTROPHE}?n['’]?t",
    "'": _APOSTROPHE,
    " ?": r"\s*",
    " ": r"\s+",
    "V": VALUE,
    "LAST": r"(?=\s*[.?!,]|\s*$)",
}
_SHORTHAND = re.compile(r"n't|'| \?| |V|LAST")
_LOOSE_START = re.compile(r"^[\s,.;!?-]+(?=\w)")
_LOOSE_MARKS = re.compile(r"\s*,(?=\s*[.?!,])|(?<=[.!?])(?:\s*[.,])+(?=\s|$)|(?:\s*,)?\s*$")
_FIRST_LETTER = re.compile(r"(^\W*|[.!?]\s+)([a-z])")
_SMALL_SENTENCE = re.compile(r"[.!?]\s+[a-z]")


class Simplification(Rewriter):
    """The same request in fewer words, as a telegram. Values, negations, prepositions and questions stay.

    `parts` names what goes: fillers, openers, acknowledgements, politeness, requests, auxiliaries, articles. A turn
    that adds values which only the system named keeps its acknowledgements: they accept these values.
    """

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
        return _telegram(utterance.text, utterance.protected, self._accepting if accepts else self._forms)

    def rewrite(self, utterance: str, protected: Ranges, random: Random) -> str:
        """The utterance without what can go, by its words alone."""
        return _telegram(utterance, protected, self._forms)


class _Form(NamedTuple):
    rest: str
    at: str
    place: int
    said: str


class _Choice(NamedTuple):
    """All forms of one first word in one pattern; the number of the empty group that matched tells which it is."""

    rest: re.Pattern[str]
    forms: list[_Form]


Forms = list[dict[str, _Choice]]
"""By how much of a beginning there is: first word -> the forms that may begin with it, in the rules' order."""


def _telegram(utterance: str, protected: Ranges, forms: Forms) -> str:
    """The utterance without what the forms drop. Where nothing would be left, it stays."""
    hidden = _hidden(utterance, protected)
    short = _shortened(hidden, forms)
    if short == hidden:
        return utterance
    short = _tidied(short, utterance)
    if short.count(VALUE) != len(protected) or not any(map(str.isalnum, short)):
        return utterance
    return _shown(short, [utterance[start:end] for start, end in protected])


def _hidden(text: str, protected: Ranges) -> str:
    """The text with each value behind one letter. Where that letter is written, nothing can be hidden behind it."""
    parts: list[str] = []
    at = 0
    for start, end in protected:
        parts += text[at:start], VALUE
        at = end
    return "".join(parts) + text[at:]


def _shown(text: str, values: list[str]) -> str:
    return "".join(part for pair in zip(text.split(VALUE), [*values, ""], strict=True) for part in pair)


def _shortened(text: str, forms: Forms) -> str:
    """One pass from left to right; at each word the first form that fits is applied."""
    lower = text.lower()
    if len(lower) != len(text):
        return text  # a letter whose small form is longer, as in Turkish: places would not agree
    parts: list[str] = []
    copied = end = 0
    place = 2
    for word in _WORD.finditer(lower):
        start, stop = word.span()
        if start < end:
            continue
        said = word.group()
        if start != end + 1 or lower[end] != " ":
            place = max(place, _place(lower[end:start]))
        known = forms[place].get(said)
        rest = known.rest.match(lower, stop) if known else None
        if not known or not rest:
            end, place = stop, 1 if said in _JOINTS else 0
            continue
        form, end = known.forms[(rest.lastindex or 1) - 1], rest.end()
        if form.at == "kept":
            place = 0
            continue
        before = text[copied:start]
        parts += (
            before.rstrip(" ,") if form.at == "after" else before,
            text[start:stop] if form.said == "FIRST" else form.said,
        )
        copied = end = _after_blanks(lower, end) if form.place else end
    return "".join(parts) + text[copied:]


def _place(gap: str) -> int:
    """How much of a beginning follows on a gap between words: 2 of a sentence, 1 of a clause."""
    if "." in gap or "!" in gap or "?" in gap:
        return 2
    return 1 if "," in gap or ";" in gap else 0


def _after_blanks(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place


def _tidied(short: str, before: str) -> str:
    """Without the commas and blanks that stood beside what went; sentences begin as they did."""
    short = _LOOSE_MARKS.sub("", _LOOSE_START.sub("", short))
    if not before.lstrip()[:1].isupper():
        return short
    if _SMALL_SENTENCE.search(before):
        return short[:1].upper() + short[1:]
    return _FIRST_LETTER.sub(lambda found: found.group(1) + found.group(2).upper(), short)


@cache
def _forms(parts: frozenset[str]) -> Forms:
    listed: list[dict[str, list[_Form]]] = [{}, {}, {}]
    read = read_table(__package__, "data/simplification.toml")
    for rule in read["rule"]:
        if rule["part"] != "all" and rule["part"] not in parts:
            continue
        for words, rest in rule["forms"]:
            form = _Form(_expanded(rest), rule["at"], _PLACES[rule["at"]], rule.get("said", ""))
            for word, known in product(words.split(), listed[form.place :]):
                known.setdefault(word, []).append(form)
    return [{word: _Choice(_compiled(forms), forms) for word, forms in known.items()} for known in listed]


def _expanded(rest: str) -> str:
    return _SHORTHAND.sub(lambda found: _WRITTEN[found.group()], rest)


def _compiled(forms: list[_Form]) -> re.Pattern[str]:
    choices = "|".join(rf"(?:{form.rest})()" for form in forms)
    return re.compile(rf"(?:{choices})(?:(?<=[\s.,!?])|(?!\w))")
