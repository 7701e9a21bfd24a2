"""Spoken disfluencies: fillers, repetitions, restarts, and repairs that name a wrong value first.

After CheckDST's SDI (section 2.1) and LAUG's speech disfluency (Liu et al. 2021). The default rates per 100 words are
those of Bortfeld et al. (2001) for task-oriented talk between people, 5.97 in all, close to Shriberg's (1994) for
Switchboard; `rate` multiplies them. `docs/stressors/disfluency.md` says what is cited and what is chosen.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from dstress.errors import SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor
from dstress.stressors.disfluency.alternatives import Alternatives
from dstress.stressors.disfluency.repairs import Style, repair, repairable, said_last, wrong_value
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance
from dstress.text.word_row import Addition, WordRow, word_lists
from dstress.text.writing_style import corpus_style, style_of

KINDS = ("filled", "repetition", "restart", "repair")
_MARKED = re.compile(r"[.,?!;]")
_LENGTHS = (0.759, 0.960)
"""Shares of repetitions of one word, and of one or two: 30,546, 8,102 and 1,606 of one, two and three words in
Switchboard (Harmon and Kapatsinski 2016)."""

_SURE, _FAR = 1 - 1e-12, 1 << 30
_FIRST, _BEFORE_VALUE = 6.0, 2.0
_COMMA = 0.4
_PREPOSITIONS = frozenset({"for", "on", "at", "from", "to", "by", "in", "called"})
_AGAIN = 0.4
"""Of the restarts, how many say the beginning again; the others drop a different beginning."""


class Weighted:
    """Phrases with weights, to draw from."""

    def __init__(self, table: dict[str, float]) -> None:
        self.phrases = tuple(table)
        self._bounds = list(accumulate(table.values()))

    def draw(self, random: Random) -> str:
        """One phrase."""
        return self.phrases[bisect(self._bounds, random.random() * self._bounds[-1])]


class Phrases(NamedTuple):
    """The phrases of `disfluency.toml`."""

    first: Weighted
    lead: Weighted
    inside: Weighted
    value: Weighted
    terms: Weighted
    breaks: Weighted
    starts: dict[str, tuple[str, ...]]


@cache
def _phrases() -> Phrases:
    table: dict[str, Any] = read_table(__package__, "disfluency.toml")
    filled, restarts = table["filled"], table["restarts"]
    starts = {word: tuple(opening["starts"]) for opening in restarts["openings"] for word in opening["before"]}
    return Phrases(
        Weighted(filled["first"]),
        Weighted(filled["lead"]),
        Weighted(filled["inside"]),
        Weighted(filled["value"]),
        Weighted(table["repairs"]["terms"]),
        Weighted(restarts["breaks"]),
        starts,
    )


class Disfluency(TurnStressor):
    """Spoken disfluencies: fillers, repetitions, restarts and repairs, at twice the rates of people's talk.

    `filled`, `repetitions`, `restarts` and `repairs` are rates per 100 words, each multiplied by `rate`; 0 turns a kind
    off, and `kinds=[repair]` keeps only the kinds that it lists. Turns are tagged with the kinds they got.
    """

    def __init__(
        self,
        rate: float = 2.0,
        filled: float = 2.56,
        repetitions: float = 1.47,
        restarts: float = 0.97,
        repairs: float = 0.97,
        kinds: list[str] | None = None,
    ) -> None:
        wanted = KINDS if kinds is None else tuple(_kind(kind) for kind in kinds)
        given = dict(zip(KINDS, (filled, repetitions, restarts, repairs), strict=True))
        rates = [rate * given[kind] / 100 if kind in wanted else 0.0 for kind in KINDS]
        if not all(math.isfinite(one) and one >= 0 for one in (rate, *given.values())) or sum(rates) > 1:
            raise SpecError(
                "disfluency: rates are counts per 100 words, none below 0 and together at most 100",
                fix="disfluency(rate=1) is how people talk to each other; disfluency(filled=0) turns fillers off",
            )
        self._bounds = list(accumulate(rates))
        self._scale = 1 / math.log1p(-min(self._bounds[-1], _SURE)) if self._bounds[-1] else 0.0

    def prepare(self, resources: Resources) -> None:
        """Collect what users say for each slot."""
        super().prepare(resources)
        self._alternatives = Alternatives(resources.schema, resources.corpus)
        self._usual = corpus_style(resources.corpus)

    def rewrite_utterance(self, said: Utterance) -> Outcome:
        """As many disfluencies as the utterance's length asks for, each at a place of its kind."""
        wanted = self._draw(len(said.text.split()), said.random)
        if not any(wanted):
            return None
        style = Style(style_of(said.text, said.turn.system, self._usual), bool(_MARKED.search(said.text)))
        utterance = _Utterance(said, self._alternatives, style)
        for kind, count in zip(reversed(KINDS), reversed(wanted), strict=True):
            if count:
                utterance.add(kind, count)
        return utterance.restated()

    def _draw(self, words: int, random: Random) -> list[int]:
        """How many of each kind: every word has its chance, and the words without any are skipped over at once."""
        counts, word = [0] * len(KINDS), self._skipped(random)
        while word < words:
            counts[bisect(self._bounds, random.random() * self._bounds[-1])] += 1
            word += 1 + self._skipped(random)
        return counts

    def _skipped(self, random: Random) -> int:
        """A number of words without a disfluency, before one with."""
        return int(min(math.log(1 - random.random()) * self._scale, _FAR)) if self._bounds[-1] else _FAR

    def objection(self, utterance: Utterance, restated: Rewrite) -> str:
        """Every value is still said in its own words, and after a repair the right one is the last."""
        if any(utterance.text[start:end] not in restated.text for start, end in utterance.protected):
            return "a value was no longer said"
        if "repair" not in restated.tags:
            # Protected text holds every value that the default guard would look for, and costs nothing more here.
            return ""
        problem = super().objection(utterance, restated)
        if problem or said_last(utterance, restated.text, self._alternatives):
            return problem
        return "the right value was not the last one said"


