"""Candidates on the dialogues of one half: what each is expected to break, how far that may be off, and the choice.

All candidates take the dialogues in one order, so that they are compared on the same ones. Of a few dialogues the
number of turns broken per edited word is mostly chance, most of all where few words were edited: each candidate's
number is drawn towards what its kin lets one expect, as if it had so many edited words more of that kind. A stressor's
kin are its other strengths, a composition's its parts; theirs is drawn towards all candidates together in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.metrics.base import Floats
from dstress.studies.search.measurements import EDITED, LOST, Measurements, Trial

_EXPECTED_WORDS = 30
"""Edited words of the expected kind that every candidate is given."""
_ERRORS = 2.0
"""Standard errors above what is expected at which the bound lies."""
_LEAST_RATE = 0.005
"""Broken turns per edited word on which the error of a candidate rests at least: no loss so far is not none."""
_WELL_KNOWN = 2
"""What is chosen was tried on a share of one in so many of the dialogues that any candidate was."""


class Contest:
    """Candidates on the dialogues of one half; it asks no more turns than its budget allows."""

    def __init__(
        self, measurements: Measurements, names: Sequence[str], budget: int, *, losses_only: bool = False
    ) -> None:
        self.measurements, self.names, self.budget, self.losses_only = measurements, names, budget, losses_only
        self.spent = 0
        self.seen: dict[str, int] = {}
        """How many of the dialogues, the first first, each candidate was tried on."""
        self._paid: set[Trial] = set()

    def extend(self, candidates: Sequence[str], count: int) -> bool:
        """Try candidates on the first `count` dialogues; False where the budget or the dialogues do not allow it."""
        names = self.names[:count]
        originals = [Trial(ORIGINAL, name) for name in names]
        trials = [Trial(spec, name, self.losses_only) for spec in candidates for name in names]
        # What the original gets right decides what is asked of the others, so it is asked first.
        if count > len(self.names) or not self._pay(originals) or not self._pay(trials):
            return False
        self.seen |= {spec: max(count, self.seen.get(spec, 0)) for spec in candidates}
        return True

    def _pay(self, trials: Sequence[Trial]) -> bool:
        new = [trial for trial in trials if trial not in self._paid]
        cost = sum(map(self.measurements.cost, new))
        if self.spent + cost > self.budget:
            return False
        self.measurements.measure(new)
        self._paid.update(new)
        self.spent += cost
        return True

    def totals(self, spec: str) -> Floats:
        """Statistics by dialogue of all that a candidate was tried on."""
        names = self.names[: self.seen.get(spec, 0)]
        return self.measurements.counts(Trial(spec, name, self.losses_only) for name in names)

    def ranked(self, candidates: Sequence[str]) -> list[str]:
        """Candidates by the turns that they should break per edited word, the best first; of equals, the first."""
        expected = self._expected(candidates)
        return sorted(candidates, key=lambda spec: -expected[spec][0])

    def most_promising(self, candidates: Sequence[str]) -> str:
        """The one with the highest upper bound (UCB-E: Audibert, Bubeck and Munos 2010)."""
        expected = self._expected(candidates)

        def bound(spec: str) -> float:
            rate, common, edited = expected[spec]
            return rate + _ERRORS * math.sqrt(max(rate, common, _LEAST_RATE) / (edited + _EXPECTED_WORDS))

        return max(candidates, key=bound)

    def _expected(self, candidates: Sequence[str]) -> dict[str, tuple[float, float, float]]:
        """By candidate: broken turns per edited word, those of all candidates together, and its edited words."""
        sums_of = {spec: self.totals(spec).sum(axis=0) for spec in {**self.seen, **dict.fromkeys(candidates)}}
        common = _rate(sum(sums_of.values(), np.zeros(4)))

        def drawn(specs: Iterable[str], towards: float) -> float:
            sums = sum((sums_of[spec] for spec in specs), np.zeros(4))
            return (float(sums[LOST]) + _EXPECTED_WORDS * towards) / (float(sums[EDITED]) + _EXPECTED_WORDS)

        def kin(spec: str) -> list[str]:
            if "+" in spec:
                return [part for part in spec.split("+") if part in sums_of]
            name = spec.partition("(")[0]
            return [
                other for other in sums_of if other != spec and other.partition("(")[0] == name and "+" not in other
            ]

        return {
            spec: (drawn([spec], drawn(kin(spec), common)), common, float(sums_of[spec][EDITED])) for spec in candidates
        }

    def pick(self) -> str:
        """The best one; of those within its standard error, the one with the fewest stressors (Breiman et al. 1984)."""
        most = max(self.seen.values())
        candidates = self.ranked([spec for spec, count in self.seen.items() if _WELL_KNOWN * count >= most])
        best = candidates[0]
        totals = self.totals(best)
        lost, edited = totals[:, LOST], totals[:, EDITED]
        rates = {spec: _rate(self.totals(spec).sum(axis=0)) for spec in candidates}
        error = float(np.sqrt(np.square(lost - rates[best] * edited).sum())) / max(1.0, edited.sum())
        near = [spec for spec in candidates if rates[spec] >= rates[best] - error]
        return min(near, key=lambda spec: spec.count("+"))


def _rate(sums: Floats) -> float:
    return float(sums[LOST]) / max(1.0, float(sums[EDITED]))
