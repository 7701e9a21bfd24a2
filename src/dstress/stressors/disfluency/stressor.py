"""Spoken disfluencies: fillers, repetitions, restarts, and repairs that name a wrong value first.

After CheckDST's SDI (section 2.1) and LAUG's speech disfluency (Liu et al. 2021). The default rates per 100 words are
those of Bortfeld et al. (2001) for task-oriented talk between people, 5.97 in all, close to Shriberg's (1994) for
Switchboard; `rate` multiplies them. `docs/stressors/disfluency.md` says what is cited and what is chosen.

In a repair a wrong value is said first, taken back, and the right one follows. Its parts go by Shriberg's names (1994):
the *reparandum* ("at 5 pm"), the *interregnum* with its editing term ("uh, sorry, I mean") and the *repair* ("at 6
pm"), which is the user's own text and stays as it was. As speakers do, the short words before the value are often said
again.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate
from random import Random
from typing import NamedTuple

from dstress.errors import SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, keeps_values
from dstress.stressors.disfluency.alternatives import Alternatives
from dstress.text.mentions import Mention, find_value
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance, draw
from dstress.text.word_row import Addition, WordRow, word_lists
from dstress.text.writing_style import WritingStyle, corpus_style, style_of, write, write_behind

KINDS = ("filled", "repetition", "restart", "repair")
_RUN_BOUNDS = (0.759, 0.960)
"""Cumulative: a draw below the first repeats one word, below the second two, else three. Switchboard has 30,546, 8,102
and 1,606 of them (Harmon and Kapatsinski 2016)."""

_WEIGHT_AT_START, _WEIGHT_BEFORE_VALUE = 6.0, 2.0
"""How much more likely an addition is at the start of a clause, and before a value, than elsewhere."""
_COMMA_RATE = 0.4
"""Share of repetitions that are followed by a comma."""
_BEFORE_VALUES = frozenset({"for", "on", "at", "from", "to", "by", "in", "called"})
"""Words before a value after which speakers use fillers of the list `value`."""
_SAME_START_RATE = 0.4
"""Share of restarts that repeat the beginning; the others drop a different one."""

_RETRACEABLE = frozenset(
    ["to", "from", "at", "on", "in", "for", "by", "the", "a", "an", "after", "before", "until", "with"]
)
"""Words before a value that a repair may say again."""
_RETRACING_RATE, _MOST_RETRACED = 0.45, 2
"""Share of repairs that do so, and how many words they say again at most."""
_ARTICLES = frozenset({"a", "an"})
"""Speakers hesitate before these words, not after them; said again, they have to fit their noun."""
_WORD_JOINERS = frozenset("-'’/%$£€")
"""A value with one of these behind it is a part of a longer word."""
_SEPARATORS = re.compile(r"[^\w:.'’]+|[.'’](?!\w)")
"""What is between words; marks inside one, as in `5:30` and `o'clock`, are not."""
_PUNCTUATION = re.compile(r"[.,?!;]")
_WRONG_VALUE_TRIES = 4
"""Draws of a wrong value before a repair is given up."""
_CACHED_TEXTS = 16_384
_HIGHEST_RATE, _LONGEST_SKIP = 1 - 1e-12, 1 << 30
"""Bounds of the rate per word and of the words skipped, so that the draw of the next disfluent word stays finite."""

phrases = partial(read_table, __package__, "disfluency.toml")
"""What disfluent speakers say: weighted phrases."""


class Disfluency(TurnStressor):
    """Spoken disfluencies: fillers, repetitions, restarts and repairs, at twice the rates of people's talk.

    `filled`, `repetitions`, `restarts` and `repairs` are rates per 100 words, each multiplied by `rate`; 0 turns a kind
    off, and `kinds=[repair]` keeps only the kinds that it lists. Turns are tagged with the kinds they got.
    """

    languages = ("en",)

    def __init__(
        self,
        rate: float = 2.0,
        filled: float = 2.56,
        repetitions: float = 1.47,
        restarts: float = 0.97,
        repairs: float = 0.97,
        kinds: list[str] | None = None,
    ) -> None:
        for kind in kinds or ():
            if kind.removesuffix("s") not in KINDS:
                raise unknown("kind of disfluency", kind, KINDS)
        chosen = KINDS if kinds is None else [kind.removesuffix("s") for kind in kinds]
        per_hundred = dict(zip(KINDS, (filled, repetitions, restarts, repairs), strict=True))
        rates = [rate * per_hundred[kind] / 100 if kind in chosen else 0.0 for kind in KINDS]
        numbers = (rate, *per_hundred.values())
        if not all(math.isfinite(number) and number >= 0 for number in numbers) or sum(rates) > 1:
            raise SpecError(
                "disfluency: rates are counts per 100 words, none below 0 and together at most 100",
                fix="disfluency(rate=1) is how people talk to each other; disfluency(filled=0) turns fillers off",
            )
        self._bounds = list(accumulate(rates))

    def prepare(self, resources: Resources) -> None:
        """Collect what users say for each slot."""
        super().prepare(resources)
        self._alternatives = Alternatives(resources.schema, resources.corpus)
        self._usual = corpus_style(resources.corpus)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """As many disfluencies as the utterance's length asks for, each at a place of its kind."""
        text, random = utterance.text, utterance.random
        counts, share = [0] * len(KINDS), self._bounds[-1]
        if share:
            # Each word has a disfluency with probability `share`. Draw from the geometric distribution how many words
            # come before the next one that has, which takes far fewer draws than one for each word.
            scale, word, words = 1 / math.log1p(-min(share, _HIGHEST_RATE)), -1, len(text.split())
            while (word := word + 1 + int(min(math.log(1 - random.random()) * scale, _LONGEST_SKIP))) < words:
                counts[random.choices(range(len(KINDS)), cum_weights=self._bounds)[0]] += 1
        if not any(counts):
            return None
        style = AdditionStyle(style_of(text, utterance.turn.system, self._usual), bool(_PUNCTUATION.search(text)))
        return DisfluentUtterance(utterance, self._alternatives, style).rewrite(counts)

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """Every value is still said in its own words, and after a repair the right one is the last."""
        if any(utterance.text[start:end] not in rewrite.text for start, end in utterance.protected):
            return "a value was no longer said"
        if "repair" not in rewrite.tags:
            return super().objection(utterance, rewrite)
        if not keeps_values(rewrite.text, utterance):
            return "a value was no longer said"
        is_right = says_right_values_last(rewrite.text, utterance, self._alternatives)
        return "" if is_right else "the right value was not the last one said"