def _kind(name: str) -> str:
    kind = name.removesuffix("s")
    if kind not in KINDS:
        raise unknown("kind of disfluency", name, KINDS)
    return kind


class _Utterance:
    """One utterance on its way to be disfluent: its words, what is added so far, and the places that are taken."""

    def __init__(self, utterance: Utterance, alternatives: Alternatives, style: Style) -> None:
        self.said, self.random, self.alternatives, self.style = utterance, utterance.random, alternatives, style
        self.words = WordRow(utterance.text, utterance.protected)
        self.clauses = list(self.words.clauses())
        self.additions: list[Addition] = []
        self.tags: list[str] = []
        self._taken: set[int] = set()

    def add(self, kind: str, count: int) -> None:
        """Up to so many disfluencies of a kind; fewer where there are no places for them."""
        before = len(self.additions)
        getattr(self, f"_{kind}")(count)
        if len(self.additions) > before:
            self.tags.append(kind)

    def restated(self) -> Outcome:
        """The new words, tagged with the kinds that were added."""
        if not self.additions:
            return None
        text = self.words.with_additions(self.additions)
        return Rewrite(text, tags=tuple(kind for kind in KINDS if kind in self.tags))

    def _say(self, addition: Addition, until: int | None = None) -> None:
        self.additions.append(addition)
        self._taken.update(range(addition.at - 1, (addition.at if until is None else until) + 2))

    def _repair(self, count: int) -> None:
        open_ones = repairable(self.said, self.words)
        while open_ones and count:
            mention = open_ones.pop(int(self.random.random() * len(open_ones)))
            wrong = wrong_value(self.said, mention, self.alternatives)
            if wrong:
                term = _phrases().terms.draw(self.random)
                addition = repair(self.words, mention, wrong, term, self.style, self.random)
                if addition.at not in self._taken:
                    self._say(addition, self.words.starts.index(mention.start))
                    count -= 1

    def _restart(self, count: int) -> None:
        open_ones = [at for at in self.clauses if self._may_restart(at)]
        for _ in range(min(count, len(open_ones))):
            at = open_ones.pop(int(self.random.random() * len(open_ones)))
            start = self._beginning(at)
            if start:
                self._say(Addition(at, self.style.after(start, _phrases().breaks.draw(self.random))), at + 1)

    def _may_restart(self, at: int) -> bool:
        begins = self.words.opens[at] or not self.words.tokens[at - 1][-1].isalnum()
        return begins and at not in self._taken and self.words.free[at] and self.words.cores[at] in _phrases().starts

    def _beginning(self, at: int) -> str:
        """What was begun and dropped: the same words, or another way to begin."""
        if self.random.random() < _AGAIN:
            again = self.words.run(at, 2 + int(self.random.random() * 3))
            if again:
                return again
        rest = self.said.text[self.words.starts[at] :].casefold()
        written = [self.style.write(start) for start in _phrases().starts[self.words.cores[at]]]
        others = [start for start in written if not rest.startswith(start.casefold())]
        return others[int(self.random.random() * len(others))]

    def _repetition(self, count: int) -> None:
        words, doubled, openings = self.words, word_lists().doubled, frozenset(self.clauses)
        sites = [at for at, core in enumerate(words.cores) if core in doubled and words.free[at]]
        weights = [_FIRST if at in openings else 1.0 for at in sites]
        for at in self._places(sites, weights, count):
            drawn = self.random.random()
            again = words.run(at, bisect(_LENGTHS, drawn) + 1) or words.run(at, 1)
            if again:
                self._say(Addition(at, self._paused(again)), at + again.count(" "))

    def _filled(self, count: int) -> None:
        words, function, openings = self.words, word_lists().function, frozenset(self.clauses)
        sites, weights, last = [], [], ""
        for at, core in enumerate(words.cores):
            # At beginnings, before values, and around short words: that is where people look for the next one.
            if words.opens[at] or at in openings:
                weight = _FIRST
            elif not words.free[at]:
                weight = _BEFORE_VALUE
            else:
                weight = 1.0 if core in function or last in function else 0.0
            last = core
            if weight and words.may_precede(at):
                sites.append(at)
                weights.append(weight)
        for at in self._places(sites, weights, count):
            self._say(Addition(at, self._filler(at)))

    def _filler(self, at: int) -> str:
        phrases, words = _phrases(), self.words
        if not words.opens[at]:
            recalls = not words.free[at] and words.cores[at - 1] in _PREPOSITIONS
            filler = (phrases.value if recalls else phrases.inside).draw(self.random)
            if words.tokens[at - 1][-1] == "," and not filler.endswith(","):
                return self.style.write(f"{filler},")
            return self._paused(self.style.write(filler))
        lead = words.cores[at] in word_lists().lead
        return self.style.write((phrases.lead if lead else phrases.first).draw(self.random))

    def _paused(self, text: str) -> str:
        """With a comma behind it, sometimes."""
        return self.style.after(text, ",") if text[-1].isalnum() and self.random.random() < _COMMA else text

    def _places(self, sites: Sequence[int], weights: Sequence[float], count: int) -> list[int]:
        """Different places, by weight, with at least a word between any two."""
        if not sites:
            return []
        bounds, found = list(accumulate(weights)), []
        for _ in range(3 * count):
            at = sites[bisect(bounds, self.random.random() * bounds[-1])]
            if at not in self._taken:
                self._taken.update((at - 1, at, at + 1))
                found.append(at)
                if len(found) == count:
                    break
        return found
