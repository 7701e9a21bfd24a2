"""Delta debugging (ddmin; Zeller and Hildebrandt 2002, section 3.2), a round at a time.

A round is all that can be tested at once, so that whoever shrinks many examples asks a tracker in full batches.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import pairwise

Parts = frozenset[int]
"""The pieces of a change that are kept, by their numbers."""

Rounds = Generator[list[Parts], list[bool], None]
"""Yields what is to be tested; is sent whether each of it still fails."""


class Reduction:
    """What is left of a change that fails; `rounds` makes it smaller, and may be stopped after any round."""

    def __init__(self, groups: Sequence[Parts], shown: Callable[[Parts], Sequence[Parts]]) -> None:
        """`groups` are the pieces of each edit; `shown` is, of some pieces, those that a reader sees as one edit."""
        self.kept: Parts = frozenset().union(*groups)
        self._groups, self._shown = groups, shown

    def rounds(self) -> Rounds:
        """First whole edits, then their words, until neither a word nor a whole edit can be left out."""
        yield from self._ddmin(self._groups)
        while True:
            yield from self._ddmin([frozenset([part]) for part in sorted(self.kept)])
            edits = self._shown(self.kept)
            if all(len(edit) == 1 for edit in edits) or len(edits) < 2:
                return
            failing = yield [self.kept - edit for edit in edits]
            if True not in failing:
                return
            self.kept -= edits[failing.index(True)]

    def _ddmin(self, units: Sequence[Parts]) -> Rounds:
        """Leave out as many units as can be; in the end none can be left out by itself."""
        units, chunks = list(units), 2
        while len(units) > 1:
            size = len(units)
            bounds = [size * number // chunks for number in range(chunks + 1)]
            parts = [units[start:end] for start, end in pairwise(bounds)]
            failing = yield [frozenset().union(*part) for part in parts]
            if True in failing:
                units, chunks = parts[failing.index(True)], 2
            else:
                rests = [[unit for other in parts if other is not part for unit in other] for part in parts]
                # Of two chunks each is the other's rest.
                failing = (yield [frozenset().union(*rest) for rest in rests]) if chunks > 2 else []
                if True in failing:
                    units, chunks = rests[failing.index(True)], max(chunks - 1, 2)
                elif chunks >= size:
                    return
                else:
                    chunks = min(2 * chunks, size)
            self.kept = frozenset().union(*units)
