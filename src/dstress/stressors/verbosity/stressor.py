"""More words than needed, one of RADDLE's language variations (Peng et al. 2021, section 4.1).

What a rambling person adds fits the kind of clause: openers, hedges, asides and reasons for a request, apologies for a
question, time to think before an answer, compliments at the end; and it fits the matter: why somebody wants a place to
stay, and what the last one was like (`details.toml`). Nothing of it names, asks for or leaves open a value;
all words of the utterance stay. RADDLE's workers wrote theirs; ours are put together from `verbosity.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import ClassVar, NamedTuple, TypeVar

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.stressors.base import Outcome, TurnStressor
from dstress.stressors.verbosity.clauses import Clause, longer_forms, read_clause
from dstress.stressors.verbosity.phrases import domain_details, phrases, without_capital
from dstress.text.utterance import Ranges, Utterance
from dstress.text.writing_style import WritingStyle, capitalise, corpus_style, style_of, write

T = TypeVar("T")

MOST = 4
"""Additions to one utterance; more would say the same again."""

_ENDINGS = (".", "!", "?")
_WISHES = frozenset({"request", "order", "plea", "fragment", "answer", "statement"})
_TOLD = 0.6
"""How often what is said after a wish is about its matter."""
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_JOINABLE = re.compile(r"[A-Za-z0-9]")


class Verbosity(TurnStressor):
    """The same with more words than needed: openers, hedges, asides, reasons, politeness. Every value stays.

    `additions` is how much is added, from 1 to 4: before the main clause, in its first words, at the end.
    """

    languages = ("en",)
    rephrases: ClassVar[bool] = True

    def __init__(self, additions: int = 2) -> None:
        if not 1 <= additions <= MOST:
            raise SpecError(f"verbosity: additions={additions} is out of range", fix=f"give a number from 1 to {MOST}")
        self.additions = additions

    def prepare(self, resources: Resources) -> None:
        """Learn how the corpus writes: a first utterance without punctuation does not show it."""
        super().prepare(resources)
        self._usual = corpus_style(resources.corpus)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance with additions that fit it, the system's question before it, and its style."""
        system = utterance.turn.system
        style = style_of(utterance.text, system, self._usual)
        details = domain_details(utterance.mentions[0].slot) if utterance.mentions else []
        wanted = Additions(self.additions, details)
        return lengthen(utterance.text, utterance.protected, utterance.random, style, system, wanted)


class Additions(NamedTuple):
    """How much is added, and what can be told about the utterance's matter."""

    number: int = 2
    details: Sequence[list[str]] = ()


_USUAL = Additions()


def lengthen(
    text: str, protected: Ranges, random: Random, style: WritingStyle, system: str = "", wanted: Additions = _USUAL
) -> str:
    """An utterance with additions; as it is where it has no words of a language that they could join."""
    lower = text.lower()
    words = list(_WORD.finditer(lower))
    if not words or len(lower) != len(text) or not _JOINABLE.search(text):
        return text
    if protected and protected[-1][1] > len(text.rstrip()):
        return text  # blanks that must stay at the end
    clause = read_clause(text, words, protected, system)
    longer = list(longer_forms(lower, words, protected))
    places = ["after"]
    if longer:
        places.append("within")
    if clause.opens and not (longer and clause.kind == "closing"):
        places.append("before")
    chosen = _draw_some(places, wanted.number, random)
    lead, core = text[: clause.start], text[clause.start :]
    if "within" in chosen:
        start, end, forms = _draw(longer, random)
        form = _fit(write(_draw(forms, random), style), text, start)
        if start < clause.start:
            lead = text[:start] + form + text[end : clause.start]
        else:
            core = text[clause.start : start] + form + text[end:]
    if "before" in chosen:
        lead, core = _open(lead, core, clause, style, random)
    asides = wanted.number - len(chosen) + ("after" in chosen)
    return _close(lead + core, clause.kind, style, random, asides, wanted.details)


def _fit(form: str, text: str, start: int) -> str:
    """A longer form in the place of the shorter one at `start`, with its first word and its capital."""
    first = _WORD.match(text, start)
    form = form.replace("%", first.group().lower() if first else "")
    opens = text[:start].rstrip()[-1:] in ("", *_ENDINGS)
    return capitalise(form) if opens and text[start].isupper() else form


def _open(lead: str, core: str, clause: Clause, style: WritingStyle, random: Random) -> tuple[str, str]:
    """Words before the main clause: a clause it goes on from, or at the start of a dialogue a sentence of its own."""
    lines = phrases().before[clause.kind]
    if clause.first and clause.kind in ("request", "question", "order", "plea") and random.random() < 0.5:
        lines = phrases().opening
    phrase = _draw(_draw(lines, random), random)
    after_comma = lead.rstrip()[-1:] not in ("", *_ENDINGS)
    lead += write(without_capital(phrase) if after_comma else phrase, style) + " "
    if not clause.free or not style.cased:
        return lead, core
    return lead, capitalise(core) if phrase.endswith(".") else without_capital(core)


def _close(text: str, kind: str, style: WritingStyle, random: Random, asides: int, details: Sequence[list[str]]) -> str:
    """Sentences at the end; the utterance gets a full stop first if it has none."""
    if not asides:
        return text
    body = text.rstrip()
    if not body.endswith(_ENDINGS):
        body += (" " if style.spaced else "") + ("?" if kind in ("question", "plea") else ".")
    if kind == "question" and not body.endswith("?"):
        kind = "request"  # a question that went on to something else
    lines = _draw_some(phrases().after[kind], asides, random)
    if details and kind in _WISHES and random.random() < _TOLD:
        lines[0] = _draw(details, random)
    return " ".join([body, *[write(_draw(readings, random), style) for readings in lines]])


def _draw(items: Sequence[T], random: Random) -> T:
    return items[int(random.random() * len(items))]


def _draw_some(items: list[T], count: int, random: Random) -> list[T]:
    """Different ones, drawn by chance. `Random.sample` does the same in five times the time."""
    left = items.copy()
    return [left.pop(int(random.random() * len(left))) for _ in range(min(count, len(left)))]
