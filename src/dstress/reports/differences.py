"""Where any two runs differ: how many turns only one of them has right, and these turns, packed into the page.

    {"systems": [name], "variants": [name], "slots": [id], "turns": [turn]}

    turn = [variant, dialogue, turn, system words, user words, gold, wrong]

Gold is flat (slot, value, ...), wrong too, with a list a system: system, [slot, value, ...] ...; numbers point into the
lists of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from dstress.analysis.disagreement import Disagreement, find_disagreements
from dstress.reports.explorer import pack
from dstress.runs.folder import ORIGINAL, RunFolder

_MOST_TURNS = 20_000
"""A page holds so many at most, drawn evenly: the counts are of all."""


class Differences(NamedTuple):
    """How many turns the first of a pair has right and the second wrong, by variant; and the turns."""

    counts: dict[tuple[str, str], dict[str, int]]
    packet: str
    turns: int
    left_out: int

    def total(self, right: str, wrong: str) -> int:
        """Over all variants: turns of the original, and those that a stressor changed."""
        return sum(self.counts[right, wrong].values())


def gather_differences(runs: Mapping[str, RunFolder], variants: Sequence[str]) -> Differences:
    """Every turn on which two of the runs differ."""
    names = list(runs)
    counts = {(a, b): dict.fromkeys(variants, 0) for a in names for b in names if a != b}
    found = []
    for one in find_disagreements(runs, variants):
        found.append(one)
        for wrong in one.wrong:
            for right in names:
                if right not in one.wrong:
                    counts[right, wrong][one.variant] += 1
    kept = sorted(found, key=_strewn)[:_MOST_TURNS] if len(found) > _MOST_TURNS else found
    return Differences(counts, pack(_content(names, variants, kept)), len(kept), len(found) - len(kept))


def _strewn(one: Disagreement) -> bytes:
    return blake2b(f"{one.variant}/{one.dialogue}/{one.turn}".encode(), digest_size=8).digest()


def _content(names: list[str], variants: Sequence[str], found: Iterable[Disagreement]) -> dict[str, Any]:
    slots: dict[str, int] = {}

    def flat(values: Mapping[str, str]) -> list[Any]:
        return [part for slot, value in values.items() for part in (slots.setdefault(slot, len(slots)), value)]

    turns = []
    for one in found:
        shown = {slot for said in one.wrong.values() for slot in said}
        gold = {slot: value for slot, value in one.gold.items() if slot in shown}
        wrong = [part for name, said in one.wrong.items() for part in (names.index(name), flat(said))]
        place = (variants.index(one.variant), one.dialogue, one.turn + 1)
        turns.append([*place, one.system, one.user, flat(gold), wrong])
    return {"systems": names, "variants": list(variants), "original": ORIGINAL, "slots": list(slots), "turns": turns}
