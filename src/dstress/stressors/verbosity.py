"""More words than needed, one of RADDLE's language variations (Peng et al. 2021, section 4.1).

What a rambling person adds fits the kind of clause: openers, hedges, asides and reasons for a request, apologies for a
question, time to think before an answer, compliments at the end. Nothing of it names, asks for or leaves open a value;
all words of the utterance stay. RADDLE's workers wrote theirs; ours are put together from `verbosity.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any, ClassVar, NamedTuple, TypeVar

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.stressors.base import Outcome, TurnStressor
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges, Utterance
from dstress.text.writing_style import WritingStyle, capitalise, corpus_style, style_of, write

T = TypeVar("T")

MOST = 4
"""Additions to one utterance; more would say the same again."""

_CHOICE = re.compile(r"\{([^{}]*)\}")
_SHORTHAND = re.compile(r"'|LAST| ")
_WRITTEN = {"'": r"(?:\s?['’]|\s)", "LAST": r"(?=\s*[.?!,]|\s*$)", " ": r"\s+"}
_ENDINGS = (".", "!", "?")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_JOINABLE = re.compile(r"[A-Za-z0-9]")
_CLAUSE_MARK = re.compile(r"[.!?,]")
_BRIEF = 8
"""Words of a short answer."""


class Verbosity(TurnStressor):
    """The same with more words than needed: openers, hedges, asides, reasons, politeness. Every value stays.

    `additions` is how much is added, from 1 to 4: before the main clause, in its first words, at the end.
    """

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
        style = style_of(utterance.text, utterance.turn.system, self._usual)
        return lengthened(
            utterance.text, utterance.protected, utterance.random, style, utterance.turn.system, self.additions
        )


def lengthened(
    text: str, protected: Ranges, random: Random, style: WritingStyle, system: str = "", additions: int = 2
) -> str:
    """An utterance with additions; as it is where it has no words of a language that they could join."""
    lower = text.lower()
    words = list(_WORD.finditer(lower))
    if not words or len(lower) != len(text) or not _JOINABLE.search(text):
        return text
    if protected and protected[-1][1] > len(text.rstrip()):
        return text  # blanks that must stay at the end
    shape = _shape(text, words, protected, system)
    longer = list(_longer_clauses(lower, words, protected))
    ways = ["after"]
    if longer:
        ways.append("within")
    if shape.opens and not (longer and shape.kind == "closing"):
        ways.append("before")
    chosen = _some(ways, additions, random)
    lead, core = text[: shape.start], text[shape.start :]
    if "within" in chosen:
        start, end, says = _one(longer, random)
        said = _said_within(text, start, write(_one(says, random), style), style)
        if start < shape.start:
            lead = text[:start] + said + text[end : shape.start]
        else:
            core = text[shape.start : start] + said + text[end:]
    if "before" in chosen:
        lead, core = _opened(lead, core, shape, style, random)
    asides = additions - len(chosen) + ("after" in chosen)
    return _closed(lead + core, shape.kind, style, random, asides)


class _Shape(NamedTuple):
    """`start`: where the main clause begins, after "Yes ," and its like. `opens`: whether words may come before it."""

    kind: str
    start: int
    opens: bool
    first: bool
    free: bool


def _shape(text: str, words: list[re.Match[str]], protected: Ranges, system: str) -> _Shape:
    tables = _tables()
    lower = text.lower()
    lead = tables.lead.match(lower)
    start = lead.end() if lead else 0
    said = [word.group() for word in words]
    core = [word.group() for word in words if word.start() >= start] if start else said
    kind = _closing_kind(lower, said, core, bool(protected) and protected[-1][1] > start) or _clause_kind(
        lower[start:], core, system
    )
    free = not any(begin <= start < end for begin, end in protected)
    opens = bool(core) and core[0] not in tables.linked and kind in tables.before
    # A capital that is no mere beginning, as of a name nobody marked, would stand in the middle of the sentence.
    if opens and free and text[start].isupper() and kind != "answer":
        opens = core[0].partition("'")[0] == "i" or _loses_capital(core[0])
    return _Shape(kind, start, opens, not system, free)


def _closing_kind(lower: str, said: list[str], core: list[str], has_values: bool) -> str:
    """The kind of an utterance that asks for nothing; empty if it asks for something."""
    tables = _tables()
    if "?" in lower:
        return ""
    if tables.done.search(lower):
        return "closing"
    if not tables.wish.isdisjoint(core):
        return ""
    if not tables.farewell.isdisjoint(said):
        return "closing"
    if has_values or len(said) > _BRIEF:
        return ""
    if said[0] in tables.refusal:
        return "decline"
    if said[0] in tables.consent or not tables.approval.isdisjoint(said):
        return "answer" if "right" in said or "correct" in said else "confirm"
    return ""


def _clause_kind(lower: str, core: list[str], system: str) -> str:
    """What kind of clause it is, by its first words and a few signs; see `verbosity.toml`."""
    tables = _tables()
    if not core:
        return "statement"
    wish = "?" in lower or not tables.wish.isdisjoint(core)
    if core[0] in tables.plea and core[1:2] in (["you"], ["i"], ["we"]):
        return "plea"
    if core[0] in tables.kinds:
        kind = tables.kinds[core[0]]
        return "statement" if kind == "request" and not wish else kind
    if "?" in lower.partition(".")[0]:
        return "question"
    if system.rstrip().endswith("?") and len(core) <= _BRIEF:
        return "answer"
    return "fragment" if wish else "statement"


def _longer_clauses(lower: str, words: list[re.Match[str]], protected: Ranges) -> Iterator[tuple[int, int, list[str]]]:
    """Clauses whose first words have a longer form: where these words stand, and what is said instead."""
    tables = _tables()
    end, joint = 0, True
    for word in words:
        start, stop = word.span()
        first = word.group()
        plain = first.partition("'")[0] if "'" in first else first
        forms = tables.within.get(plain)
        if forms and (joint or _CLAUSE_MARK.search(lower, end, start)):
            for rest, says in forms:
                found = rest.match(lower, start + len(plain))
                if found and not any(begin < found.end() and start < until for begin, until in protected):
                    yield start, found.end(), says
                    break
        end, joint = stop, first in tables.joints and not lower.endswith("ahead ", 0, start)


def _said_within(text: str, start: int, said: str, style: WritingStyle) -> str:
    """The longer form in the place of the shorter one, with its first word and its capital."""
    first = _WORD.match(text, start)
    said = said.replace("%", first.group().lower() if first else "")
    opens = text[:start].rstrip()[-1:] in ("", *_ENDINGS)
    return capitalise(said) if opens and text[start].isupper() else said


def _opened(lead: str, core: str, shape: _Shape, style: WritingStyle, random: Random) -> tuple[str, str]:
    """Words before the main clause: a clause it goes on from, or at the start of a dialogue a sentence of its own."""
    tables = _tables()
    phrases = tables.before[shape.kind]
    if shape.first and shape.kind in ("request", "question", "order", "plea") and random.random() < 0.5:
        phrases = tables.opening
    phrase = _one(_one(phrases, random), random)
    after_comma = lead.rstrip()[-1:] not in ("", *_ENDINGS)
    piece = write(_lowered(phrase) if after_comma else phrase, style)
    if not shape.free or not style.cased:
        return lead + piece + " ", core
    return lead + piece + " ", capitalise(core) if phrase.endswith(".") else _lowered(core)


def _closed(text: str, kind: str, style: WritingStyle, random: Random, asides: int) -> str:
    """Sentences at the end; the utterance gets a full stop first if it has none."""
    if not asides:
        return text
    body = text.rstrip()
    if not body.endswith(_ENDINGS):
        body += (" " if style.spaced else "") + ("?" if kind in ("question", "plea") else ".")
    if kind == "question" and not body.endswith("?"):
        kind = "request"  # a question that went on to something else
    phrases = _tables().after[kind]
    said = [write(_one(readings, random), style) for readings in _some(phrases, asides, random)]
    return " ".join([body, *said])


def _some(items: list[T], count: int, random: Random) -> list[T]:
    """Different ones, drawn by chance. `Random.sample` does the same in five times the time."""
    left = items.copy()
    return [left.pop(int(random.random() * len(left))) for _ in range(min(count, len(left)))]


def _one(items: list[T], random: Random) -> T:
    return items[int(random.random() * len(items))]


def _lowered(text: str) -> str:
    """The text with a small first letter, if its first word is one that may lose its capital."""
    word = _WORD.match(text)
    return text[0].lower() + text[1:] if word and _loses_capital(word.group().lower()) else text


def _loses_capital(word: str) -> bool:
    return word.replace("’", "'").partition("'")[0] in _tables().small


Phrases = list[list[str]]
"""Lines of the table, each with all of its readings. A line is drawn first, so that one with many is not said more."""


class _Tables(NamedTuple):
    opening: Phrases
    before: dict[str, Phrases]
    after: dict[str, Phrases]
    within: dict[str, list[tuple[re.Pattern[str], list[str]]]]
    small: frozenset[str]
    linked: frozenset[str]
    kinds: dict[str, str]
    plea: frozenset[str]
    wish: frozenset[str]
    farewell: frozenset[str]
    consent: frozenset[str]
    approval: frozenset[str]
    refusal: frozenset[str]
    joints: frozenset[str]
    done: re.Pattern[str]
    lead: re.Pattern[str]


@cache
def _tables() -> _Tables:
    read: dict[str, Any] = read_table(__package__, "data/verbosity.toml")
    within: dict[str, list[tuple[re.Pattern[str], list[str]]]] = {}
    for words, rest, says in read["within"]["forms"]:
        for word in words.split():
            within.setdefault(word, []).append((_compiled(rest), says))
    before = {kind: _phrases(lines) for kind, lines in read["before"].items()}
    after = {kind: _phrases(lines) for kind, lines in read["after"].items()}
    small = {_first(phrase) for lines in before.values() for line in lines for phrase in line}
    kinds, signs = read["kinds"], read["signs"]
    return _Tables(
        _phrases(read["opening"]["first"]),
        before,
        after | dict.fromkeys(("order", "plea", "fragment"), after["request"]),
        within,
        frozenset(read["joining"]["small"]) | small - {"i"},
        frozenset(kinds["linked"]),
        {word: kind for kind in ("question", "order", "request", "statement") for word in kinds[kind]},
        frozenset(kinds["plea"]),
        frozenset(signs["wish"]),
        frozenset(signs["farewell"]),
        frozenset(signs["consent"]),
        frozenset(signs["approval"]),
        frozenset(signs["refusal"]),
        frozenset(signs["joints"]),
        re.compile(signs["done"]),
        re.compile(signs["lead"]),
    )


def _phrases(lines: list[str]) -> Phrases:
    return [list(_expanded(line)) for line in lines]


def _expanded(line: str) -> Iterator[str]:
    """Every reading of a line with {choices}; blanks that a missing choice leaves are mended."""
    parts = _CHOICE.split(line)
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    for chosen in product(*choices):
        yield capitalise(" ".join("".join(chosen).split()))


def _first(phrase: str) -> str:
    return phrase.partition(" ")[0].partition("'")[0].strip(",.:").lower()


def _compiled(rest: str) -> re.Pattern[str]:
    return re.compile(_SHORTHAND.sub(lambda found: _WRITTEN[found.group()], rest))