@cache
def _other_starts() -> dict[str, list[str]]:
    """By a sentence's first word, the other beginnings that a restart may drop."""
    openings = phrases()["restarts"]["openings"]
    return {word: opening["starts"] for opening in openings for word in opening["before"]}


def draw_phrase(weights: Mapping[str, float], random: Random) -> str:
    """One of the phrases, by weight."""
    return random.choices([*weights], [*weights.values()])[0]


class AdditionStyle(NamedTuple):
    """How an addition is written: in the utterance's manner, with or without commas."""

    manner: WritingStyle
    has_commas: bool

    def write(self, phrase: str) -> str:
        """A phrase of plain English with its commas, or without them."""
        return write(phrase if self.has_commas else phrase.replace(",", ""), self.manner)

    def append(self, words: str, phrase: str) -> str:
        """The words, which stay as they are, and behind them a phrase that begins with a comma or a blank."""
        return words + write_behind(phrase if self.has_commas else phrase.replace(",", ""), self.manner)


class DisfluentUtterance:
    """An utterance that gets disfluencies: what is added so far, and the tokens at which nothing more may be added."""

    def __init__(self, utterance: Utterance, alternatives: Alternatives, style: AdditionStyle) -> None:
        self.utterance, self.random = utterance, utterance.random
        self.alternatives, self.style = alternatives, style
        self.words = WordRow(utterance.text, utterance.protected)
        self.clauses = list(self.words.clauses())
        self.additions: list[Addition] = []
        self._taken: set[int] = set()

    def rewrite(self, counts: Sequence[int]) -> Outcome:
        """The text with up to `counts` disfluencies of each of `KINDS`, tagged with the kinds that it got."""
        adders = (self._add_fillers, self._add_repetitions, self._add_restarts, self._add_repairs)
        tags: list[str] = []
        # The last kind first: repairs fit in few places, and fillers almost anywhere.
        for kind, add, count in reversed([*zip(KINDS, adders, counts, strict=True)]):
            before = len(self.additions)
            if count:
                add(count)
            if len(self.additions) > before:
                tags.insert(0, kind)
        return Rewrite(self.words.with_additions(self.additions), tags=tuple(tags)) if tags else None

    def _add(self, addition: Addition, until: int) -> None:
        """Add it, and block all further additions from the token before it to the token after `until`."""
        self.additions.append(addition)
        self._taken.update(range(addition.at - 1, until + 2))

    def _add_repairs(self, count: int) -> None:
        """Say a wrong value before the right one."""
        mentions = repairable_mentions(self.utterance, self.words)
        while mentions and count:
            mention = draw(mentions, self.random)
            mentions.remove(mention)
            wrong = draw_wrong_value(self.utterance, mention, self.alternatives)
            if wrong:
                term = draw_phrase(phrases()["repairs"]["terms"], self.random)
                addition = build_repair(self.words, mention, wrong, term, self.style, self.random)
                if addition.at not in self._taken:
                    self._add(addition, self.words.starts.index(mention.start))
                    count -= 1

    def _add_restarts(self, count: int) -> None:
        """Begin a sentence, break off, and begin again: "I want, well, I need a train"."""
        words, starts = self.words, _other_starts()
        sites = [
            at
            for at in self.clauses
            if (words.opens[at] or not words.tokens[at - 1][-1].isalnum())
            and (at not in self._taken and words.free[at] and words.cores[at] in starts)
        ]
        for _ in range(min(count, len(sites))):
            at = draw(sites, self.random)
            sites.remove(at)
            beginning = ""
            if self.random.random() < _SAME_START_RATE:
                beginning = words.run(at, 2 + int(self.random.random() * 3))
            if not beginning:
                rest = self.utterance.text[words.starts[at] :].casefold()
                written = [self.style.write(start) for start in starts[words.cores[at]]]
                others = [start for start in written if not rest.startswith(start.casefold())]
                beginning = draw(others, self.random)
            dropped = self.style.append(beginning, draw_phrase(phrases()["restarts"]["breaks"], self.random))
            self._add(Addition(at, dropped), at + 1)

    def _add_repetitions(self, count: int) -> None:
        """Say one to three words twice."""
        words, doubled, openings = self.words, word_lists().doubled, frozenset(self.clauses)
        sites = [at for at, core in enumerate(words.cores) if core in doubled and words.free[at]]
        weights = [_WEIGHT_AT_START if at in openings else 1.0 for at in sites]
        for at in self._draw_places(sites, weights, count):
            again = words.run(at, bisect(_RUN_BOUNDS, self.random.random()) + 1) or words.run(at, 1)
            if again:
                has_comma = again[-1].isalnum() and self.random.random() < _COMMA_RATE
                self._add(Addition(at, self.style.append(again, "," if has_comma else "")), at + again.count(" "))

    def _add_fillers(self, count: int) -> None:
        """Put "uh", "well" and the like where speakers hesitate."""
        words, function, openings = self.words, word_lists().function, frozenset(self.clauses)
        sites, weights, previous = [], [], ""
        for at, core in enumerate(words.cores):
            # At beginnings, before values and around function words: there speakers search for the next word.
            if words.opens[at] or at in openings:
                weight = _WEIGHT_AT_START
            elif not words.free[at]:
                weight = _WEIGHT_BEFORE_VALUE
            else:
                weight = 1.0 if core in function or previous in function else 0.0
            if weight and previous not in _ARTICLES and words.may_precede(at):
                sites.append(at)
                weights.append(weight)
            previous = core
        for at in self._draw_places(sites, weights, count):
            if words.opens[at]:
                place = "lead" if words.cores[at] in word_lists().lead else "first"
            else:
                place = "value" if not words.free[at] and words.cores[at - 1] in _BEFORE_VALUES else "inside"
            filler = draw_phrase(phrases()["filled"][place], self.random)
            # A comma on one side only would part an article from its noun: "the uh, college".
            if not words.opens[at] and words.tokens[at - 1][-1] == "," and not filler.endswith(","):
                filler += ","
            self._add(Addition(at, self.style.write(filler)), at)

    def _draw_places(self, sites: Sequence[int], weights: Sequence[float], count: int) -> list[int]:
        """Up to `count` different places, drawn by weight, with at least one token between any two."""
        if not sites:
            return []
        bounds, places = list(accumulate(weights)), []
        for _ in range(3 * count):
            at = self.random.choices(sites, cum_weights=bounds)[0]
            if at not in self._taken:
                self._taken.update((at - 1, at, at + 1))
                places.append(at)
                if len(places) == count:
                    break
        return places


