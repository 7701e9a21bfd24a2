"""What kind of clause an utterance has, and where words can be added to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from dstress.stressors.verbosity.phrases import loses_capital, phrases
from dstress.text.tables import read_table
from dstress.text.utterance import Ranges

_CLAUSE_MARK = re.compile(r"[.!?,]")
_BRIEF = 8
"""Words of a short answer."""


class Clause(NamedTuple):
    """The main clause of an utterance, from character `start` on, after "Yes ," and its like.

    `opens`: whether words may come before it. `first`: whether it is the dialogue's first utterance. `free`: whether
    it begins outside every value.
    """

    kind: str
    start: int
    opens: bool
    first: bool
    free: bool


class LongerForm(NamedTuple):
    """From character `start` to `end` a clause has first words that one of `forms` can stand for."""

    start: int
    end: int
    forms: list[str]


class _Signs(NamedTuple):
    """The words by which `verbosity.toml` tells kinds of clauses apart; `kinds` goes by a clause's first word."""

    kinds: dict[str, str]
    linked: frozenset[str]
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
def _signs() -> _Signs:
    table = read_table(__package__, "verbosity.toml")
    kinds, signs = table["kinds"], table["signs"]
    return _Signs(
        kinds={word: kind for kind in ("question", "order", "request", "statement") for word in kinds[kind]},
        linked=frozenset(kinds["linked"]),
        plea=frozenset(kinds["plea"]),
        wish=frozenset(signs["wish"]),
        farewell=frozenset(signs["farewell"]),
        consent=frozenset(signs["consent"]),
        approval=frozenset(signs["approval"]),
        refusal=frozenset(signs["refusal"]),
        joints=frozenset(signs["joints"]),
        done=re.compile(signs["done"]),
        lead=re.compile(signs["lead"]),
    )


def read_clause(text: str, words: Sequence[re.Match[str]], protected: Ranges, system: str) -> Clause:
    """The main clause of an utterance whose words in small letters these are, after the system's utterance."""
    signs = _signs()
    lower = text.lower()
    lead = signs.lead.match(lower)
    start = lead.end() if lead else 0
    every = [word.group() for word in words]
    core = [word.group() for word in words if word.start() >= start] if start else every
    has_values = bool(protected) and protected[-1][1] > start
    kind = _closing_kind(lower, every, core, has_values) or _clause_kind(lower[start:], core, system)
    free = not any(begin <= start < end for begin, end in protected)
    opens = bool(core) and core[0] not in signs.linked and kind in phrases().before
    # A capital that is no mere beginning, as of a name nobody marked, would stand in the middle of the sentence.
    if opens and free and text[start].isupper() and kind != "answer":
        opens = core[0].partition("'")[0] == "i" or loses_capital(core[0])
    return Clause(kind, start, opens, not system, free)


def _closing_kind(lower: str, every: list[str], core: list[str], has_values: bool) -> str:
    """The kind of an utterance that asks for nothing, by all of its words and the main clause's; else empty."""
    signs = _signs()
    if "?" in lower:
        return ""
    if signs.done.search(lower):
        return "closing"
    if not signs.wish.isdisjoint(core):
        return ""
    if not signs.farewell.isdisjoint(every):
        return "closing"
    if has_values or len(every) > _BRIEF:
        return ""
    if every[0] in signs.refusal:
        return "decline"
    if every[0] in signs.consent or not signs.approval.isdisjoint(every):
        return "answer" if "right" in every or "correct" in every else "confirm"
    return ""


def _clause_kind(lower: str, core: list[str], system: str) -> str:
    """What kind of clause it is, by its first words and a few signs; see `verbosity.toml`."""
    signs = _signs()
    if not core:
        return "statement"
    wish = "?" in lower or not signs.wish.isdisjoint(core)
    if core[0] in signs.plea and core[1:2] in (["you"], ["i"], ["we"]):
        return "plea"
    if core[0] in signs.kinds:
        kind = signs.kinds[core[0]]
        return "statement" if kind == "request" and not wish else kind
    if "?" in lower.partition(".")[0]:
        return "question"
    if system.rstrip().endswith("?") and len(core) <= _BRIEF:
        return "answer"
    return "fragment" if wish else "statement"


def longer_forms(lower: str, words: Sequence[re.Match[str]], protected: Ranges) -> Iterator[LongerForm]:
    """The clauses of a text in small letters whose first words have longer forms."""
    within, joints = phrases().within, _signs().joints
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
                    yield LongerForm(start, match.end(), longer)
                    break
        end, joint = stop, first in joints and not lower.endswith("ahead ", 0, start)
