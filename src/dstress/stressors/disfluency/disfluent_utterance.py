"""One utterance on its way to be disfluent: where fillers, repetitions, restarts and repairs go, and their words."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate

from dstress.stressors.base import Outcome, Rewrite
from dstress.stressors.disfluency.alternatives import Alternatives
from dstress.stressors.disfluency.phrases import AdditionStyle, phrases
from dstress.stressors.disfluency.repairs import build_repair, draw_wrong_value, repairable_mentions
from dstress.text.utterance import Utterance
from dstress.text.word_row import Addition, WordRow, word_lists

KINDS = ("filled", "repetition", "restart", "repair")
_LENGTHS = (0.759, 0.960)
"""Shares of repetitions of one word, and of one or two: 30,546, 8,102 and 1,606 of one, two and three words in
Switchboard (Harmon and Kapatsinski 2016)."""

_FIRST, _BEFORE_VALUE = 6.0, 2.0
_COMMA = 0.4
_PREPOSITIONS = frozenset({"for", "on", "at", "from", "to", "by", "in", "called"})
_NEVER_LAST = frozenset({"a", "an"})
"""Who looks for the next word does so before these, or says "the"."""
_AGAIN = 0.4
"""Of the restarts, how many say the beginning again; the others drop a different beginning."""


class DisfluentUtterance:
    """An utterance, its words, what is added so far, and the places that are taken."""

    def __init__(self, utterance: Utterance, alternatives: Alternatives, style: AdditionStyle) -> None:
        self.utterance, self.random = utterance, utterance.random
        self.alternatives, self.style = alternatives, style
        self.words = WordRow(utterance.text, utterance.protected)
        self.clauses = list(self.words.clauses())
        self.additions: list[Addition] = []
        self.tags: list[str] = []
        self._taken: set[int] = set()

    def add(self, kind: str, count: int) -> None:
        """Up to so many disfluencies of a kind; fewer where there are no places for them."""
        before = len(self.additions)
        adders = {
            "filled": self._add_fillers,
            "repetition": self._add_repetitions,
            "restart": self._add_restarts,
            "repair": self._add_repairs,
        }
        adders[kind](count)
        if len(self.additions) > before:
            self.tags.append(kind)

    def rewrite(self) -> Outcome:
        """The new words, tagged with the kinds that were added."""
        if not self.additions:
            return None
        text = self.words.with_additions(self.additions)
        return Rewrite(text, tags=tuple(kind for kind in KINDS if kind in self.tags))

    def _add(self, addition: Addition, until: int) -> None:
        """Take an addition on; from it to the token `until`, and beside both, nothing else is added."""
        self.additions.append(addition)
        self._taken.update(range(addition.at - 1, until + 2))

    def _add_repairs(self, count: int) -> None:
        mentions = repairable_mentions(self.utterance, self.words)
        while mentions and count:
            mention = mentions.pop(int(self.random.random() * len(mentions)))
            wrong = draw_wrong_value(self.utterance, mention, self.alternatives)
            if wrong:
                term = phrases().terms.draw(self.random)
                addition = build_repair(self.words, mention, wrong, term, self.style, self.random)
                if addition.at not in self._taken:
                    self._add(addition, self.words.starts.index(mention.start))
                    count -= 1

    def _add_restarts(self, count: int) -> None:
        words, starts = self.words, phrases().starts
        sites = [
            at
            for at in self.clauses
            if (words.opens[at] or not words.tokens[at - 1][-1].isalnum())
            and (at not in self._taken and words.free[at] and words.cores[at] in starts)
        ]
        for _ in range(min(count, len(sites))):
            at = sites.pop(int(self.random.random() * len(sites)))
            beginning = self._draw_beginning(at)
            if beginning:
                self._add(Addition(at, self.style.append(beginning, phrases().breaks.draw(self.random))), at + 1)

    def _draw_beginning(self, at: int) -> str:
        """What was begun and dropped: the same words, or another way to begin."""
        if self.random.random() < _AGAIN:
            again = self.words.run(at, 2 + int(self.random.random() * 3))
            if again:
                return again
        rest = self.utterance.text[self.words.starts[at] :].casefold()
        written = [self.style.write(start) for start in phrases().starts[self.words.cores[at]]]
        others = [start for start in written if not rest.startswith(start.casefold())]
        return others[int(self.random.random() * len(others))]

    def _add_repetitions(self, count: int) -> None:
        words, doubled, openings = self.words, word_lists().doubled, frozenset(self.clauses)
        sites = [at for at, core in enumerate(words.cores) if core in doubled and words.free[at]]
        weights = [_FIRST if at in openings else 1.0 for at in sites]
        for at in self._draw_places(sites, weights, count):
            drawn = self.random.random()
            again = words.run(at, bisect(_LENGTHS, drawn) + 1) or words.run(at, 1)
            if again:
                self._add(Addition(at, self._pause(again)), at + again.count(" "))

    def _add_fillers(self, count: int) -> None:
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
            if weight and last not in _NEVER_LAST and words.may_precede(at):
                sites.append(at)
                weights.append(weight)
            last = core
        for at in self._draw_places(sites, weights, count):
            self._add(Addition(at, self._draw_filler(at)), at)

    def _draw_filler(self, at: int) -> str:
        words = self.words
        if words.opens[at]:
            fillers = phrases().lead if words.cores[at] in word_lists().lead else phrases().first
            return self.style.write(fillers.draw(self.random))
        recalls = not words.free[at] and words.cores[at - 1] in _PREPOSITIONS
        filler = (phrases().value if recalls else phrases().inside).draw(self.random)
        # A comma on one side only would part an article from its noun: "the uh, college".
        if words.tokens[at - 1][-1] == "," and not filler.endswith(","):
            filler += ","
        return self.style.write(filler)

    def _pause(self, text: str) -> str:
        """With a comma behind it, sometimes."""
        return self.style.append(text, ",") if text[-1].isalnum() and self.random.random() < _COMMA else text

    def _draw_places(self, sites: Sequence[int], weights: Sequence[float], count: int) -> list[int]:
        """Different places, by weight, with at least a word between any two."""
        if not sites:
            return []
        bounds, places = list(accumulate(weights)), []
        for _ in range(3 * count):
            at = sites[bisect(bounds, self.random.random() * bounds[-1])]
            if at not in self._taken:
                self._taken.update((at - 1, at, at + 1))
                places.append(at)
                if len(places) == count:
                    break
        return places