def repairable_mentions(utterance: Utterance, words: WordRow) -> list[Mention]:
    """The mentions that a repair can stand before: of new values, in whole tokens that no other value shares."""
    repairable = []
    for mention in utterance.mentions:
        following = utterance.text[mention.end : mention.end + 1]
        if mention.start not in words.starts or following.isalnum() or following in _WORD_JOINERS:
            continue
        others = (other for other in utterance.mentions if other is not mention)
        if any(other.start < mention.end and mention.start < other.end for other in others):
            continue
        at = words.starts.index(mention.start)
        # The corpus may count "the" as a part of the name; anything else before the value belongs to something longer.
        if not words.inside[at] or (words.cores[at - 1] == "the" and not words.inside[at - 1]):
            repairable.append(mention)
    return repairable


def draw_wrong_value(utterance: Utterance, mention: Mention, alternatives: Alternatives) -> str:
    """A plausible other value in the same form, unknown to the utterance and its state; empty if there is none."""
    forms = utterance.turn.state[mention.slot]
    others = alternatives.others(mention.slot, utterance.text[mention.start : mention.end], forms)
    if not others:
        return ""
    text = utterance.text.casefold()
    taken = {form.casefold() for label in utterance.turn.state.values() for form in label}
    for _ in range(_WRONG_VALUE_TRIES):
        other = draw(others, utterance.random)
        folded = other.casefold()
        if folded not in text and folded not in taken and not find_value(other, mention.slot, forms):
            return other
    return ""


