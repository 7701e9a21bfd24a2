"""Delta debugging (ddmin; Zeller and Hildebrandt 2002, section 3.2), a round at a time.

A round is all that can be tested at once, so that whoever shrinks many examples asks a tracker in full batches. Beside
the paper's algorithm: a chunk is only ever left out, never kept alone, which for more than two chunks costs as many
tests and seldom fails; and all chunks that can be left out by themselves are left out together, if that still fails.
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
            spare = yield from self._spare(parts)
            if spare:
                units = [unit for number, part in enumerate(parts) if number not in spare for unit in part]
                chunks = max(chunks - len(spare), 2)
            elif chunks >= size:
                return
            else:
                chunks = min(2 * chunks, size)
            self.kept = frozenset().union(*units)

    def _spare(self, parts: Sequence[Sequence[Parts]]) -> Generator[list[Parts], list[bool], list[int]]:
        """The chunks that can be left out: all that can be by themselves, if that is so of them together, or one."""
        whole = [frozenset[int]().union(*part) for part in parts]
        everything = frozenset[int]().union(*whole)
        failing = yield [everything - chunk for chunk in whole]
        spare = [number for number, fails in enumerate(failing) if fails]
        if len(spare) > 1:
            self.kept = everything - whole[spare[0]]  # should it be stopped now
            (fails,) = yield [everything.difference(*(whole[number] for number in spare))]
            spare = spare if fails else spare[:1]
        return spare
