"""Spoken disfluencies: fillers, repetitions, restarts, and repairs that name a wrong value first.

After CheckDST's SDI (section 2.1) and LAUG's speech disfluency (Liu et al. 2021). The default rates per 100 words are
those of Bortfeld et al. (2001) for task-oriented talk between people, 5.97 in all, close to Shriberg's (1994) for
Switchboard; `rate` multiplies them. `docs/stressors/disfluency.md` says what is cited and what is chosen.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from itertools import accumulate
from random import Random

from dstress.errors import SpecError, unknown
from dstress.resources import Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor
from dstress.stressors.disfluency.alternatives import Alternatives
from dstress.stressors.disfluency.disfluent_utterance import KINDS, DisfluentUtterance
from dstress.stressors.disfluency.phrases import AdditionStyle
from dstress.stressors.disfluency.repairs import says_right_values_last
from dstress.text.utterance import Utterance
from dstress.text.writing_style import corpus_style, style_of

_MARK = re.compile(r"[.,?!;]")
_SURE, _FAR = 1 - 1e-12, 1 << 30


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
        wanted = KINDS if kinds is None else [kind.removesuffix("s") for kind in kinds]
        per_hundred = dict(zip(KINDS, (filled, repetitions, restarts, repairs), strict=True))
        rates = [rate * per_hundred[kind] / 100 if kind in wanted else 0.0 for kind in KINDS]
        numbers = (rate, *per_hundred.values())
        if not all(math.isfinite(number) and number >= 0 for number in numbers) or sum(rates) > 1:
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

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """As many disfluencies as the utterance's length asks for, each at a place of its kind."""
        text = utterance.text
        counts = self._draw(len(text.split()), utterance.random)
        if not any(counts):
            return None
        style = AdditionStyle(style_of(text, utterance.turn.system, self._usual), bool(_MARK.search(text)))
        disfluent = DisfluentUtterance(utterance, self._alternatives, style)
        for kind, count in zip(reversed(KINDS), reversed(counts), strict=True):
            if count:
                disfluent.add(kind, count)
        return disfluent.rewrite()

    def _draw(self, words: int, random: Random) -> list[int]:
        """How many of each kind: every word has its chance, and the words without any are skipped over at once."""
        counts, word = [0] * len(KINDS), self._skip(random)
        while word < words:
            counts[bisect(self._bounds, random.random() * self._bounds[-1])] += 1
            word += 1 + self._skip(random)
        return counts

    def _skip(self, random: Random) -> int:
        """A number of words without a disfluency, before one with."""
        return int(min(math.log(1 - random.random()) * self._scale, _FAR)) if self._bounds[-1] else _FAR

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """Every value is still said in its own words, and after a repair the right one is the last."""
        if any(utterance.text[start:end] not in rewrite.text for start, end in utterance.protected):
            return "a value was no longer said"
        if "repair" not in rewrite.tags:
            # Protected text holds every value that the default guard would look for, and costs nothing more here.
            return ""
        problem = super().objection(utterance, rewrite)
        if problem or says_right_values_last(rewrite.text, utterance, self._alternatives):
            return problem
        return "the right value was not the last one said"