def build_repair(
    words: WordRow, mention: Mention, wrong: str, term: str, style: AdditionStyle, random: Random
) -> Addition:
    """What is said before the value: the wrong one, with the short words before it where they are said again."""
    at = words.starts.index(mention.start)
    if at and words.cores[at - 1] == "the" and wrong[:4].lower() == "the ":
        wrong = wrong[4:]
    first = at
    while (
        first
        and at - first < _MOST_RETRACED
        and words.cores[first - 1] in _RETRACEABLE
        and words.tokens[first - 1].isalpha()
    ):
        first -= 1
    if first < at:
        if words.cores[at - 1] in _ARTICLES or words.inside[at]:
            # An article has to fit its noun, and one that belongs to a name stays with it: both are said again.
            first = at - 1
        elif random.random() >= _RETRACING_RATE:
            first = at
    again = words.tokens[first:at]
    if again and again[-1].lower() in _ARTICLES:
        article = "an" if wrong[:1].lower() in "aeiou" else "a"
        again[-1] = article.capitalize() if again[-1][0].isupper() else article
    return Addition(first, style.append(" ".join([*again, wrong]), f", {term}"))


def says_right_values_last(text: str, utterance: Utterance, alternatives: Alternatives) -> bool:
    """Whether each new value that the utterance says is, in `text`, not followed by another one for its slot.

    Another value that a later mention takes back ("for 5 people for 4, no, I mean 2 nights") is that mention's.
    """
    rivals: set[str] = set()
    for mention in sorted(utterance.mentions, key=lambda mention: mention.start, reverse=True):
        forms, surface = utterance.turn.state[mention.slot], utterance.text[mention.start : mention.end]
        others = {_between_blanks(other) for other in alternatives.others(mention.slot, surface, forms)}
        if others:
            now, then = (_text_behind(mention, either, utterance) for either in (text, utterance.text))
            if any(other in now and now.count(other) > then.count(other) for other in others - rivals):
                return False
            rivals |= others
    return True


def _text_behind(mention: Mention, text: str, utterance: Utterance) -> str:
    """What follows in a text on the last place that says the value of a mention; all of it where none does."""
    surface = utterance.text[mention.start : mention.end]
    places = find_value(text, mention.slot, utterance.turn.state[mention.slot])
    if places:
        return _between_blanks(text[places[-1].end :])
    return _between_blanks(text[text.rfind(surface) + len(surface) :] if surface in text else text)


@lru_cache(maxsize=_CACHED_TEXTS)
def _between_blanks(text: str) -> str:
    """A text in lower case with two blanks between words, and one at each end.

    A value in this form is found only as whole words, and `count` counts one that is said twice in a row twice.
    """
    return f" {_SEPARATORS.sub('  ', text.casefold()).strip()} "
