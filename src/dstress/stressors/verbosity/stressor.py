"""More words than needed, one of RADDLE's language variations (Peng et al. 2021, section 4.1).

What a rambling person adds fits the kind of clause: openers, hedges, asides and reasons for a request, apologies for a
question, time to think before an answer, compliments at the end; and it fits the matter: why somebody wants a place to
stay, and what the last one was like (`details.toml`). Nothing of it names, asks for or leaves open a value;
all words of the utterance stay. RADDLE's workers wrote theirs; ours are put together from `verbosity.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from random import Random
from typing import ClassVar, NamedTuple

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.stressors.base import Outcome, TurnStressor, Unchanged
from dstress.text.tables import expand_shorthand, read_table, word_sets
from dstress.text.tokens import WORD
from dstress.text.utterance import Ranges, Utterance, draw, draw_some
from dstress.text.writing_style import WritingStyle, capitalise, corpus_style, style_of, write

MOST = 4
"""Additions to one utterance; more would say the same again."""

_ENDINGS = (".", "!", "?")
_WISHES = frozenset({"request", "order", "plea", "fragment", "answer", "statement"})
_TOLD = 0.6
"""How often what is said after a wish is about its matter."""
_JOINABLE = re.compile(r"[A-Za-z0-9]")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_CLAUSE_MARK = re.compile(r"[.!?,]")
_TRIES = 8
"""Drafts, before a turn is given up, since each may say a value of the corpus: a restaurant is called Ask."""
_BRIEF = 8
"""Words of a short answer."""


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
        for _ in range(_TRIES):
            longer = lengthen(
                utterance.text, utterance.protected, utterance.random, style, system, self.additions, details
            )
            if self.ontology is None or not self.ontology.adds_value(utterance.text, longer):
                return longer
        return Unchanged("every addition said a value")


def lengthen(
    text: str,
    protected: Ranges,
    random: Random,
    style: WritingStyle,
    system: str = "",
    additions: int = 2,
    details: Sequence[list[str]] = (),
) -> str:
    """An utterance with additions; as it is where it has no words of a language that they could join.

    `details` is what can be told about the utterance's matter.
    """
    lower = text.lower()
    words = list(WORD.finditer(lower))
    if not words or len(lower) != len(text) or not _JOINABLE.search(text):
        return text
    if protected and protected[-1][1] > len(text.rstrip()):
        return text  # blanks that must stay at the end
    kind, begin, opens, is_free = read_clause(text, words, protected, system)
    longer = list(longer_forms(lower, words, protected))
    places = ["after"]
    if longer:
        places.append("within")
    if opens and not (longer and kind == "closing"):
        places.append("before")
    chosen = draw_some(places, additions, random)
    lead, core = text[:begin], text[begin:]
    if "within" in chosen:
        start, end, forms = draw(longer, random)
        # `%` in a form is the first word of the shorter one, and so is its capital.
        first = WORD.match(text, start)
        form = write(draw(forms, random), style).replace("%", first.group().lower() if first else "")
        if text[start].isupper() and text[:start].rstrip()[-1:] in ("", *_ENDINGS):
            form = capitalise(form)
        if start < begin:
            lead = text[:start] + form + text[end:begin]
        else:
            core = text[begin:start] + form + text[end:]
    if "before" in chosen:
        # A clause that the main one goes on from, or at the start of a dialogue a sentence by itself.
        lines = phrases().before[kind]
        if not system and kind in ("request", "question", "order", "plea") and random.random() < 0.5:
            lines = phrases().opening
        phrase = draw(draw(lines, random), random)
        after_comma = lead.rstrip()[-1:] not in ("", *_ENDINGS)
        lead += write(without_capital(phrase) if after_comma else phrase, style) + " "
        if is_free and style.cased:
            core = capitalise(core) if phrase.endswith(".") else without_capital(core)
    asides = additions - len(chosen) + ("after" in chosen)
    if not asides:
        return lead + core
    body = (lead + core).rstrip()
    if not body.endswith(_ENDINGS):
        body += (" " if style.spaced else "") + ("?" if kind in ("question", "plea") else ".")
    if kind == "question" and not body.endswith("?"):
        kind = "request"  # a question that went on to something else
    lines = draw_some(phrases().after[kind], asides, random)
    if details and kind in _WISHES and random.random() < _TOLD:
        lines[0] = draw(details, random)
    return " ".join([body, *[write(draw(readings, random), style) for readings in lines]])


def read_clause(
    text: str, words: Sequence[re.Match[str]], protected: Ranges, system: str
) -> tuple[str, int, bool, bool]:
    """The main clause of an utterance after the system's: its kind, and the character at which it begins.

    Then whether words may come before it, and whether it begins outside every value. `words` are in small letters.
    """
    lower = text.lower()
    lead = _sign("lead").match(lower)
    start = lead.end() if lead else 0
    every = [word.group() for word in words]
    core = [word.group() for word in words if word.start() >= start] if start else every
    has_values = bool(protected) and protected[-1][1] > start
    kind = _clause_kind(lower, start, every, core, has_values, system)
    is_free = not any(begin <= start < end for begin, end in protected)
    opens = bool(core) and core[0] not in _words("kinds.linked") and kind in phrases().before
    # A capital that is no mere beginning, as of a name nobody marked, would stand in the middle of the sentence.
    if opens and is_free and text[start].isupper() and kind != "answer":
        opens = core[0].partition("'")[0] == "i" or loses_capital(core[0])
    return kind, start, opens, is_free


def _clause_kind(lower: str, start: int, every: list[str], core: list[str], has_values: bool, system: str) -> str:
    """What kind of clause it is, by all words, those of the main clause and a few signs; see `verbosity.toml`."""
    clause = lower[start:]
    wishes = not _words("signs.wish").isdisjoint(core)
    if "?" not in lower:
        if _sign("done").search(lower) or not (wishes or _words("signs.farewell").isdisjoint(every)):
            return "closing"
        if not (wishes or has_values) and len(every) <= _BRIEF:
            if every[0] in _words("signs.refusal"):
                return "decline"
            if every[0] in _words("signs.consent") or not _words("signs.approval").isdisjoint(every):
                return "answer" if "right" in every or "correct" in every else "confirm"
    if not core:
        return "statement"
    wishes = wishes or "?" in clause
    if core[0] in _words("kinds.plea") and core[1:2] in (["you"], ["i"], ["we"]):
        return "plea"
    for kind in ("question", "order", "statement", "request"):
        if core[0] in _words(f"kinds.{kind}"):
            return "statement" if kind == "request" and not wishes else kind
    if "?" in clause.partition(".")[0]:
        return "question"
    if system.rstrip().endswith("?") and len(core) <= _BRIEF:
        return "answer"
    return "fragment" if wishes else "statement"


def longer_forms(lower: str, words: Sequence[re.Match[str]], protected: Ranges) -> Iterator[tuple[int, int, list[str]]]:
    """Where clauses of a text in small letters have first words with longer forms, and these forms."""
    within, joints = phrases().within, _words("signs.joints")
    end, joint = 0, True
    for word in words:
        start, stop = word.span()
        first = word.group()
        plain = first.partition("'")[0] if "'" in first else first
        forms = within.get(plain)
        if forms and (joint or _CLAUSE_MARK.search(lower, end, start)):
            for rest, longer in forms:
                match = rest.match(lower, start + len(plain))
                if match and not any(begin < match.end() and start < until for begin, until in protected):
                    yield start, match.end(), longer
                    break
        end, joint = stop, first in joints and not lower.endswith("ahead ", 0, start)


Lines = list[list[str]]
"""Lines of the table, each with all of its readings. A line is drawn first, so that one with many is not said more."""


class Phrases(NamedTuple):
    """What is added, by the kind of clause; `opening` are sentences before a dialogue's first request.

    `within` has, by a clause's first word, what follows on it and the longer forms of both. `small` are the words that
    lose their capital when something comes before them.
    """

    opening: Lines
    before: dict[str, Lines]
    after: dict[str, Lines]
    within: dict[str, list[tuple[re.Pattern[str], list[str]]]]
    small: frozenset[str]


_words = word_sets(__package__, "verbosity.toml")
_table = cache(partial(read_table, __package__, "verbosity.toml"))


@cache
def _sign(name: str) -> re.Pattern[str]:
    return re.compile(_table()["signs"][name])


@cache
def phrases() -> Phrases:
    """The phrases, read once."""
    opening, before, after = (
        {kind: [_readings(line) for line in lines] for kind, lines in _table()[place].items()}
        for place in ("opening", "before", "after")
    )
    within: dict[str, list[tuple[re.Pattern[str], list[str]]]] = {}
    for words, rest, longer_forms in _table()["within"]["forms"]:
        for word in words.split():
            within.setdefault(word, []).append((re.compile(expand_shorthand(rest)), longer_forms))
    first_words = {phrase.split(" ")[0] for lines in before.values() for line in lines for phrase in line}
    small = {word.partition("'")[0].strip(",.:").lower() for word in first_words} - {"i"}
    return Phrases(
        opening["first"],
        before,
        after | dict.fromkeys(("order", "plea", "fragment"), after["request"]),
        within,
        _words("joining.small") | small,
    )


@cache
def domain_details(slot: str) -> Lines:
    """What a person may tell about the matter of a slot id; nothing where it is of no known domain."""
    domains = read_table(__package__, "details.toml").values()
    return next(
        (
            [_readings(line) for line in domain["lines"]]
            for domain in domains
            if re.match(domain["slots"], slot.lower())
        ),
        [],
    )


def _readings(line: str) -> list[str]:
    """Every reading of a line with {choices}; blanks that a missing choice leaves are removed."""
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(_CHOICE.split(line))]
    return [capitalise(" ".join("".join(chosen).split())) for chosen in product(*choices)]


def loses_capital(word: str) -> bool:
    """Whether a word, in small letters, loses its capital inside a sentence."""
    return word.replace("’", "'").partition("'")[0] in phrases().small


def without_capital(text: str) -> str:
    """The text with a small first letter, if its first word is one that may lose its capital."""
    word = WORD.match(text)
    return text[0].lower() + text[1:] if word and loses_capital(word.group().lower()) else text
