"""Successive halving (Karnin, Koren and Somekh 2013): many candidates on few dialogues, the better half on more.

Every candidate of a round sees the same dialogues, so candidates are compared pair by pair. Of a few dialogues the
number of turns broken per edited word is mostly chance, most of all where few words were edited: each candidate's
number is drawn towards that of all candidates together, as if it had so many edited words more of the common kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dstress.metrics.base import Floats
from dstress.pipeline.search.measurements import EDITED, RIGHT, RIGHT_BEFORE, Measurements, Trial
from dstress.suites.base import ORIGINAL

_COMMON_WORDS = 30
"""Edited words of the common kind that every candidate is given."""


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

    def halve(self, candidates: Sequence[str], budget: int, keep: int = 1) -> list[str]:
        """The best candidates, the best first, for so many turns more: half of them leaves each round, until few are.

        Fewer come back where the budget does not allow to try them once.
        """
        left, until = list(dict.fromkeys(candidates)), min(self.spent + budget, self.budget)
        rounds = 1 + max(0, math.ceil(math.log2(max(len(left), 1) / keep)))
        for number in range(rounds):
            limit = self.spent + (until - self.spent) // (rounds - number)
            count = min((self.seen.get(spec, 0) for spec in left), default=0)
            while self.spent < limit and self.extend(left, count + 1):
                count += 1
            left = self.ranked([spec for spec in left if self.seen.get(spec)])
            if number + 1 < rounds:
                left = left[: max(keep, math.ceil(len(left) / 2))]
        return left

    def ranked(self, candidates: Sequence[str]) -> list[str]:
        """Candidates by turns broken per edited word, the best first; of equals, the first."""
        sums = {spec: self.totals(spec).sum(axis=0) for spec in {*candidates, *self.seen}}
        everything = np.sum(list(sums.values()), axis=0) if sums else np.zeros(4)
        common = _rate(everything)
        scores = {
            spec: (_broken(found) + _COMMON_WORDS * common) / (found[EDITED] + _COMMON_WORDS)
            for spec, found in sums.items()
        }
        return sorted(candidates, key=lambda spec: -scores[spec])

    def pick(self, candidates: Sequence[str]) -> str:
        """The best one; of those within its standard error, the one with the fewest stressors (Breiman et al. 1984)."""
        best = candidates[0]
        totals = self.totals(best)
        lost, edited = totals[:, RIGHT_BEFORE] - totals[:, RIGHT], totals[:, EDITED]
        rates = {spec: _rate(self.totals(spec).sum(axis=0)) for spec in candidates}
        error = float(np.sqrt(np.square(lost - rates[best] * edited).sum())) / max(1.0, edited.sum())
        near = [spec for spec in candidates if rates[spec] >= rates[best] - error]
        return min(near, key=lambda spec: spec.count("+"))


def _rate(sums: Floats) -> float:
    return _broken(sums) / max(1.0, float(sums[EDITED]))


def _broken(sums: Floats) -> float:
    return float(sums[RIGHT_BEFORE] - sums[RIGHT])
